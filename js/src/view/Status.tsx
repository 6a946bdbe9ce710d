/** The glyph and the word of a row's status, with what it waits for; and whether a worker was left behind. */

import { earlierWorker } from "../tasks/row_text.ts";
import { statusCountdown } from "../tasks/status_text.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import { Icon } from "./Icon.tsx";

export function Status({ table, row }: { table: TaskTable; row: number }) {
  const look = STATUS_LOOKS[table.status(row)];
  const behind = earlierWorker(table, row);
  return (
    <span class={`cmt-status cmt-tone-${look.tone}`} title={behind || undefined}>
      <Icon name={look.glyph} />
      {statusCountdown(table, row, table.now())}
      {behind && (
        <span class="cmt-behind" data-testid="cmt-abandoned" role="img" aria-label={behind}>
          <Icon name="behind" />
        </span>
      )}
    </span>
  );
}
