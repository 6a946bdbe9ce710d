/** What a stack holds. Only the lines in sight exist: a map may have a hundred thousand tasks. */

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { count } from "../format.ts";
import { Icon } from "../view/Icon.tsx";
import { say } from "../words/say.ts";
import { LineCells } from "./Chosen.tsx";
import type { Unit } from "./fold.ts";
import { MEMBER_HEIGHT, MEMBERS_IN_SIGHT } from "./members.ts";
import type { PipelineSession } from "./session.ts";
import { lookOf } from "./unit_look.ts";

/** More boxes at once help nobody. */
const MOST_UNFOLDED = 200;
const SPARE = 4;

export function MemberList({ session, unit }: { session: PipelineSession; unit: Unit }) {
  const rows = session.members.of(unit);
  const look = lookOf(session.graph, session.table, unit);
  const missing = (look.stack?.size ?? 0) - rows.length;
  return (
    <section class="cmt-members" data-testid="cmt-members" aria-label={say("What {name} holds", { name: look.name })}>
      <div class="cmt-members-head">
        <b class="cmt-members-name">{look.name}</b>
        <span class="cmt-unit-size">×{count(look.stack?.size ?? 0)}</span>
        <span class="cmt-soft cmt-members-words">{look.words}</span>
        {missing > 0 && <span class="cmt-soft">{say("{count} more to come", { count: count(missing) })}</span>}
        {unit.kind === "node" && <OwnRecord session={session} row={session.graph.rowOf(unit.nodes[0] ?? -1)} />}
        {unit.kind !== "node" && unit.kind !== "column" && unit.nodes.length <= MOST_UNFOLDED && (
          <button type="button" class="cmt-button" data-testid="cmt-unfold" onClick={() => session.unfold(unit)}>
            {say("Unfold in the graph")}
          </button>
        )}
        <button
          type="button"
          class="cmt-act"
          data-testid="cmt-members-close"
          aria-label={say("Close the list")}
          title={say("Close the list")}
          onClick={() => session.closeAll()}
        >
          ✕
        </button>
      </div>
      <List session={session} rows={rows} />
    </section>
  );
}

/** A map has a record of its own: what it waits for, and why it has tasks at all. */
function OwnRecord({ session, row }: { session: PipelineSession; row: number | undefined }) {
  const opener = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (!session.focusWanted || row === undefined || session.current !== row) return;
    session.focusWanted = false;
    opener.current?.focus({ preventScroll: true });
  });
  if (row === undefined) return null;
  return (
    <button
      ref={opener}
      type="button"
      class="cmt-button"
      data-testid="cmt-own-record"
      aria-expanded={session.drawer.row === row}
      onClick={() => session.drawer.toggle(row)}
    >
      {say("Details")}
    </button>
  );
}

function List({ session, rows }: { session: PipelineSession; rows: readonly number[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0);
  const current = session.current === null ? -1 : rows.indexOf(session.current);
  const top = scroller.current?.scrollTop ?? 0;
  const first = Math.max(Math.floor(top / MEMBER_HEIGHT) - SPARE, 0);
  const last = Math.min(first + MEMBERS_IN_SIGHT + 2 * SPARE, rows.length);
  const places = Array.from({ length: Math.max(last - first, 0) }, (_, index) => first + index);
  if (current >= 0 && !places.includes(current)) places.push(current);
  session.members.inSight = places.flatMap((place) => rows[place] ?? []);
  // The line that has the keyboard, or whose error was gone to, is seen.
  useLayoutEffect(() => {
    const own = scroller.current;
    if (!own || current < 0) return;
    const at = current * MEMBER_HEIGHT;
    if (at < own.scrollTop) own.scrollTop = at;
    else if (at + MEMBER_HEIGHT > own.scrollTop + own.clientHeight)
      own.scrollTop = at + MEMBER_HEIGHT - own.clientHeight;
  }, [session.current]);
  return (
    <div
      ref={scroller}
      class="cmt-members-list"
      role="list"
      style={{ height: `${Math.min(Math.max(rows.length, 1), MEMBERS_IN_SIGHT) * MEMBER_HEIGHT}px` }}
      onScroll={() => redraw(0)}
    >
      <div class="cmt-members-space" role="presentation" style={{ height: `${rows.length * MEMBER_HEIGHT}px` }}>
        {places.map((place) => {
          const row = rows[place];
          if (row === undefined) return null;
          const reachable = current >= 0 ? place === current : place === 0;
          return (
            <Member key={row} session={session} row={row} place={place} total={rows.length} reachable={reachable} />
          );
        })}
      </div>
    </div>
  );
}

interface MemberProps {
  session: PipelineSession;
  row: number;
  place: number;
  total: number;
  reachable: boolean;
}

function Member({ session, row, place, total, reachable }: MemberProps) {
  const opener = useRef<HTMLButtonElement>(null);
  const { table, drawer } = session;
  const open = drawer.row === row;
  useLayoutEffect(() => {
    if (!session.focusWanted || session.current !== row) return;
    session.focusWanted = false;
    opener.current?.focus({ preventScroll: true });
  });
  const name = (
    <button
      ref={opener}
      type="button"
      class={open ? "cmt-member-name cmt-opened" : "cmt-member-name"}
      data-testid="cmt-member-open"
      aria-expanded={open}
      tabIndex={reachable ? 0 : -1}
      onFocus={() => {
        session.current = row;
      }}
      onClick={() => drawer.toggle(row)}
    >
      <Icon name="chevron" />
      <span>{table.columns.name[row]}</span>
    </button>
  );
  return (
    <div
      class={open ? "cmt-line-of-task cmt-member cmt-open" : "cmt-line-of-task cmt-member"}
      role="listitem"
      data-testid="cmt-member"
      data-status={table.status(row)}
      aria-posinset={place + 1}
      aria-setsize={total}
      style={{ transform: `translateY(${place * MEMBER_HEIGHT}px)` }}
    >
      <LineCells session={session} row={row} reachable={reachable} name={name} />
    </div>
  );
}
