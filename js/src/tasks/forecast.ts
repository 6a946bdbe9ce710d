/** How fast a table moves and how long it takes still, as far as that can be known. Pure. */

import { STATUSES, type Status } from "../wire/protocol.ts";
import { ENDED } from "./statuses.ts";
import type { TaskTable } from "./table.ts";

export interface Forecast {
  /** Tasks ended per second, while more wait for their turn. */
  rate: number | null;
  /** Milliseconds. */
  left: number | null;
  /** Whether `left` holds for the whole table, or only for what waits in the queue. */
  whole: boolean;
}

const NOTHING: Forecast = { rate: null, left: null, whole: false };

/** What waits for nothing but its turn: the pace of those before it holds for it too. */
const QUEUED: ReadonlySet<Status> = new Set<Status>(["queued", "pending"]);

/**
 * Those that wait take as long as those that ended. A running one takes what its own progress tells; one without a
 * total, or held up by something else than the queue, may take for ever.
 */
export function forecast(table: TaskTable): Forecast {
  if (table.stopped) return NOTHING;
  const waiting = count(table, (status) => QUEUED.has(status));
  const paces = runningLeft(table);
  const outstanding = count(table, (status) => !ENDED.has(status));
  const whole = outstanding > 0 && waiting + paces.length === outstanding;
  const slowest = paces.reduce((most, left) => Math.max(most, left), 0);
  if (waiting === 0) return whole ? { rate: null, left: slowest, whole } : NOTHING;
  const rate = table.endings.rate(table.now());
  if (rate === null || rate <= 0) return NOTHING;
  const queue = (waiting / rate) * 1000;
  return { rate, left: whole ? Math.max(queue, slowest) : queue, whole };
}

/** Milliseconds until a running row reaches its total at its latest speed; null while either is unknown, or nothing is left. */
export function rowLeft(table: TaskTable, row: number): number | null {
  const total = table.columns.total[row] ?? null;
  const perSecond = table.speeds.rate(row);
  if (table.status(row) !== "running" || table.stopped || total === null || perSecond === null) return null;
  const units = total - (table.columns.done[row] ?? 0);
  return units > 0 ? (units / perSecond) * 1000 : null;
}

function runningLeft(table: TaskTable): number[] {
  const found: number[] = [];
  for (let row = 0; row < table.size; row += 1) {
    const left = rowLeft(table, row);
    if (left !== null) found.push(left);
  }
  return found;
}

function count(table: TaskTable, which: (status: Status) => boolean): number {
  return STATUSES.reduce((all, status) => all + (which(status) ? (table.counts[status] ?? 0) : 0), 0);
}
