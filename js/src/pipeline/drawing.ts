/** The drawing of a graph as it is folded and laid out now; made anew only when the graph, or what is unfolded, changed. */

import { type Folded, fold, type Unit } from "./fold.ts";
import { type Layout, layOut } from "./layout.ts";
import type { RunGraph } from "./run_graph.ts";
import { isStack } from "./unit_look.ts";

export class Drawing {
  folded: Folded = { units: [], edges: [], unitOf: [] };
  layout: Layout = { boxes: [], lines: [], width: 0, height: 0 };
  /** Moves when the boxes are other ones, or elsewhere. */
  version = 0;
  readonly unfolded = new Set<number>();
  private drawnVersion = -1;
  private numbers = new Map<string, number>();

  constructor(private readonly graph: RunGraph) {}

  refresh(): void {
    const { graph } = this;
    if (graph.version === this.drawnVersion) return;
    this.drawnVersion = graph.version;
    const { names, downstream } = graph;
    this.folded = fold({ names, downstream, apart: (node) => graph.isMap(node) }, this.unfolded);
    const { units } = this.folded;
    this.layout = layOut(this.folded, (unit) => units[unit] !== undefined && isStack(graph, units[unit]));
    this.numbers = new Map(units.map((unit, number) => [unit.key, number]));
    this.version += 1;
  }

  /** Shows the nodes of a stack as boxes of their own. */
  unfold(unit: Unit): void {
    for (const node of unit.nodes) this.unfolded.add(node);
    this.drawnVersion = -1;
  }

  foldAgain(): void {
    this.unfolded.clear();
    this.drawnVersion = -1;
  }

  numberOf(key: string | null): number | undefined {
    return key === null ? undefined : this.numbers.get(key);
  }

  unit(key: string | null): Unit | undefined {
    const number = this.numberOf(key);
    return number === undefined ? undefined : this.folded.units[number];
  }

  unitOfNode(node: number | undefined): Unit | undefined {
    return node === undefined ? undefined : this.folded.units[this.folded.unitOf[node] ?? -1];
  }
}
