/** The header of the table: a click on a title sorts by it, the box selects everything shown. */

import type { SortColumn } from "../tasks/order.ts";
import { say } from "../words/say.ts";
import type { PanelSession } from "./session.ts";

interface Title {
  column: SortColumn | null;
  label: string;
  hint?: string;
}

export const TITLES: readonly Title[] = [
  { column: "status", label: "status" },
  { column: "name", label: "name" },
  { column: "progress", label: "progress" },
  { column: "try", label: "try", hint: "attempts, of how many" },
  { column: "time", label: "time", hint: "how long the attempt has taken" },
  { column: null, label: "actions" },
];

export function Titles({ session, shown }: { session: PanelSession; shown: number }) {
  const chosen = session.selected.size;
  return (
    <div class="cmt-row cmt-titles" role="row" aria-rowindex={1}>
      <div class="cmt-cell cmt-select" role="columnheader">
        <input
          type="checkbox"
          aria-label={say("Select all shown tasks")}
          data-testid="cmt-select-all"
          checked={chosen > 0 && chosen >= shown}
          indeterminate={chosen > 0 && chosen < shown}
          onChange={(event) => session.selectAll(event.currentTarget.checked)}
        />
      </div>
      {TITLES.map((title) =>
        title.column === null ? (
          <div key={title.label} class="cmt-cell" role="columnheader">
            <span class="cmt-hidden">{say(title.label)}</span>
          </div>
        ) : (
          <SortTitle key={title.label} session={session} {...title} column={title.column} />
        ),
      )}
    </div>
  );
}

const ARROWS = { ascending: " ↑", descending: " ↓", none: "" } as const;

function SortTitle({ session, column, label, hint }: Title & { session: PanelSession; column: SortColumn }) {
  const sort = session.sort?.column === column ? session.sort : null;
  const direction = sort === null ? "none" : sort.descending ? "descending" : "ascending";
  return (
    <div class={`cmt-cell cmt-col-${label}`} role="columnheader" aria-sort={direction}>
      <button
        type="button"
        class="cmt-sort"
        data-testid={`cmt-sort-${column}`}
        title={hint && say(hint)}
        onClick={() => session.sortBy(column)}
      >
        {say(label)}
        <span aria-hidden="true">{ARROWS[direction]}</span>
      </button>
    </div>
  );
}
