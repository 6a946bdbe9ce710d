/** The first line: what it is, how far it has come, how fast, how long still. */

import { count, rate, roughly } from "../format.ts";
import { forecast } from "../tasks/forecast.ts";
import type { TaskTable } from "../tasks/table.ts";
import { say } from "../words/say.ts";

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

/** 312/480, 4.1/s, 41 s left: the last two only where they can be known. */
export function figures(table: TaskTable): string[] {
  const total = table.total();
  if (total === 0) return [];
  const { rate: perSecond, left, whole } = forecast(table);
  const parts = [say("{done}/{total} done", { done: count(table.counts.succeeded ?? 0), total: count(total) })];
  if (perSecond !== null) parts.push(rate(perSecond));
  if (left !== null) parts.push(say(whole ? "{time} left" : "{time} left in the queue", { time: roughly(left) }));
  return parts;
}
