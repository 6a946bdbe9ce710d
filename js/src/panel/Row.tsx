/** One task. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { elapsed } from "../format.ts";
import { elapsedMs } from "../tasks/order.ts";
import { clockHint } from "../tasks/row_text.ts";
import { Actions } from "../view/Actions.tsx";
import { Icon } from "../view/Icon.tsx";
import { ProgressCell } from "../view/ProgressCell.tsx";
import { Status } from "../view/Status.tsx";
import { say } from "../words/say.ts";
import type { PanelSession } from "./session.ts";

interface RowProps {
  session: PanelSession;
  row: number;
  /** Its place in the list. */
  index: number;
  /** Pixels from the top of the body. */
  top: number;
  /** Whether the Tab key stops here: at one row only. */
  reachable: boolean;
}

export function Row({ session, row, index, top, reachable }: RowProps) {
  const { table } = session;
  const { columns } = table;
  const element = useRef<HTMLDivElement>(null);
  const { status } = table.situation(row);
  const name = columns.name[row] ?? "";
  const selected = session.selected.has(row);
  const now = table.now();
  const time = elapsedMs(table, row, now);
  useLayoutEffect(() => {
    if (!session.focusWanted || session.current !== row) return;
    session.focusWanted = false;
    element.current?.focus({ preventScroll: true });
    element.current?.scrollIntoView({ block: "nearest" });
  });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on the row does the same, in keyboard.ts
    <div
      ref={element}
      class="cmt-row"
      role="row"
      data-testid="cmt-row"
      data-task-id={columns.id[row]}
      data-status={status}
      aria-rowindex={index + 2}
      aria-selected={selected}
      tabIndex={reachable ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocusIn={() => {
        session.current = row;
      }}
      onClick={(event) => {
        if (event.target instanceof Element && !event.target.closest("input, button")) session.drawer.toggle(row);
      }}
    >
      <div class="cmt-cell cmt-select" role="gridcell">
        <input
          type="checkbox"
          aria-label={say("Select {name}", { name })}
          tabIndex={reachable ? 0 : -1}
          checked={selected}
          onChange={(event) => session.select(row, event.currentTarget.checked)}
        />
      </div>
      <div class="cmt-cell cmt-col-status" role="gridcell">
        <Status table={table} row={row} />
      </div>
      <div class="cmt-cell cmt-col-name" role="gridcell" title={name}>
        <Opener session={session} row={row} name={name} reachable={reachable} />
        <span class="cmt-name">{name}</span>
        {(columns.tags[row] ?? []).map((tag) => (
          <span key={tag} class="cmt-tag">
            {tag}
          </span>
        ))}
      </div>
      <div class="cmt-cell cmt-col-progress" role="gridcell">
        <ProgressCell session={session} row={row} />
      </div>
      <div class="cmt-cell cmt-col-try" role="gridcell">
        {(columns.attempt[row] ?? 0) > 0 ? `${columns.attempt[row]}/${columns.tries_max[row]}` : ""}
      </div>
      <div class="cmt-cell cmt-col-time" role="gridcell" title={(time !== null && clockHint(table, row)) || undefined}>
        {time === null ? "" : elapsed(time, columns.ended[row] == null)}
      </div>
      <div class="cmt-cell cmt-col-actions" role="gridcell">
        <Actions session={session} row={row} reachable={reachable} />
      </div>
    </div>
  );
}

/** Opens the drawer; a click elsewhere on the row does so as well. */
function Opener({ session, row, name, reachable }: Pick<RowProps, "session" | "row" | "reachable"> & { name: string }) {
  const open = session.drawer.row === row;
  return (
    <button
      type="button"
      class={open ? "cmt-opener cmt-opened" : "cmt-opener"}
      data-testid="cmt-open"
      aria-label={say("Details of {name}", { name })}
      aria-expanded={open}
      aria-controls={open ? session.drawer.id : undefined}
      tabIndex={reachable ? 0 : -1}
      onClick={() => session.drawer.toggle(row)}
    >
      <Icon name="chevron" />
    </button>
  );
}
