/** The graph of a run as the browser knows it, and which rows of the table belong to which node. No DOM. */

import type { TaskTable } from "../tasks/table.ts";
import type { Counts, GraphPayload, RunState, Status } from "../wire/protocol.ts";

const OF_MAP = /^(.*)\[\d+\]$/s;

export class RunGraph {
  names: readonly string[] = [];
  upstream: number[][] = [];
  downstream: number[][] = [];
  nodesLeft = 0;
  edgesLeft = 0;
  /** Moves when nodes or edges came. */
  version = 0;
  private numbers = new Map<string, number>();
  private counts = new Map<number, Counts>();
  private rows: (number | undefined)[] = [];
  private tasks = new Map<number, number[]>();
  private placed = new Set<number>();

  constructor(private readonly table: TaskTable) {}

  get size(): number {
    return this.names.length;
  }

  /** Takes in a message's news; the table has had it already. `anew`: the rows may be others than before. */
  take(news: RunState, changed: Iterable<number>, anew: boolean): void {
    if (anew) this.counts.clear();
    for (const [node, counts] of Object.entries(news.maps ?? {})) this.counts.set(Number(node), counts);
    if (news.graph) this.draw(news.graph);
    if (news.graph || anew) this.placeAll();
    else for (const row of changed) this.place(row);
  }

  private draw(graph: GraphPayload): void {
    this.names = graph.names;
    this.nodesLeft = graph.nodes_left;
    this.edgesLeft = graph.edges_left;
    this.numbers = new Map(graph.names.map((name, node) => [name, node]));
    this.upstream = graph.names.map(() => []);
    this.downstream = graph.names.map(() => []);
    for (let at = 0; at + 1 < graph.edges.length; at += 2) {
      const from = graph.edges[at] ?? -1;
      const to = graph.edges[at + 1] ?? -1;
      this.downstream[from]?.push(to);
      this.upstream[to]?.push(from);
    }
    this.version += 1;
  }

  private placeAll(): void {
    this.rows = this.names.map(() => undefined);
    this.tasks.clear();
    this.placed.clear();
    for (let row = 0; row < this.table.size; row += 1) this.place(row);
  }

  private place(row: number): void {
    const name = this.table.columns.node[row];
    if (name == null || this.placed.has(row)) return;
    const node = this.numbers.get(name);
    const map = node === undefined ? this.numbers.get(OF_MAP.exec(name)?.[1] ?? "") : undefined;
    if (node !== undefined) this.rows[node] = row;
    else if (map !== undefined) this.tasksList(map).push(row);
    else return;
    this.placed.add(row);
  }

  private tasksList(map: number): number[] {
    const known = this.tasks.get(map) ?? [];
    this.tasks.set(map, known);
    return known;
  }

  /** The row of a node; undefined while it has not come. */
  rowOf(node: number): number | undefined {
    return this.rows[node];
  }

  /** How a node stands; undefined while its row has not come. */
  status(node: number): Status | undefined {
    const row = this.rows[node];
    return row === undefined ? undefined : this.table.status(row);
  }

  /** Whether a node stands for tasks. */
  isMap(node: number): boolean {
    return this.counts.has(node);
  }

  /** How many tasks of a map are in each status, all of them counted, also those whose rows have not come. */
  countsOf(map: number): Counts {
    return this.counts.get(map) ?? {};
  }

  /** The rows of the tasks of a map, as far as they have come. */
  tasksOf(map: number): readonly number[] {
    return this.tasks.get(map) ?? [];
  }

  /** The node a row belongs to, itself or as a task of a map. */
  nodeOf(row: number): number | undefined {
    const name = this.table.columns.node[row] ?? "";
    return this.numbers.get(name) ?? this.numbers.get(OF_MAP.exec(name)?.[1] ?? "");
  }

  /** All that comes after some nodes, near first. */
  below(nodes: readonly number[]): number[] {
    const found: number[] = [];
    const seen = new Set(nodes);
    const next = [...nodes];
    for (let at = 0; at < next.length; at += 1) {
      for (const node of this.downstream[next[at] ?? -1] ?? []) {
        if (seen.has(node)) continue;
        seen.add(node);
        found.push(node);
        next.push(node);
      }
    }
    return found;
  }
}
