/** One task. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { elapsed } from "../format.ts";
import { elapsedMs } from "../tasks/order.ts";
import { clockHint, earlierWorker } from "../tasks/row_text.ts";
import { statusCountdown } from "../tasks/status_text.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import { Actions } from "./Actions.tsx";
import { Icon } from "./Icon.tsx";
import { ProgressCell } from "./ProgressCell.tsx";
import type { PanelSession } from "./session.ts";
import { ROW_HEIGHT } from "./virtual_rows.ts";

interface RowProps {
  session: PanelSession;
  row: number;
  /** Its place in the list. */
  index: number;
  /** Whether the Tab key stops here: at one row only. */
  reachable: boolean;
}

export function Row({ session, row, index, reachable }: RowProps) {
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
      style={{ transform: `translateY(${index * ROW_HEIGHT}px)` }}
      onFocusIn={() => {
        session.current = row;
      }}
    >
      <div class="cmt-cell cmt-select" role="gridcell">
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          tabIndex={reachable ? 0 : -1}
          checked={selected}
          onChange={(event) => session.select(row, event.currentTarget.checked)}
        />
      </div>
      <div
        class={`cmt-cell cmt-col-status cmt-tone-${STATUS_LOOKS[status].tone}`}
        role="gridcell"
        title={earlierWorker(table, row) || undefined}
      >
        <Icon name={STATUS_LOOKS[status].glyph} />
        {statusCountdown(table, row, now)}
      </div>
      <div class="cmt-cell cmt-col-name" role="gridcell" title={name}>
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
      <Actions session={session} row={row} reachable={reachable} />
    </div>
  );
}
