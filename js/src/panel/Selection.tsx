/** How many rows are selected, and the verbs for all of them. */

import { count } from "../format.ts";
import { VERB_LABELS } from "../view/words.ts";
import { BULK_VERBS } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { PanelSession } from "./session.ts";

export function Selection({ session }: { session: PanelSession }) {
  return (
    <span class="cmt-selection" data-testid="cmt-selection">
      <span class="cmt-selected">{say("{count} selected", { count: count(session.selected.size) })}</span>
      {BULK_VERBS.map((verb) => (
        <button
          key={verb}
          type="button"
          class="cmt-button"
          data-testid={`cmt-bulk-${verb}`}
          aria-disabled={session.life === "gone"}
          onClick={() => {
            if (session.life !== "gone") session.actOnSelection(verb);
          }}
        >
          {say(VERB_LABELS[verb])}
        </button>
      ))}
    </span>
  );
}
