/** Messages and tables for the tests. */

import { TaskTable } from "../src/tasks/table.ts";
import {
  type Block,
  type Columns,
  type ResetMessage,
  type Row,
  type SituationPayload,
  STATUSES,
  type Status,
} from "../src/wire/protocol.ts";

const RULES: Partial<Record<Status, string>> = {
  queued: "ananaaa",
  running: "anararr",
  pausing: "naararr",
  paused: "naararr",
  retry_wait: "araaara",
  stopping: "rrnrnrr",
  failed: "rrraraa",
  stopped: "rrnarra",
  lost: "rrrarra",
};
const RANKS: Partial<Record<Status, number>> = {
  starting: 0,
  running: 0,
  pausing: 0,
  paused: 0,
  stopping: 0,
  failed: 1,
  lost: 1,
  pending: 2,
  blocked: 2,
  queued: 2,
  retry_wait: 2,
};

/** One situation a status, in their order: pause, resume, stop, retry, cancel, skip, reset. */
export const SITUATIONS: SituationPayload[] = STATUSES.map((status) => ({
  status,
  held: status === "paused" ? true : null,
  rank: RANKS[status] ?? 3,
  rules: RULES[status] ?? "rrrrrrr",
}));

export const situation = (status: Status) => STATUSES.indexOf(status);

export type SampleRow = Partial<Omit<Row, "situation">> & { status: Status };

/** Whole rows, numbered from `first`, as one block. */
export function wholeBlock(rows: SampleRow[], first = 0): Block {
  const full = rows.map(({ status, ...row }, index) => ({
    id: `t${first + index}`,
    name: `task ${first + index}`,
    ...row,
    situation: situation(status),
  }));
  const keys = new Set(full.flatMap((row) => Object.keys(row)));
  const cols = Object.fromEntries(
    [...keys].map((key) => [key, full.map((row) => (row as Record<string, unknown>)[key] ?? null)]),
  );
  return { whole: true, rows: rows.map((_, index) => first + index), cols: cols as Partial<Columns> };
}

export function reset(rows: SampleRow[], changes: Partial<ResetMessage> = {}): ResetMessage {
  const counts: Partial<Record<Status, number>> = {};
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
  return {
    kind: "reset",
    feed: "f1",
    seq: 1,
    at: 100_000,
    epoch: 1_764_500_000_000,
    title: "etl",
    counts,
    behind: 0,
    situations: SITUATIONS,
    blocks: rows.length > 0 ? [wholeBlock(rows)] : [],
    ...changes,
  };
}

/** A table holding these rows, on a clock that stands at the feed's 100 000 ms. */
export function tableOf(rows: SampleRow[]): TaskTable {
  const table = new TaskTable(() => 5_000_000);
  table.reset(reset(rows));
  return table;
}
