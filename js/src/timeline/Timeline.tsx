/** The whole timeline, top to bottom. The canvas is painted on its own; the rest is drawn as in every view. */

import { Drawer } from "../drawer/Drawer.tsx";
import { count } from "../format.ts";
import { Actions } from "../view/Actions.tsx";
import { Doubt } from "../view/Doubt.tsx";
import { Foot } from "../view/Foot.tsx";
import { Menu } from "../view/Menu.tsx";
import { Status } from "../view/Status.tsx";
import { Summary } from "../view/Summary.tsx";
import { EMPTY, LOADING } from "../view/words.ts";
import { say, spoken } from "../words/say.ts";
import { Plot } from "./Plot.tsx";
import type { TimelineSession } from "./session.ts";
import { Tools } from "./Tools.tsx";

export function Timeline({ session }: { session: TimelineSession }) {
  session.prepare();
  const { table, life, chart, drawer } = session;
  const untold = untoldText(session);
  const name = table.title || say("Tasks");
  return (
    <section
      class="cmt-view cmt-timeline"
      data-testid="cmt-timeline"
      data-life={life}
      lang={spoken()}
      aria-label={say("Timeline of {name}", { name })}
    >
      <header class="cmt-timeline-head">
        <Summary name={name} table={table} />
        <Tools session={session} />
      </header>
      <Doubt session={session} />
      {chart.facts.size > 0 ? (
        <Plot session={session} name={name} />
      ) : (
        <p class="cmt-empty" data-testid="cmt-empty">
          {emptyText(session)}
        </p>
      )}
      {drawer.row !== null && <Picked session={session} row={drawer.row} />}
      <Foot session={session}>{untold && <span class="cmt-quiet">{untold}</span>}</Foot>
      {session.menu.row !== null && <Menu session={session} row={session.menu.row} />}
    </section>
  );
}

function emptyText(session: TimelineSession): string {
  if (session.life === "connecting" && session.asOf === null) return say(LOADING);
  return session.table.total() === 0 ? say(EMPTY) : say("Nothing has started yet.");
}

/** What is not drawn because it is not known. */
function untoldText({ chart }: TimelineSession): string {
  const { size } = chart.unknown;
  if (size === 1) return say("what 1 task went through is not known yet");
  if (size > 1) return say("what {count} tasks went through is not known yet", { count: count(size) });
  const { cut } = chart.facts;
  return cut > 0 ? say("{count} earlier attempts are not shown", { count: count(cut) }) : "";
}

/** The task that was clicked: its line, and the drawer that every view has. */
function Picked({ session, row }: { session: TimelineSession; row: number }) {
  const { table, drawer } = session;
  const { dossier } = drawer.follower;
  const name = table.columns.name[row] ?? "";
  return (
    <div class="cmt-picked" data-testid="cmt-picked" data-status={table.status(row)}>
      <div class="cmt-picked-line">
        <Status table={table} row={row} />
        <span class="cmt-name" title={name}>
          {name}
        </span>
        <span class="cmt-picked-actions">
          <Actions session={session} row={row} reachable />
        </span>
      </div>
      {dossier !== null && (
        <div class="cmt-picked-drawer">
          <Drawer drawer={drawer} row={row} dossier={dossier} />
        </div>
      )}
    </div>
  );
}
