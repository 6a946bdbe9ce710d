/** Counts by group of statuses; a click filters by it. */

import { count } from "../format.ts";
import { CHIP_ORDER, GROUPS, type StatusGroup } from "../tasks/statuses.ts";
import type { Counts } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { PanelSession } from "./session.ts";

export function Chips({ session }: { session: PanelSession }) {
  const { counts } = session.table;
  const groups = CHIP_ORDER.flatMap((key) => GROUPS.filter((group) => group.key === key));
  const shown = groups.filter((group) => groupCount(counts, group) > 0 || session.group === group.key);
  return (
    <div class="cmt-chips" role="group" aria-label={say("Filter by status")}>
      <Chip session={session} chip={null} label={say("All")} number={session.table.total()} />
      {shown.map((group) => (
        <Chip
          key={group.key}
          session={session}
          chip={group.key}
          label={say(group.label)}
          number={groupCount(counts, group)}
          tone={group.tone}
        />
      ))}
    </div>
  );
}

interface ChipProps {
  session: PanelSession;
  chip: string | null;
  label: string;
  number: number;
  tone?: string;
}

function Chip({ session, chip, label, number, tone }: ChipProps) {
  return (
    <button
      type="button"
      class={`cmt-chip ${tone ? `cmt-tone-${tone}` : ""}`}
      data-testid={`cmt-chip-${chip ?? "all"}`}
      aria-pressed={session.group === chip}
      onClick={() => session.filterGroup(chip)}
    >
      {tone && <span class="cmt-dot" aria-hidden="true" />}
      {label} <b>{count(number)}</b>
    </button>
  );
}

function groupCount(counts: Counts, group: StatusGroup): number {
  return group.statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}
