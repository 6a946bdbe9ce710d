/** What comes after what. */

import type { Counts } from "../wire/protocol.ts";
import type { PipelineSession } from "./session.ts";
import { countsOf } from "./unit_look.ts";

export function Lines({ session, lit }: { session: PipelineSession; lit: ReadonlySet<number> }) {
  const { drawing, graph } = session;
  const { layout, folded } = drawing;
  const chosen = drawing.numberOf(session.shownUnit());
  const standings: Counts[] = folded.units.map((unit) => {
    const own = unit.kind === "node" ? graph.status(unit.nodes[0] ?? -1) : undefined;
    return own === undefined ? countsOf(graph, unit) : { [own]: 1 };
  });
  const kindOf = (from: number, to: number): string => {
    if (lit.has(from) && lit.has(to)) return "cmt-lit";
    const above = standings[from] ?? {};
    const ended = folded.units[to]?.kind === "node" && graph.status(folded.units[to]?.nodes[0] ?? -1) === "cancelled";
    const broke = ended && (above.failed || above.lost || above.cancelled) ? "cmt-broken" : "";
    return `${broke} ${chosen === from || chosen === to ? "cmt-near" : ""}`;
  };
  return (
    <svg class="cmt-lines" width={layout.width} height={layout.height} aria-hidden="true">
      {layout.lines.map(({ from, to, path }) => (
        <path key={`${from} ${to}`} class={`cmt-edge ${kindOf(from, to)}`} d={path} />
      ))}
    </svg>
  );
}
