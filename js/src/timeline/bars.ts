/** The attempts of a task as bars: what its row tells, and what is known of its past. Pure. */

import { ACTIVE, ENDED } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import type { Past, Status } from "../wire/protocol.ts";

/**
 * `open`: under way. `known`: it ended. `lost`: nobody knows when it ended; it was given up at its end. `pending`: it
 * is over, and when has not been told yet; it was under way until its end here.
 */
export type Ending = "open" | "known" | "lost" | "pending";

export interface Bar {
  row: number;
  attempt: number;
  /** In the feed's milliseconds; the end of an open one is infinite. */
  start: number;
  end: number;
  ending: Ending;
  status: Status;
  /** Stretches in which it stood still; the end of one that lasts is infinite. */
  paused: readonly Stretch[];
}

export type Stretch = readonly [from: number, to: number];

/** Statuses that a record only comes to from an attempt, so that its times are the attempt's. */
const FROM_AN_ATTEMPT: ReadonlySet<Status> = new Set<Status>(["succeeded", "failed", "lost"]);

/** Whether a worker is held. */
export function isLive(table: TaskTable, row: number): boolean {
  const { status, held } = table.situation(row);
  return ACTIVE.has(status) || held === true;
}

/** Whether the row's own times are those of its last attempt. */
function isCertain(table: TaskTable, row: number): boolean {
  const { past, by_hand } = table.columns;
  if ((past[row] ?? 0) === 0) return true;
  return !by_hand[row] && (isLive(table, row) || FROM_AN_ATTEMPT.has(table.status(row)));
}

/**
 * The bars of a row, first to last. What is not known gives no bar.
 *
 * @param past - what was told of its past, however old
 * @param before - its bars until now
 */
export function barsOf(table: TaskTable, row: number, past: Past | undefined, before: readonly Bar[]): Bar[] {
  const last = table.columns.attempt[row] ?? 0;
  const certain = isCertain(table, row);
  const bars: Bar[] = [];
  for (const [attempt, start, end, status] of past?.attempts ?? []) {
    // After a reset attempts count anew: those above are of before. Of the last one the row knows best, where it does.
    if (end !== null && (attempt < last || (attempt === last && !certain)))
      bars.push(closed(row, attempt, start, end, status));
  }
  if (last > 0 && bars.at(-1)?.attempt !== last) {
    const bar = lastBar(table, row, last, past, before);
    if (bar !== null) bars.push(bar);
  }
  for (const bar of bars) bar.paused = stretchesOf(bar, table, past);
  return bars;
}

function closed(row: number, attempt: number, start: number, end: number, status: Status): Bar {
  // A clock that was set back makes no bar that runs backwards.
  return {
    row,
    attempt,
    start,
    end: Math.max(end, start),
    status,
    ending: status === "lost" ? "lost" : "known",
    paused: [],
  };
}

/** The attempt that is under way or was the last, where nothing tells of its end but the row. */
function lastBar(table: TaskTable, row: number, attempt: number, past: Past | undefined, before: readonly Bar[]) {
  const status = table.status(row);
  const started = table.columns.started[row] ?? null;
  const ended = table.columns.ended[row] ?? null;
  if (started !== null && isCertain(table, row)) {
    if (isLive(table, row)) return open(row, attempt, started, status);
    if (ended !== null) return closed(row, attempt, started, ended, status);
    return { ...closed(row, attempt, started, table.now(), status), ending: "lost" as const };
  }
  const [, start] = past?.attempts.find(([number, , end]) => number === attempt && end === null) ?? [];
  if (start !== undefined && isLive(table, row)) return open(row, attempt, start, status);
  // It is over, and the answer that tells when is on its way: it was at work until now.
  const known = before.find((bar) => bar.attempt === attempt && (bar.ending === "open" || bar.ending === "pending"));
  if (known === undefined) return null;
  // The answer may never come, as when the file of a closed controller is closed too: what ended does not stay "running".
  const seen = ENDED.has(status) ? status : known.status;
  const end = Number.isFinite(known.end) ? known.end : table.now();
  return { ...known, end, status: seen, ending: "pending" as const };
}

function open(row: number, attempt: number, start: number, status: Status): Bar {
  return { row, attempt, start, end: Number.POSITIVE_INFINITY, status, ending: "open", paused: [] };
}

/** What was told of it; and for the pause that holds now, where nothing was told yet, what the view saw itself. */
function stretchesOf(bar: Bar, table: TaskTable, past: Past | undefined): Stretch[] {
  const told = (past?.paused ?? []).map(([from, to]): Stretch => [from, to ?? Number.POSITIVE_INFINITY]);
  const heldNow = bar.ending === "open" && table.situation(bar.row).held === true;
  const since = heldNow ? table.pauses.since(bar.row) : null;
  const stretches = told.flatMap(([from, to]): Stretch[] => {
    // A pause that is over, though what was told does not know yet: until when is not drawn as if it were known.
    if (to === Number.POSITIVE_INFINITY && !heldNow && bar.ending === "open") return [];
    return from >= bar.start && from < bar.end ? [[from, Math.min(to, bar.end)]] : [];
  });
  const last = stretches.at(-1);
  if (since !== null && since >= bar.start && (last === undefined || last[1] < since)) {
    stretches.push([since, Number.POSITIVE_INFINITY]);
  }
  return stretches;
}
