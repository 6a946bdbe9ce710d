/** All bars of a table in their lanes, kept up as rows change. No DOM, no model. */

import type { TaskTable } from "../tasks/table.ts";
import type { Status } from "../wire/protocol.ts";
import { type Bar, barsOf } from "./bars.ts";
import { Lanes } from "./lanes.ts";
import type { Pasts } from "./pasts.ts";
import type { Span } from "./viewport.ts";

/** While a table arrives, lanes are filled anew so often. */
const PACK_MS = 300;

/** What is true of all bars together. */
export interface Facts {
  size: number;
  /** How many are under way. */
  open: number;
  /** Whether any stood still for a while. */
  paused: boolean;
  /** How many older attempts the kernel did not tell. */
  cut: number;
  from: number;
  to: number;
  counts: Partial<Record<Status, number>>;
}

export class Chart {
  readonly lanes = new Lanes();
  private readonly bars = new Map<number, Bar[]>();
  /** Rows whose past is not known, or not as it stands. */
  readonly unknown = new Set<number>();
  facts: Facts = this.sum();
  private readonly dirty = new Set<number>();
  /** Until all is known that there was at first, lanes are filled anew with every page; from then on bars stay. */
  private settled = false;
  private awaited: Set<number> | null = null;
  private packedAt = Number.NEGATIVE_INFINITY;
  /** Whether there are bars without a lane. */
  private loose = false;

  constructor(
    private readonly table: TaskTable,
    private readonly pasts: Pasts,
    private readonly now: () => number = Date.now,
  ) {}

  changed(rows: Iterable<number>): void {
    for (const row of rows) this.dirty.add(row);
  }

  /** Other tasks under the same numbers. */
  clear(): void {
    this.bars.clear();
    this.unknown.clear();
    this.dirty.clear();
    this.lanes.pack([]);
    this.settled = false;
    this.awaited = null;
    for (let row = 0; row < this.table.size; row += 1) this.dirty.add(row);
  }

  /** Takes in the rows that changed. Returns whether any did. */
  update(): boolean {
    if (this.dirty.size === 0 && !this.loose) return false;
    for (const row of this.dirty) this.updateRow(row);
    this.dirty.clear();
    if (!this.settled) this.packAnew();
    this.facts = this.sum();
    return true;
  }

  /** Many pages of a large table come quickly: not each of them is worth the sorting. */
  private packAnew(): void {
    this.settled = this.isComplete();
    this.loose = !this.settled && this.now() - this.packedAt < PACK_MS;
    if (this.loose) return;
    this.packedAt = this.now();
    this.lanes.pack(this.all());
  }

  private updateRow(row: number): void {
    const { id, past } = this.table.columns;
    const task = id[row] ?? "";
    const before = this.bars.get(row) ?? [];
    const after = barsOf(this.table, row, this.pasts.of(task), before).map((bar) => this.put(bar, before));
    if (this.settled) for (const bar of before) if (!after.includes(bar)) this.lanes.remove(bar);
    if (after.length > 0) this.bars.set(row, after);
    else this.bars.delete(row);
    if (this.pasts.isFresh(task, past[row] ?? 0)) this.unknown.delete(row);
    else this.unknown.add(row);
  }

  /** A bar that was there keeps its place; what changed is written into it. */
  private put(bar: Bar, before: readonly Bar[]): Bar {
    const known = before.find((each) => each.attempt === bar.attempt);
    if (known === undefined) {
      if (this.settled) this.lanes.place(bar);
      return bar;
    }
    if (this.settled) this.lanes.change(known, bar);
    else Object.assign(known, bar);
    return known;
  }

  private isComplete(): boolean {
    if (this.table.behind > 0) return false;
    this.awaited ??= new Set(this.unknown);
    for (const row of this.awaited) if (!this.unknown.has(row)) this.awaited.delete(row);
    return this.awaited.size === 0;
  }

  *all(): Generator<Bar> {
    for (const bars of this.bars.values()) yield* bars;
  }

  barsOf(row: number): readonly Bar[] {
    return this.bars.get(row) ?? [];
  }

  /** From the first start to the last end, or to now while one is under way; null without any bar. */
  extent(now: number): Span | null {
    if (this.facts.size === 0) return null;
    const { from, to, open } = this.facts;
    return { from, to: open > 0 ? Math.max(to, now) : to };
  }

  private sum(): Facts {
    const facts: Facts = { size: 0, open: 0, paused: false, cut: 0, from: Infinity, to: -Infinity, counts: {} };
    for (const row of this.bars.keys()) facts.cut += this.pasts.of(this.table.columns.id[row] ?? "")?.cut ?? 0;
    for (const bar of this.all()) {
      facts.size += 1;
      if (bar.ending === "open") facts.open += 1;
      if (bar.paused.length > 0) facts.paused = true;
      facts.from = Math.min(facts.from, bar.start);
      facts.to = Math.max(facts.to, bar.ending === "open" ? bar.start : bar.end);
      facts.counts[bar.status] = (facts.counts[bar.status] ?? 0) + 1;
    }
    return facts;
  }
}
