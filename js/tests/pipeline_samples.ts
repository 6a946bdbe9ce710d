/** Runs for the tests of the graph. */

import { RunGraph } from "../src/pipeline/run_graph.ts";
import type { TaskTable } from "../src/tasks/table.ts";
import type { Counts, GraphPayload } from "../src/wire/protocol.ts";
import { type SampleRow, tableOf } from "./samples.ts";

/** Nodes by name with the names they come after, as the kernel tells of them. */
export function payload(nodes: Record<string, string[]>, maps: string[] = []): GraphPayload {
  const names = Object.keys(nodes);
  const edges = names.flatMap((name, to) => (nodes[name] ?? []).flatMap((above) => [names.indexOf(above), to]));
  return { names, edges, maps: maps.map((name) => names.indexOf(name)), nodes_left: 0, edges_left: 0 };
}

/** What `fold` takes, of the same. */
export function foldable(nodes: Record<string, string[]>, apart: string[] = []) {
  const { names, edges } = payload(nodes);
  const downstream: number[][] = names.map(() => []);
  for (let at = 0; at < edges.length; at += 2) downstream[edges[at] ?? 0]?.push(edges[at + 1] ?? 0);
  return { names, downstream, apart: (node: number) => apart.includes(names[node] ?? "") };
}

/** `length` nodes one after the other. */
export function chainOf(length: number): Record<string, string[]> {
  return Object.fromEntries(Array.from({ length }, (_, n) => [`s${n}`, n ? [`s${n - 1}`] : []]));
}

/** Between one first and one last node, branches of some steps each. */
export function branchesOf(branches: number, steps: number): Record<string, string[]> {
  const nodes: Record<string, string[]> = { first: [] };
  for (let branch = 0; branch < branches; branch += 1) {
    for (let step = 0; step < steps; step += 1) {
      nodes[`part ${branch}.${step}`] = [step ? `part ${branch}.${step - 1}` : "first"];
    }
  }
  nodes.last = Array.from({ length: branches }, (_, branch) => `part ${branch}.${steps - 1}`);
  return nodes;
}

/** A graph over a table whose rows are these nodes and tasks of maps. */
export function graphOf(
  rows: (SampleRow & { node: string })[],
  nodes: Record<string, string[]>,
  maps: Record<string, Counts> = {},
): { graph: RunGraph; table: TaskTable } {
  const table = tableOf(rows.map((row) => ({ name: row.node, ...row })));
  const graph = new RunGraph(table);
  const told = payload(nodes, Object.keys(maps));
  const counts = Object.fromEntries(Object.entries(maps).map(([name, each]) => [told.names.indexOf(name), each]));
  graph.take({ graph: told, maps: counts }, [], true);
  return { graph, table };
}
