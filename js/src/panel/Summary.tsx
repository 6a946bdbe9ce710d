/** The first line: what it is, how far it has come, how fast, how long still. */

import { count, rate, roughly } from "../format.ts";
import { ENDED } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import { STATUSES, type Status } from "../wire/protocol.ts";

export function Summary({ name, table }: { name: string; table: TaskTable }) {
  return (
    <div class="cmt-summary">
      <span class="cmt-title" title={name}>
        {name}
      </span>
      <span class="cmt-figures" data-testid="cmt-summary">
        {figures(table).join(" · ")}
      </span>
    </div>
  );
}

/** 312/480, 4.1/s, 41 s left: the last two only while tasks run and enough have ended to tell. */
export function figures(table: TaskTable): string[] {
  const total = table.total();
  if (total === 0) return [];
  const done = `${count(table.counts.succeeded ?? 0)}/${count(total)} done`;
  const ended = sum(table, (status) => ENDED.has(status));
  const running = sum(table, (status) => status === "running" || status === "starting");
  const perSecond = running > 0 && !table.stopped ? table.endings.rate(table.now()) : null;
  if (perSecond === null || perSecond <= 0) return [done];
  return [done, rate(perSecond), `${roughly(((total - ended) / perSecond) * 1000)} left`];
}

function sum(table: TaskTable, which: (status: Status) => boolean): number {
  return STATUSES.reduce((all, status) => all + (which(status) ? (table.counts[status] ?? 0) : 0), 0);
}
