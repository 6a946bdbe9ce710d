/** The table: a header that sorts and a body of which only the rows in sight exist. */

import { useEffect, useRef } from "preact/hooks";
import { Row } from "./Row.tsx";
import type { PanelSession } from "./session.ts";
import { Titles } from "./Titles.tsx";
import { ROW_HEIGHT, useVirtualRows } from "./virtual_rows.ts";

/** More rows scroll; half a row at the lower edge shows that they do. */
const ROWS_IN_SIGHT = 14;

function bodyHeight(rows: number): number {
  return (rows > ROWS_IN_SIGHT ? ROWS_IN_SIGHT + 0.5 : Math.max(rows, 1)) * ROW_HEIGHT;
}

export function Grid({ session }: { session: PanelSession }) {
  const rows = session.rows();
  const scroller = useRef<HTMLDivElement>(null);
  const current = session.current === null ? -1 : rows.indexOf(session.current);
  const virtual = useVirtualRows(scroller, rows.length, current);
  useEffect(() => {
    if (session.focusWanted && current >= 0) virtual.scrollToIndex(current);
  });
  return (
    <div
      class="cmt-grid"
      role="grid"
      aria-label="Tasks"
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
      onKeyDown={(event) => onKey(event, session, rows, current)}
    >
      <Titles session={session} shown={rows.length} />
      <div
        class="cmt-body"
        ref={scroller}
        role="presentation"
        style={{ height: `${bodyHeight(rows.length)}px` }}
        onPointerMove={() => session.pointer(true)}
        onPointerLeave={() => session.pointer(false)}
      >
        <div class="cmt-spacer" role="presentation" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          {virtual.items.map((index) => {
            const row = rows[index];
            if (row === undefined) return null;
            const reachable = current >= 0 ? index === current : index === 0;
            return <Row key={row} session={session} row={row} index={index} reachable={reachable} />;
          })}
        </div>
      </div>
    </div>
  );
}

/** Arrows walk, space selects, Ctrl+A selects all, Escape lets go. */
function onKey(event: KeyboardEvent, session: PanelSession, rows: readonly number[], current: number): void {
  const last = rows.length - 1;
  const targets: Record<string, number> = {
    ArrowDown: Math.min(current + 1, last),
    ArrowUp: Math.max(current - 1, 0),
    PageDown: Math.min(Math.max(current, 0) + ROWS_IN_SIGHT, last),
    PageUp: Math.max(current - ROWS_IN_SIGHT, 0),
    Home: 0,
    End: last,
  };
  const target = targets[event.key];
  const onRow = event.target instanceof HTMLElement && event.target.matches(".cmt-row");
  const row = rows[current];
  if (target !== undefined) session.moveTo(rows[target]);
  else if (event.key === " " && onRow && row !== undefined) session.select(row, !session.selected.has(row));
  else if (event.key === "a" && (event.ctrlKey || event.metaKey)) session.selectAll(true);
  else if (event.key === "Escape") session.selectAll(false);
  else return;
  event.preventDefault();
}
