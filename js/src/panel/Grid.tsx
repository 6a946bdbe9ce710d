/** The table: a header that sorts and a body of which only the rows in sight exist. */

import { useRef } from "preact/hooks";
import { Row } from "./Row.tsx";
import type { PanelSession } from "./session.ts";
import { Titles } from "./Titles.tsx";
import { bodyHeight, ROW_HEIGHT, ROWS_IN_SIGHT, useVirtualRows } from "./virtual_rows.ts";

export function Grid({ session }: { session: PanelSession }) {
  const rows = session.rows();
  const scroller = useRef<HTMLDivElement>(null);
  const current = session.current === null ? -1 : rows.indexOf(session.current);
  const places = useVirtualRows(scroller, rows.length, current);
  return (
    <div
      class={rows.length > ROWS_IN_SIGHT ? "cmt-grid cmt-scrolls" : "cmt-grid"}
      role="grid"
      aria-label="Tasks"
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
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
          {places.map((index) => {
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
