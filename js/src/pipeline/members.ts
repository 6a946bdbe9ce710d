/** What a stack holds, as a list: what went wrong first, then what is at work, then what waits, then what has ended. */

import { ACTIVE, ENDED } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import type { Unit } from "./fold.ts";
import type { RunGraph } from "./run_graph.ts";
import { rowsIn } from "./unit_look.ts";

export const MEMBER_HEIGHT = 28;
export const MEMBERS_IN_SIGHT = 7;
/** Longer lists are put in order at most once a second. */
const LONG = 5000;

export class Members {
  /** The rows that exist on the screen. */
  inSight: readonly number[] = [];
  private order: readonly number[] = [];
  private known = { key: "", version: -1, at: 0, length: -1 };

  constructor(
    private readonly table: TaskTable,
    private readonly graph: RunGraph,
    private readonly now: () => number,
  ) {}

  of(unit: Unit): readonly number[] {
    const { table, known } = this;
    const rows = rowsIn(this.graph, unit);
    const same = known.key === unit.key && known.length === rows.length;
    const soon = rows.length > LONG && known.key === unit.key && this.now() - known.at < 1000;
    if (soon || (same && known.version === table.orderVersion)) return this.order;
    const ranked = rows.map((row) => ({ row, rank: this.rank(row) }));
    ranked.sort((a, b) => a.rank - b.rank || a.row - b.row);
    this.order = ranked.map(({ row }) => row);
    this.known = { key: unit.key, version: table.orderVersion, at: this.now(), length: rows.length };
    return this.order;
  }

  private rank(row: number): number {
    const status = this.table.status(row);
    if (status === "failed" || status === "lost") return 0;
    if (ACTIVE.has(status)) return 1;
    return ENDED.has(status) ? 3 : 2;
  }

  /** The row that a key leads to; undefined: it does not walk. */
  after(key: string, row: number | null): number | undefined {
    const here = row === null ? -1 : this.order.indexOf(row);
    const last = this.order.length - 1;
    const places: Record<string, number> = {
      ArrowDown: Math.min(here + 1, last),
      ArrowUp: Math.max(here - 1, 0),
      PageDown: Math.min(Math.max(here, 0) + MEMBERS_IN_SIGHT, last),
      PageUp: Math.max(here - MEMBERS_IN_SIGHT, 0),
      Home: 0,
      End: last,
    };
    return this.order[places[key] ?? -1];
  }
}
