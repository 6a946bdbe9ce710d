/** The status as a row shows it: its own word, or what somebody wants it to become, with the time that matters. */

import { roughly } from "../format.ts";
import { say } from "../words/say.ts";
import { ENDED, STATUS_LOOKS } from "./statuses.ts";
import type { TaskTable } from "./table.ts";

/** "running", "pausing…", "cancelling…". */
export function statusText(table: TaskTable, row: number): string {
  const { status } = table.situation(row);
  const asked = table.asked(row);
  if (asked === null || ENDED.has(status) || (asked === "pause" && status === "paused")) {
    return say(STATUS_LOOKS[status].word);
  }
  return say({ pause: "pausing…", stop: "stopping…", cancel: "cancelling…" }[asked]);
}

/** The same, counting down: "stopping… 6 s", "retries in 8 s". */
export function statusCountdown(table: TaskTable, row: number, now: number): string {
  const { status } = table.situation(row);
  const retryAt = table.columns.retry_at[row] ?? null;
  if (status === "retry_wait" && retryAt !== null && table.asked(row) === null) {
    return retryAt > now ? say("retries in {time}", { time: roughly(retryAt - now) }) : say("retries now");
  }
  const graceUntil = table.columns.grace_until[row] ?? null;
  const text = statusText(table, row);
  return status === "stopping" && graceUntil !== null && graceUntil > now
    ? `${text} ${roughly(graceUntil - now)}`
    : text;
}
