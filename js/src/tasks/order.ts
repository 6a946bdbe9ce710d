/** Which rows are shown, and in which order. Pure. */

import type { Status } from "../wire/protocol.ts";
import { ACTIVE } from "./statuses.ts";
import type { TaskTable } from "./table.ts";

export type SortColumn = "status" | "name" | "progress" | "try" | "time";
export interface Sort {
  column: SortColumn;
  descending: boolean;
}

export interface View {
  /** Statuses that pass; null: all. */
  statuses: ReadonlySet<Status> | null;
  /** Text that must occur in the name, a tag or the id, in any case. */
  text: string;
  /** Null: the default order. */
  sort: Sort | null;
}

/** How long the current or last attempt has taken, or had when it was paused; null while none is at work. */
export function elapsedMs(table: TaskTable, row: number, now: number): number | null {
  const started = table.columns.started[row] ?? null;
  if (started === null) return null;
  const { status, held } = table.situation(row);
  const ended = table.columns.ended[row] ?? null;
  if (ended !== null) return Math.max(ended - started, 0);
  if (held) return pausedMs(table, row, started);
  return ACTIVE.has(status) ? Math.max(now - started, 0) : null;
}

/** Until the pause began; where that was not seen, until the last report before it. */
function pausedMs(table: TaskTable, row: number, started: number): number | null {
  const until = table.pauses.since(row) ?? table.columns.progress_at[row] ?? null;
  return until === null || until < started ? null : until - started;
}

/** done / total within 0 and 1; null while either is unknown. */
export function fraction(table: TaskTable, row: number): number | null {
  const done = table.columns.done[row] ?? null;
  const total = table.columns.total[row] ?? null;
  if (done === null || total === null || total <= 0) return null;
  return Math.min(Math.max(done / total, 0), 1);
}

/** The rows to show, as row numbers in order. */
export function orderRows(table: TaskTable, view: View): number[] {
  const rows: number[] = [];
  const text = view.text.trim().toLowerCase();
  for (let row = 0; row < table.size; row += 1) {
    if (table.columns.id[row] === "") continue; // its page has not come yet
    if (view.statuses && !view.statuses.has(table.status(row))) continue;
    if (text && !matches(table, row, text)) continue;
    rows.push(row);
  }
  return view.sort ? sortBy(table, rows, view.sort) : sortByActivity(table, rows);
}

/** Whether a row's name, a tag or its id holds a text, given in small letters. */
export function matches(table: TaskTable, row: number, text: string): boolean {
  const { name, id, tags } = table.columns;
  return (
    (name[row] ?? "").toLowerCase().includes(text) ||
    (id[row] ?? "").startsWith(text) ||
    (tags[row] ?? []).some((tag) => tag.toLowerCase().includes(text))
  );
}

/** Milliseconds: three thousand years, so that a rank and a time are one number, and exact. */
const BEYOND_ALL_TIMES = 1e14;

/** By the kernel's ranks (active, then failed and lost, then waiting, then ended); newest activity first in each. */
function sortByActivity(table: TaskTable, rows: number[]): number[] {
  const keys = keysOf(table, rows, (row) => table.situation(row).rank * BEYOND_ALL_TIMES - table.activity(row));
  return rows.sort((a, b) => at(keys, a) - at(keys, b) || a - b);
}

function sortBy(table: TaskTable, rows: number[], sort: Sort): number[] {
  const sign = sort.descending ? -1 : 1;
  if (sort.column === "name") {
    const { nameKeys } = table;
    return rows.sort((a, b) => sign * compare(nameKeys[a] ?? "", nameKeys[b] ?? "") || a - b);
  }
  const now = table.now();
  const keys = keysOf(table, rows, (row) => sortKey(table, row, sort.column, now) ?? Number.NaN);
  // Rows without a value come last either way round.
  return rows.sort((a, b) => {
    const x = at(keys, a);
    const y = at(keys, b);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return sign * (x - y) || a - b;
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One sort key a row, computed once. */
function keysOf(table: TaskTable, rows: readonly number[], key: (row: number) => number): Float64Array {
  const keys = new Float64Array(table.size);
  for (const row of rows) keys[row] = key(row);
  return keys;
}

function at(keys: Float64Array, row: number): number {
  return keys[row] ?? 0;
}

function sortKey(table: TaskTable, row: number, column: SortColumn, now: number): number | null {
  switch (column) {
    case "status":
      return table.columns.situation[row] ?? 0;
    case "progress":
      return fraction(table, row);
    case "try":
      return table.columns.attempt[row] ?? 0;
    default:
      return elapsedMs(table, row, now);
  }
}
