/** Which bar lies in which lane: as few lanes as there were attempts at once, and none that jumps. No DOM. */

import type { Bar } from "./bars.ts";

/** How long a bar keeps others out of its lane: one whose end is still to be told may yet grow. */
export function keepsUntil(bar: Bar): number {
  return bar.ending === "open" || bar.ending === "pending" ? Number.POSITIVE_INFINITY : bar.end;
}

/** The place of the first bar of a lane that begins after a time. */
export function firstAfter(lane: readonly Bar[], time: number): number {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane[middle] as Bar).start > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

export class Lanes {
  /** The bars of each lane by their starts, without overlap. The first lanes are the busiest. */
  readonly lanes: Bar[][] = [];
  private readonly places = new Map<Bar, number>();

  get size(): number {
    return this.lanes.length;
  }

  /** Undefined: it is in none. */
  laneOf(bar: Bar): number | undefined {
    return this.places.get(bar);
  }

  /** Puts a bar into the first lane that is free for it. */
  place(bar: Bar): void {
    const found = this.lanes.findIndex((lane) => fits(lane, bar));
    const number = found < 0 ? this.lanes.push([]) - 1 : found;
    const lane = this.lanes[number] as Bar[];
    lane.splice(firstAfter(lane, bar.start), 0, bar);
    this.places.set(bar, number);
  }

  remove(bar: Bar): void {
    const number = this.places.get(bar);
    if (number === undefined) return;
    const lane = this.lanes[number] as Bar[];
    lane.splice(lane.indexOf(bar), 1);
    this.places.delete(bar);
    while (this.lanes.at(-1)?.length === 0) this.lanes.pop();
  }

  /** Takes in what changed in a bar; it moves only when it would lie upon another, or begins elsewhere. */
  change(bar: Bar, changes: Bar): void {
    const moves = changes.start !== bar.start;
    const grows = keepsUntil(changes) > keepsUntil(bar);
    if (moves) this.remove(bar);
    Object.assign(bar, changes);
    if (moves) this.place(bar);
    else if (grows && !this.isAlone(bar)) {
      this.remove(bar);
      this.place(bar);
    }
  }

  private isAlone(bar: Bar): boolean {
    const lane = this.lanes[this.places.get(bar) ?? -1] ?? [];
    const next = lane[lane.indexOf(bar) + 1];
    return next === undefined || keepsUntil(bar) <= next.start;
  }

  /** Begins anew with all bars in the order of their starts: then the lanes are as few as can be. */
  pack(bars: Iterable<Bar>): void {
    this.lanes.length = 0;
    this.places.clear();
    const sorted = [...bars].sort((a, b) => a.start - b.start || a.row - b.row || a.attempt - b.attempt);
    const ends: number[] = []; // of the last bar of each lane: nothing begins before
    for (const bar of sorted) {
      const found = ends.findIndex((end) => end <= bar.start);
      const number = found < 0 ? this.lanes.push([]) - 1 : found;
      this.lanes[number]?.push(bar);
      ends[number] = keepsUntil(bar);
      this.places.set(bar, number);
    }
  }
}

function fits(lane: readonly Bar[], bar: Bar): boolean {
  const place = firstAfter(lane, bar.start);
  const before = lane[place - 1];
  const after = lane[place];
  return (
    (before === undefined || keepsUntil(before) <= bar.start) && (after === undefined || keepsUntil(bar) <= after.start)
  );
}
