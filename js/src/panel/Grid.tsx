/** The table: a header that sorts and a body of which only the rows in sight exist. */

import { useRef } from "preact/hooks";
import { Drawer } from "../drawer/Drawer.tsx";
import { say } from "../words/say.ts";
import { Row } from "./Row.tsx";
import type { PanelSession } from "./session.ts";
import { Titles } from "./Titles.tsx";
import {
  bodyHeight,
  DRAWER_HEIGHT,
  ROW_HEIGHT,
  ROWS_IN_SIGHT,
  useSteadyDrawer,
  useVirtualRows,
} from "./virtual_rows.ts";

export function Grid({ session }: { session: PanelSession }) {
  const rows = session.rows();
  const scroller = useRef<HTMLDivElement>(null);
  const current = session.current === null ? -1 : rows.indexOf(session.current);
  const { drawer } = session;
  const { dossier } = drawer.follower;
  const open = drawer.row === null || dossier === null ? -1 : rows.indexOf(drawer.row);
  const places = useVirtualRows(scroller, rows.length, [current, open], open);
  useSteadyDrawer(scroller, drawer.row, open);
  session.inSight = places.flatMap((index) => rows[index] ?? []);
  const below = open < 0 ? 0 : DRAWER_HEIGHT;
  return (
    <div
      class={rows.length > ROWS_IN_SIGHT ? "cmt-grid cmt-scrolls" : "cmt-grid"}
      role="grid"
      aria-label={say("Tasks")}
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
    >
      <Titles session={session} shown={rows.length} />
      <div
        class="cmt-body"
        ref={scroller}
        role="presentation"
        style={{ height: `${bodyHeight(rows.length) + below}px` }}
        onPointerMove={() => session.pointer(true)}
        onPointerLeave={() => session.pointer(false)}
      >
        <div class="cmt-spacer" role="presentation" style={{ height: `${rows.length * ROW_HEIGHT + below}px` }}>
          {places.map((index) => {
            const row = rows[index];
            if (row === undefined) return null;
            const reachable = current >= 0 ? index === current : index === 0;
            const top = index * ROW_HEIGHT + (open >= 0 && index > open ? DRAWER_HEIGHT : 0);
            return <Row key={row} session={session} row={row} index={index} top={top} reachable={reachable} />;
          })}
          {open >= 0 && drawer.row !== null && dossier !== null && (
            <div
              key="drawer"
              class="cmt-drawer-row"
              role="row"
              style={{ transform: `translateY(${(open + 1) * ROW_HEIGHT}px)`, height: `${DRAWER_HEIGHT}px` }}
            >
              <div role="gridcell" aria-colspan={7} class="cmt-drawer-cell">
                <Drawer drawer={drawer} row={drawer.row} dossier={dossier} />
              </div>
            </div>
          )}
        </div>
      </div>
    </div>
  );
}
