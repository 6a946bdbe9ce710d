/** What a row says of itself beside its status: how far it came, what went wrong. Pure. */

import { quantity, rate } from "../format.ts";
import type { Status } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { TaskTable } from "./table.ts";

/** As a cell shows it, and with all that is known for its tooltip. */
export interface Told {
  text: string;
  hint: string;
}

export const STILL_RUNNING = "still running in the background";
export const EARLIER_WORKER = "an earlier worker still runs in the background";

/** Whose failure is news: why it ended like that, or why it must be tried again. */
const BAD: ReadonlySet<Status> = new Set<Status>(["failed", "lost", "retry_wait"]);
/** Whose failure mostly repeats the status: somebody ended it. */
const ENDED_BY_HAND: ReadonlySet<Status> = new Set<Status>(["stopped", "cancelled", "skipped"]);

/** Why a task failed, is lost or waits for its next try; how far one came that was ended. Null: nothing to tell. */
export function trouble(table: TaskTable, row: number): Told | null {
  const status = table.status(row);
  const reason = table.columns.failure[row] ?? "";
  const far = amount(table, row);
  const earlier = earlierWorker(table, row);
  if (status === "lost" && earlier) return told([say(STILL_RUNNING)], [reason, far]);
  if (BAD.has(status)) return told([reason, earlier], [far]);
  if (!ENDED_BY_HAND.has(status)) return null;
  return far ? told([far, earlier], [reason]) : told([reason, earlier]);
}

/** How far any other task came; else what it says; else what is known beside. */
export function plain(table: TaskTable, row: number): Told {
  const far = [amount(table, row), pace(table, row)].filter(Boolean).join(" · ");
  const parts = [far, table.columns.note[row] ?? "", earlierWorker(table, row)];
  const [first, ...others] = parts.filter(Boolean);
  return told([first ?? ""], others) ?? { text: "", hint: "" };
}

/** "52 rows/s" while it runs and its speed is known. */
function pace(table: TaskTable, row: number): string {
  const perSecond = table.status(row) === "running" && !table.stopped ? table.speeds.rate(row) : null;
  return perSecond === null ? "" : rate(perSecond, table.columns.unit[row] ?? "");
}

/** Told of every status: a worker that was given up does not end with its attempt. */
export function earlierWorker(table: TaskTable, row: number): string {
  return table.columns.abandoned[row] ? say(EARLIER_WORKER) : "";
}

function told(shown: string[], beside: string[] = []): Told | null {
  const text = shown.filter(Boolean).join(" · ");
  return text === "" ? null : { text, hint: [text, ...beside].filter(Boolean).join(" · ") };
}

/** What the clock of a paused task, or of one that was paused, counts; null where it needs no words. */
export function clockHint(table: TaskTable, row: number): string | null {
  if (!table.pauses.any(row)) return null;
  if (!table.situation(row).held) return say("since its start, incl. pause");
  return table.pauses.since(row) === null
    ? say("until its last report; the task is paused")
    : say("stands still while the task is paused");
}

/** "1,240 rows", "48/60 files". */
export function amount(table: TaskTable, row: number): string {
  const { done, total, unit } = table.columns;
  const value = done[row] ?? null;
  if (value === null) return "";
  const whole = total[row] ?? null;
  return [whole === null ? quantity(value) : `${quantity(value)}/${quantity(whole)}`, unit[row]]
    .filter(Boolean)
    .join(" ");
}
