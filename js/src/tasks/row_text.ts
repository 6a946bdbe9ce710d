/** What a row says of itself beside its status: how far it came, what went wrong. Pure. */

import { quantity } from "../format.ts";
import type { Status } from "../wire/protocol.ts";
import type { TaskTable } from "./table.ts";

/** As a cell shows it, and with all that is known for its tooltip. */
export interface Told {
  text: string;
  hint: string;
}

export const STILL_RUNNING = "still running in the background";

/** Whose failure is news: why it ended like that, or why it must be tried again. */
const BAD: ReadonlySet<Status> = new Set<Status>(["failed", "lost", "retry_wait"]);
/** Whose failure mostly repeats the status: somebody ended it. */
const ENDED_BY_HAND: ReadonlySet<Status> = new Set<Status>(["stopped", "cancelled", "skipped"]);

/** Why a task failed, is lost or waits for its next try; how far one came that was ended. Null: nothing to tell. */
export function trouble(table: TaskTable, row: number): Told | null {
  const status = table.status(row);
  const reason = table.columns.failure[row] ?? "";
  const far = amount(table, row);
  if (status === "lost" && table.columns.abandoned[row]) return told(STILL_RUNNING, reason, far);
  if (BAD.has(status)) return told(reason, far);
  return ENDED_BY_HAND.has(status) ? told(far, reason) : null;
}

function told(...parts: string[]): Told | null {
  const said = parts.filter(Boolean);
  return said[0] === undefined ? null : { text: said[0], hint: said.join(" · ") };
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
