/** What a box says of its node, or of all that it stands for. Pure. */

import { count, percent } from "../format.ts";
import { elapsedMs, fraction } from "../tasks/order.ts";
import { plain, trouble } from "../tasks/row_text.ts";
import { statusCountdown } from "../tasks/status_text.ts";
import { ACTIVE, ENDED, GROUPS, STATUS_LOOKS, type StatusLook } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import type { Counts, Status } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { nameOf, type Unit } from "./fold.ts";
import type { RunGraph } from "./run_graph.ts";

export interface UnitLook {
  name: string;
  /** Null: its row has not come yet. */
  look: StatusLook | null;
  /** Under the name: how it stands, in words. */
  words: string;
  /** How far a node has come, as a part of 1; null: no bar. */
  part: number | null;
  /** Milliseconds it has taken; null: it has not begun, or that is not known. */
  time: number | null;
  /** Whether the time still grows. */
  counting: boolean;
  /** Of a stack: what it holds. */
  stack: { size: number; counts: Counts } | null;
}

/** What a stack is shown as: the first of these that is in it. */
const WORST_FIRST: readonly Status[] = [
  "failed",
  "lost",
  "running",
  "starting",
  "stopping",
  "pausing",
  "paused",
  "retry_wait",
  "queued",
  "blocked",
  "pending",
  "cancelled",
  "stopped",
  "succeeded",
  "skipped",
];

const IN_ORDER = GROUPS.flatMap((group) => group.statuses);

export function isStack(graph: RunGraph, unit: Unit): boolean {
  return unit.kind !== "node" || graph.isMap(unit.nodes[0] ?? -1);
}

export function lookOf(graph: RunGraph, table: TaskTable, unit: Unit): UnitLook {
  const name = nameOf(unit, graph.names);
  return isStack(graph, unit) ? stackLook(graph, table, unit, name) : nodeLook(graph, table, unit, name);
}

function nodeLook(graph: RunGraph, table: TaskTable, unit: Unit, name: string): UnitLook {
  const row = graph.rowOf(unit.nodes[0] ?? -1);
  if (row === undefined) {
    return { name, look: null, words: say("not told yet"), part: null, time: null, counting: false, stack: null };
  }
  const status = table.status(row);
  const part = ENDED.has(status) ? null : fraction(table, row);
  return {
    name,
    look: STATUS_LOOKS[status],
    words: part !== null && status === "running" ? percent(part) : nodeWords(table, row, status),
    part,
    time: elapsedMs(table, row, table.now()),
    counting: ACTIVE.has(status),
    stack: null,
  };
}

/** "failed · ValueError: bad header", "running · reading part 3", "done". */
function nodeWords(table: TaskTable, row: number, status: Status): string {
  const told = status === "succeeded" ? null : (trouble(table, row) ?? plain(table, row));
  return [statusCountdown(table, row, table.now()), told?.text].filter(Boolean).join(" · ");
}

function stackLook(graph: RunGraph, table: TaskTable, unit: Unit, name: string): UnitLook {
  const counts = countsOf(graph, unit);
  const size = unit.kind === "node" ? total(counts) : unit.nodes.length;
  const worst = WORST_FIRST.find((status) => counts[status]);
  return {
    name,
    look: worst === undefined ? null : STATUS_LOOKS[worst],
    words: countWords(counts, size),
    part: null,
    time: spanOf(graph, table, unit),
    counting: [...ACTIVE].some((status) => counts[status]),
    stack: { size, counts },
  };
}

/** Of a map the tasks are counted, of any other stack the nodes in it. */
export function countsOf(graph: RunGraph, unit: Unit): Counts {
  if (unit.kind === "node") return graph.countsOf(unit.nodes[0] ?? -1);
  const counts: Counts = {};
  for (const node of unit.nodes) {
    const status = graph.status(node);
    if (status !== undefined) counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}

/** "312 done, 3 failed, 8 running". */
export function countWords(counts: Counts, size: number): string {
  const parts = IN_ORDER.filter((status) => counts[status]).map(
    (status) => `${count(counts[status] ?? 0)} ${say(STATUS_LOOKS[status].word).replace("…", "")}`,
  );
  const unknown = size - total(counts);
  if (unknown > 0) parts.push(say("{count} not told yet", { count: count(unknown) }));
  return parts.join(", ");
}

/** From the first start in a stack to its last end, or to now; null where not all of its rows are known. */
function spanOf(graph: RunGraph, table: TaskTable, unit: Unit): number | null {
  const rows = rowsIn(graph, unit);
  const [map = -1] = unit.nodes;
  const known = unit.kind === "node" ? rows.length === total(graph.countsOf(map)) : rows.length === unit.nodes.length;
  if (!known) return null;
  const { started, ended } = table.columns;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  let running = false;
  for (const row of rows) {
    const begun = started[row] ?? null;
    if (begun === null) continue;
    first = Math.min(first, begun);
    last = Math.max(last, ended[row] ?? begun);
    running ||= ACTIVE.has(table.status(row));
  }
  return first === Number.POSITIVE_INFINITY ? null : Math.max((running ? table.now() : last) - first, 0);
}

/** The rows that a box stands for: of a map its tasks, of any other stack its nodes. */
export function rowsIn(graph: RunGraph, unit: Unit): readonly number[] {
  if (unit.kind === "node" && graph.isMap(unit.nodes[0] ?? -1)) return graph.tasksOf(unit.nodes[0] ?? -1);
  return unit.nodes.flatMap((node) => graph.rowOf(node) ?? []);
}
