/** A run's graph, top to bottom: how the run stands, what went wrong, the graph, and what was chosen in it. */

import { count } from "../format.ts";
import { Doubt } from "../view/Doubt.tsx";
import { Foot } from "../view/Foot.tsx";
import { Menu } from "../view/Menu.tsx";
import { LOADING } from "../view/words.ts";
import { say, spoken } from "../words/say.ts";
import { Canvas } from "./Canvas.tsx";
import { Chosen } from "./Chosen.tsx";
import { Head } from "./Head.tsx";
import type { PipelineSession } from "./session.ts";
import { Trouble } from "./Trouble.tsx";

export function Pipeline({ session }: { session: PipelineSession }) {
  const { table, life, graph } = session;
  const name = table.title || say("Pipeline");
  return (
    <section
      class="cmt-view cmt-pipeline"
      data-testid="cmt-pipeline"
      data-life={life}
      data-run={session.standing.status ?? undefined}
      lang={spoken()}
      aria-label={say("Pipeline run {name}", { name })}
    >
      <Head session={session} name={name} />
      <Doubt session={session} />
      <Trouble session={session} />
      {graph.size === 0 ? (
        <p class="cmt-empty" data-testid="cmt-empty">
          {life === "connecting" && session.asOf === null ? say(LOADING) : say("This run has no nodes.")}
        </p>
      ) : (
        <Canvas session={session} name={name} />
      )}
      <Chosen session={session} />
      <Foot session={session}>{leftOut(session)}</Foot>
      {session.menu.row !== null && <Menu session={session} row={session.menu.row} />}
    </section>
  );
}

/** Counts are of all; what is not drawn is said. */
function leftOut({ graph }: PipelineSession) {
  const parts = [
    graph.nodesLeft > 0 &&
      say("{count} of {total} nodes are not drawn", {
        count: count(graph.nodesLeft),
        total: count(graph.nodesLeft + graph.size),
      }),
    graph.edgesLeft > 0 && say("{count} edges are not drawn", { count: count(graph.edgesLeft) }),
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return (
    <span class="cmt-left-out" data-testid="cmt-left-out">
      {parts.join(", ")}
    </span>
  );
}
