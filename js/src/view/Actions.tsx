/** The buttons of one row: pause or resume, stop, retry, and the menu with the rest. What the kernel would refuse says why instead of acting. */

import type { Verb } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { Icon, type IconName } from "./Icon.tsx";
import type { ViewSession } from "./session.ts";
import { VERB_LABELS } from "./words.ts";

interface ActionsProps {
  session: ViewSession;
  row: number;
  reachable: boolean;
}

export function Actions(props: ActionsProps) {
  const { session, row } = props;
  const { outcomes, status } = session.table.situation(row);
  const first: Verb = outcomes.resume === "a" ? "resume" : "pause";
  return (
    <>
      <Action {...props} verb={first} icon={first === "pause" ? "bars" : "play"} />
      {status === "stopping" ? (
        <Action {...props} verb="stop" icon="square-now" atOnce />
      ) : (
        <Action {...props} verb="stop" icon="square" />
      )}
      <Action {...props} verb="retry" icon="again" />
      <MenuButton {...props} />
    </>
  );
}

function MenuButton({ session, row, reachable }: ActionsProps) {
  const label = say("More for {name}", { name: session.table.columns.name[row] ?? "" });
  return (
    <button
      type="button"
      class="cmt-act"
      data-testid="cmt-more"
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={session.menu.row === row}
      title={say("More")}
      tabIndex={reachable ? 0 : -1}
      onClick={(event) => session.menu.toggle(row, event.currentTarget)}
    >
      <Icon name="dots" />
    </button>
  );
}

interface ActionProps extends ActionsProps {
  verb: Verb;
  icon: IconName;
  /** A stop that does not wait for the grace window. */
  atOnce?: boolean;
}

function Action({ session, row, reachable, verb, icon, atOnce = false }: ActionProps) {
  const reason = session.life !== "gone" && atOnce ? null : session.refusal(row, verb);
  const label = say(atOnce ? "Stop at once" : VERB_LABELS[verb]);
  return (
    <button
      type="button"
      class="cmt-act"
      data-testid={`cmt-act-${verb}`}
      aria-label={`${label} ${session.table.columns.name[row] ?? ""}`}
      aria-disabled={reason !== null}
      title={reason ?? label}
      tabIndex={reachable ? 0 : -1}
      onClick={() => session.actOnRow(row, verb, atOnce)}
    >
      <Icon name={icon} />
    </button>
  );
}
