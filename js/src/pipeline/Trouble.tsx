/** The first thing to know of a run that went wrong: what failed first, why, and the way to it. */

import { count } from "../format.ts";
import { trouble } from "../tasks/row_text.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import { Icon } from "../view/Icon.tsx";
import { say } from "../words/say.ts";
import { broken } from "./run_steering.ts";
import type { PipelineSession } from "./session.ts";

export function Trouble({ session }: { session: PipelineSession }) {
  const { table } = session;
  const number = broken(table);
  const row = session.shownTrouble();
  if (number === 0 || row === undefined) return null;
  const look = STATUS_LOOKS[table.status(row)];
  const name = table.columns.name[row] ?? "";
  const why = trouble(table, row)?.text ?? "";
  const blocked = session.blockedBy(row);
  const place = session.trouble().indexOf(row) + 1;
  return (
    <div class={`cmt-trouble cmt-tone-${look.tone}`} data-testid="cmt-trouble">
      <Icon name={look.glyph} />
      <span class="cmt-trouble-words" title={`${name}: ${why}`}>
        <b>{name}</b> {why}
      </span>
      {blocked > 0 && (
        <span class="cmt-soft cmt-trouble-after">
          {say(blocked === 1 ? "{count} node after it did not run" : "{count} nodes after it did not run", {
            count: count(blocked),
          })}
        </span>
      )}
      {number > 1 && (
        <span class="cmt-soft cmt-trouble-place">
          {say("{place} of {count}", { place: count(place), count: count(number) })}
        </span>
      )}
      <button
        type="button"
        class="cmt-button"
        data-testid="cmt-show-trouble"
        title={say("Show where it failed, and its traceback")}
        onClick={() => session.showTrouble()}
      >
        {session.troubleIsOpen() && number > 1 ? say("Next") : say("Show")}
      </button>
    </div>
  );
}
