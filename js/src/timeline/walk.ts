/** Which bar an arrow key leads to. Pure. */

import type { Bar } from "./bars.ts";
import { firstAfter, type Lanes } from "./lanes.ts";
import type { Span } from "./viewport.ts";

const WALKS: ReadonlySet<string> = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

export function isWalk(key: string): boolean {
  return WALKS.has(key);
}

/**
 * The bar before or after in the lane, its first or last, or the nearest in time in the lane above or below.
 *
 * @param from - where the keyboard is; null: nowhere yet
 * @param span - what is in sight: the first step leads to the first bar that begins in it
 */
export function stepFrom(lanes: Lanes, from: Bar | null, key: string, span: Span): Bar | null {
  const number = from === null ? undefined : lanes.laneOf(from);
  if (from === null || number === undefined) return first(lanes, span);
  const lane = lanes.lanes[number] ?? [];
  const place = lane.indexOf(from);
  switch (key) {
    case "ArrowLeft":
      return lane[place - 1] ?? from;
    case "ArrowRight":
      return lane[place + 1] ?? from;
    case "Home":
      return lane[0] ?? from;
    case "End":
      return lane.at(-1) ?? from;
    default:
      return nearest(lanes.lanes[number + (key === "ArrowUp" ? -1 : 1)], from.start) ?? from;
  }
}

function first(lanes: Lanes, span: Span): Bar | null {
  const starts = lanes.lanes.flatMap((lane) => lane[firstAfter(lane, span.from)] ?? lane.at(-1) ?? []);
  return starts[0] ?? null;
}

function nearest(lane: readonly Bar[] | undefined, time: number): Bar | undefined {
  if (lane === undefined) return undefined;
  const place = firstAfter(lane, time);
  const [before, after] = [lane[place - 1], lane[place]];
  if (before === undefined || after === undefined) return before ?? after;
  return time < before.end || time - before.end <= after.start - time ? before : after;
}
