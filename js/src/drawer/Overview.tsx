/** Times, what it was given and gave, who runs it where; and the way to set its status by hand. */

import { clockSeconds, quantity } from "../format.ts";
import { waitsText } from "../tasks/waits.ts";
import { say } from "../words/say.ts";
import { ByHand } from "./ByHand.tsx";
import type { Dossier } from "./dossier.ts";
import type { DrawerSession } from "./drawer_session.ts";

interface OverviewProps {
  drawer: DrawerSession;
  row: number;
  dossier: Dossier;
}

export function Overview({ drawer, row, dossier }: OverviewProps) {
  return (
    <>
      <dl class="cmt-facts" data-testid="cmt-facts">
        {factsOf(dossier).map(([label, value, kind]) => (
          <div key={label} class={`cmt-fact cmt-fact-${kind}`}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <ByHand drawer={drawer} row={row} />
    </>
  );
}

type Kind = "short" | "long";

/** Label, text, and whether it takes a line of its own. What is not known is left out. */
export function factsOf(dossier: Dossier): [string, string, Kind][] {
  const { overview } = dossier;
  const told: [string, string | null, Kind][] = [
    [say("why it waits"), dossier.waits && waitsText(dossier.waits), "long"],
    [say("created"), time(overview.created), "short"],
    [say("queued|since"), time(overview.queued), "short"],
    [say("started"), time(overview.started), "short"],
    [say("ended"), time(overview.ended), "short"],
    [say("last heard"), time(dossier.heard), "short"],
    [say("task"), text(overview.spec), "short"],
    [say("pipeline run"), text(overview.run), "short"],
    [say("node"), text(overview.node), "short"],
    [say("owner"), text(overview.owner), "short"],
    [say("process"), overview.pid === undefined ? null : String(overview.pid), "short"],
    [say("executor"), text(overview.executor), "short"],
    [say("bucket"), text(overview.bucket), "short"],
    [say("priority"), typeof overview.priority === "number" ? quantity(overview.priority) : null, "short"],
    [say("set by hand"), overview.overridden ? say("yes") : null, "short"],
    [say("id"), dossier.task, "short"],
    [say("inputs"), text(overview.inputs), "long"],
    [say("result"), text(overview.result), "long"],
  ];
  return told.flatMap(([label, value, kind]) => (value === null ? [] : [[label, value, kind]]));
}

function text(value: unknown): string | null {
  return value === undefined || value === null ? null : String(value);
}

function time(value: unknown): string | null {
  return typeof value === "number" ? clockSeconds(value) : null;
}
