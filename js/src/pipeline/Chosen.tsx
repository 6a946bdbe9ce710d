/** Under the graph: the list of what a stack holds, and the one task that is looked at. */

import { Drawer } from "../drawer/Drawer.tsx";
import { elapsed } from "../format.ts";
import { elapsedMs } from "../tasks/order.ts";
import { Actions } from "../view/Actions.tsx";
import { ProgressCell } from "../view/ProgressCell.tsx";
import { Status } from "../view/Status.tsx";
import { MemberList } from "./MemberList.tsx";
import type { PipelineSession } from "./session.ts";
import { rowsIn } from "./unit_look.ts";

export function Chosen({ session }: { session: PipelineSession }) {
  const { drawer, drawing, graph } = session;
  const stack = drawing.unit(session.openStack);
  const { row } = drawer;
  const { dossier } = drawer.follower;
  return (
    <>
      {stack && <MemberList session={session} unit={stack} />}
      {row !== null && dossier !== null && (
        <div class="cmt-below">
          {!(stack && rowsIn(graph, stack).includes(row)) && <Line session={session} row={row} />}
          <div class="cmt-below-drawer">
            <Drawer drawer={drawer} row={row} dossier={dossier} />
          </div>
        </div>
      )}
    </>
  );
}

/** A task with its buttons: of the node whose drawer is open, or one of a list. */
function Line({ session, row }: { session: PipelineSession; row: number }) {
  return (
    <div class="cmt-line-of-task" data-testid="cmt-chosen" data-status={session.table.status(row)}>
      <LineCells session={session} row={row} reachable name={<b>{session.table.columns.name[row]}</b>} />
    </div>
  );
}

interface LineCellsProps {
  session: PipelineSession;
  row: number;
  reachable: boolean;
  name: preact.ComponentChild;
}

export function LineCells({ session, row, reachable, name }: LineCellsProps) {
  const { table } = session;
  const time = elapsedMs(table, row, table.now());
  return (
    <>
      <Status table={table} row={row} />
      <span class="cmt-line-name" title={table.columns.name[row]}>
        {name}
      </span>
      <span class="cmt-line-progress">
        <ProgressCell session={session} row={row} />
      </span>
      <span class="cmt-line-time">{time === null ? "" : elapsed(time, table.columns.ended[row] == null)}</span>
      <span class="cmt-line-actions">
        <Actions session={session} row={row} reachable={reachable} />
      </span>
    </>
  );
}
