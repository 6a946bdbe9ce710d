/** The last line: a question to answer, or what happened; and how fresh all this is. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ago, count } from "../format.ts";
import { say } from "../words/say.ts";
import type { ViewSession } from "./session.ts";
import type { Plan } from "./steering.ts";
import { VERB_LABELS, WAITING } from "./words.ts";

interface FootProps {
  session: ViewSession;
  /** What stands there while nothing is asked. */
  children?: ComponentChildren;
}

export function Foot({ session, children }: FootProps) {
  const notice = session.currentNotice();
  return (
    <footer class="cmt-foot">
      {session.question ? <Question session={session} plan={session.question} /> : children}
      <span
        class={`cmt-notice ${notice?.bad ? "cmt-tone-red" : ""}`}
        role="status"
        data-testid="cmt-notice"
        title={notice?.text}
      >
        {session.question ? "" : notice?.text}
      </span>
      <span class="cmt-fresh" data-testid="cmt-fresh">
        {freshness(session)}
      </span>
    </footer>
  );
}

/** Asked in place, answered by a button or Escape. */
function Question({ session, plan }: { session: ViewSession; plan: Plan }) {
  const no = useRef<HTMLButtonElement>(null);
  // The keyboard lands on the harmless answer, and goes back afterwards to where it was, or to the table.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const view = no.current?.closest(".cmt-view");
    no.current?.focus({ preventScroll: true });
    return () => {
      const row = view?.querySelector<HTMLElement>(".cmt-body .cmt-row[tabindex='0']");
      const place = before instanceof HTMLElement && before !== document.body ? before : row;
      place?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <span class="cmt-question" role="alertdialog" aria-label={say("Confirm")} data-testid="cmt-question">
      <span class="cmt-asks">
        <b>{plan.question}</b> {plan.exceptions.join(" ")}
      </span>
      <button
        type="button"
        class="cmt-button cmt-primary"
        data-testid="cmt-confirm"
        onClick={() => session.answerQuestion(true)}
      >
        {say(VERB_LABELS[plan.verb])}
      </button>
      <button
        ref={no}
        type="button"
        class="cmt-button"
        data-testid="cmt-keep"
        onClick={() => session.answerQuestion(false)}
      >
        {say("Leave as it is")}
      </button>
    </span>
  );
}

/** A kernel that lives is heard every ten seconds. */
const QUIET_MS = 15_000;

function freshness(session: ViewSession): string {
  if (session.table.behind > 0) return say("{count} more to come", { count: count(session.table.behind) });
  if (session.table.trouble !== null) return say("may be behind");
  if (session.orderHeld) return say("order held under the pointer");
  if (session.asOf === null || session.life === "gone") return "";
  const now = Date.now();
  const text =
    now - session.asOf < QUIET_MS ? say("up to date") : say("as of {when}", { when: ago(session.asOf, now) });
  return session.life === "connecting" ? `${text} · ${say(WAITING)}` : text;
}
