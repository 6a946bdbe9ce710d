/** One bar for the whole table, a segment a status. */

import { count } from "../format.ts";
import { GROUPS, STATUS_LOOKS } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import { say } from "../words/say.ts";

export function SegmentBar({ table }: { table: TaskTable }) {
  const segments = GROUPS.flatMap((group) => group.statuses)
    .map((status) => ({ status, number: table.counts[status] ?? 0 }))
    .filter(({ number }) => number > 0);
  const text = (status: (typeof segments)[number]) =>
    `${count(status.number)} ${say(STATUS_LOOKS[status.status].word).replace("…", "")}`;
  return (
    <div class="cmt-bar" role="img" aria-label={segments.map(text).join(", ") || say("no tasks")}>
      {segments.map((segment) => (
        <span
          key={segment.status}
          class={`cmt-segment cmt-segment-${segment.status}`}
          style={{ flexGrow: segment.number }}
          title={text(segment)}
        />
      ))}
    </div>
  );
}
