/** Which chain of nodes decided how long a run took: seen from its end, always the one that was waited for last. Pure. */

import type { TaskTable } from "../tasks/table.ts";
import type { RunGraph } from "./run_graph.ts";

export interface Spans {
  upstream: readonly (readonly number[])[];
  /** When a node began and ended, in milliseconds; null: it did not. */
  started: (node: number) => number | null;
  ended: (node: number) => number | null;
}

export interface CriticalPath {
  /** First to last. */
  nodes: number[];
  /** Milliseconds from the start of the first to the end of the last. */
  took: number;
  /** How much of that nothing on the path ran. */
  waited: number;
}

/** Times cross in whole milliseconds: what followed at once may seem to have begun one before. */
const ROUNDING_MS = 1;

/** The path of a run that has ended; null when nothing ran in it. */
export function criticalPath({ upstream, started, ended }: Spans): CriticalPath | null {
  const ran = (node: number) => started(node) !== null && ended(node) !== null;
  const latest = (nodes: readonly number[]): number | null =>
    nodes.reduce<number | null>(
      (best, node) => (ran(node) && (best === null || (ended(node) ?? 0) > (ended(best) ?? 0)) ? node : best),
      null,
    );
  const last = latest(upstream.map((_, node) => node));
  if (last === null) return null;
  const nodes = [last];
  let waited = 0;
  for (let node = last; ; ) {
    const began = started(node) ?? 0;
    const before = latest((upstream[node] ?? []).filter((each) => (ended(each) ?? Infinity) <= began + ROUNDING_MS));
    if (before === null) {
      return { nodes: nodes.reverse(), took: (ended(last) ?? 0) - began, waited };
    }
    waited += Math.max(began - (ended(before) ?? 0), 0);
    nodes.push(before);
    node = before;
  }
}

/** When the nodes of a run began and ended. A map begins with the first of its tasks: its own record only ends with them. */
export function spansOf(graph: RunGraph, table: TaskTable): Spans {
  const { started, ended } = table.columns;
  const begun = graph.names.map((_, node) => {
    if (!graph.isMap(node)) return started[graph.rowOf(node) ?? -1] ?? null;
    const starts = graph.tasksOf(node).flatMap((row) => started[row] ?? []);
    return starts.length === 0 ? null : starts.reduce((first, at) => Math.min(first, at));
  });
  return {
    upstream: graph.upstream,
    started: (node) => begun[node] ?? null,
    ended: (node) => ended[graph.rowOf(node) ?? -1] ?? null,
  };
}
