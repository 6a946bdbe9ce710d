/** One task on one line, and what it printed last under it. */

import { Drawer } from "../drawer/Drawer.tsx";
import { elapsed } from "../format.ts";
import { elapsedMs } from "../tasks/order.ts";
import { clockHint } from "../tasks/row_text.ts";
import { Actions } from "../view/Actions.tsx";
import { Doubt } from "../view/Doubt.tsx";
import { Foot } from "../view/Foot.tsx";
import { Icon } from "../view/Icon.tsx";
import { Menu } from "../view/Menu.tsx";
import { ProgressCell } from "../view/ProgressCell.tsx";
import { Status } from "../view/Status.tsx";
import { LOADING } from "../view/words.ts";
import { say, spoken } from "../words/say.ts";
import { type CardSession, ROW } from "./session.ts";

export function Card({ session }: { session: CardSession }) {
  const { table, life, drawer } = session;
  const { dossier } = drawer.follower;
  const name = table.columns.name[ROW] ?? table.title;
  return (
    <section
      class="cmt-view cmt-card"
      data-testid="cmt-card"
      data-life={life}
      data-task-id={table.columns.id[ROW]}
      data-status={table.size > 0 ? table.status(ROW) : undefined}
      lang={spoken()}
      aria-label={say("Task {name}", { name })}
    >
      <Doubt session={session} />
      {table.size > 0 ? <Line session={session} name={name} /> : <p class="cmt-empty">{say(LOADING)}</p>}
      {session.lines !== null && <Tail session={session} />}
      {drawer.row !== null && dossier !== null && (
        <div class="cmt-below">
          <Drawer drawer={drawer} row={ROW} dossier={dossier} />
        </div>
      )}
      {(session.question !== null || session.currentNotice() !== null) && <Foot session={session} />}
      {session.menu.row !== null && <Menu session={session} row={ROW} />}
    </section>
  );
}

function Line({ session, name }: { session: CardSession; name: string }) {
  const { table } = session;
  const { columns } = table;
  const time = elapsedMs(table, ROW, table.now());
  return (
    <div class="cmt-line-of-card">
      <button
        type="button"
        class={session.unfolded ? "cmt-opener cmt-opened" : "cmt-opener"}
        data-testid="cmt-fold"
        aria-label={say("Output of {name}", { name })}
        aria-expanded={session.unfolded}
        onClick={() => session.toggle()}
      >
        <Icon name="chevron" />
      </button>
      <Status table={table} row={ROW} />
      <span class="cmt-name" title={name}>
        {name}
      </span>
      <span class="cmt-card-progress">
        <ProgressCell session={session} row={ROW} />
      </span>
      <span class="cmt-card-figures">
        {(columns.tries_max[ROW] ?? 1) > 1 && (columns.attempt[ROW] ?? 0) > 0 && (
          <span title={say("try")}>
            {columns.attempt[ROW]}/{columns.tries_max[ROW]}
          </span>
        )}
        {time !== null && (
          <span data-testid="cmt-time" title={clockHint(table, ROW) ?? undefined}>
            {elapsed(time, columns.ended[ROW] == null)}
          </span>
        )}
      </span>
      <span class="cmt-card-actions">
        <Actions session={session} row={ROW} reachable />
      </span>
    </div>
  );
}

function Tail({ session }: { session: CardSession }) {
  const lines = session.lines ?? [];
  return (
    <div class="cmt-tail">
      <div class="cmt-tail-lines" role="log" aria-live="off" aria-label={say("Output")} data-testid="cmt-tail">
        {lines.length === 0 && (
          <p class="cmt-quiet">{say(session.knowsOutput ? "Nothing printed or logged." : LOADING)}</p>
        )}
        {lines.map(([seq, , stream, level, , text]) => (
          <div
            key={seq}
            class={stream === "stderr" || (level ?? 0) >= 30 ? "cmt-line cmt-loud" : "cmt-line"}
            title={text}
          >
            {text || " "}
          </div>
        ))}
      </div>
      <button type="button" class="cmt-link" data-testid="cmt-details" onClick={() => session.showDetails()}>
        {say("Details")}
      </button>
    </div>
  );
}
