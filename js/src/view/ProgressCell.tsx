/** How far a task has come; or what went wrong; or that a click still waits. */

import { percent, roughly } from "../format.ts";
import { rowLeft } from "../tasks/forecast.ts";
import { fraction } from "../tasks/order.ts";
import { plain, trouble } from "../tasks/row_text.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import { MAY_WAIT } from "../tasks/waits.ts";
import { say } from "../words/say.ts";
import type { ViewSession } from "./session.ts";
import { WAITING } from "./words.ts";

export function ProgressCell({ session, row }: { session: ViewSession; row: number }) {
  const { table } = session;
  const waiting = session.waitingVerb(row);
  if (waiting !== null) return <Words text={say(WAITING)} hint={`${say(waiting)}: ${say(WAITING)}`} kind="waiting" />;
  const { status } = table.situation(row);
  const told = trouble(table, row);
  if (told !== null) return <Words {...told} kind={STATUS_LOOKS[status].tone === "grey" ? "quiet" : "trouble"} />;
  const why = MAY_WAIT.has(status) ? session.waiting.text(table.columns.id[row] ?? "") : "";
  if (why) return <Words text={why} hint={why} kind="quiet" />;
  const part = status === "succeeded" ? null : fraction(table, row);
  const words = plain(table, row);
  if (part === null) return <Words {...words} kind="quiet" />;
  return (
    <span class="cmt-progress" title={words.hint}>
      <span
        class={`cmt-meter cmt-tone-${STATUS_LOOKS[status].tone}`}
        role="progressbar"
        aria-label={say("Progress of {name}", { name: table.columns.name[row] ?? "" })}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.floor(part * 100)}
      >
        <span class="cmt-fill" style={{ width: `${part * 100}%` }} />
      </span>
      <span class="cmt-percent">{percent(part)}</span>
      <span class="cmt-eta">{remaining(table, row)}</span>
    </span>
  );
}

function Words({ text, hint, kind }: { text: string; hint: string; kind: string }) {
  return (
    <span class={`cmt-words cmt-words-${kind}`} title={hint}>
      {text}
    </span>
  );
}

/** "9 s" while it runs and its speed is known. */
function remaining(table: TaskTable, row: number): string {
  const left = rowLeft(table, row);
  return left === null ? "" : roughly(left);
}
