import { describe, expect, it } from "vitest";
import { DRAWN_WHOLE, depths, type Folded, fold, MOST_EDGES, MOST_UNITS, nameOf } from "../src/pipeline/fold.ts";
import { branchesOf, chainOf, foldable } from "./pipeline_samples.ts";

/** Every node is in exactly one unit, and every edge of the graph is in one or within one. */
function complete(folded: Folded, nodes: number, downstream: readonly (readonly number[])[]): void {
  expect(folded.units.flatMap((unit) => unit.nodes).sort((a, b) => a - b)).toEqual([...Array(nodes).keys()]);
  const drawn = new Set(folded.edges.map(([from, to]) => `${from} ${to}`));
  downstream.forEach((below, node) => {
    for (const each of below) {
      const [from, to] = [folded.unitOf[node], folded.unitOf[each]];
      expect(from === to || drawn.has(`${from} ${to}`)).toBe(true);
    }
  });
  expect(new Set(folded.units.map((unit) => unit.key)).size).toBe(folded.units.length);
}

const tangle = (columns: number, rows: number) =>
  Object.fromEntries(
    Array.from({ length: columns * rows }, (_, n) => {
      const column = Math.floor(n / rows);
      const above = [0, 1, 2].map((k) => (column - 1) * rows + ((n * 7 + k * ((column % 5) + 1)) % rows));
      return [`n${n}`, column === 0 ? [] : [...new Set(above)].map((each) => `n${each}`)];
    }),
  );

describe("fold", () => {
  it("leaves a small graph as it is", () => {
    const graph = foldable(branchesOf(5, 4));
    const folded = fold(graph);
    expect(folded.units.map((unit) => unit.kind)).toEqual(Array(22).fill("node"));
    complete(folded, 22, graph.downstream);
  });

  it("makes a few stacks of a chain of a thousand, in its order", () => {
    const graph = foldable(chainOf(1000));
    const folded = fold(graph);
    expect(folded.units.map((unit) => unit.nodes.length)).toEqual([167, 167, 167, 167, 167, 165]);
    expect(folded.edges).toEqual([0, 1, 2, 3, 4].map((unit) => [unit, unit + 1]));
    complete(folded, 1000, graph.downstream);
  });

  it("makes one stack of branches that are alike", () => {
    const graph = foldable(branchesOf(100, 3));
    const folded = fold(graph);
    expect(folded.units.map(({ kind, nodes }) => [kind, nodes.length])).toEqual([
      ["node", 1],
      ["twins", 300],
      ["node", 1],
    ]);
    complete(folded, 302, graph.downstream);
  });

  it("keeps maps apart", () => {
    const graph = foldable(chainOf(100), ["s50"]);
    const folded = fold(graph);
    expect(folded.units.find((unit) => unit.nodes.includes(50))).toMatchObject({ kind: "node", key: "s50" });
    complete(folded, 100, graph.downstream);
  });

  it("shows what a stack holds when it is unfolded, and the rest as before", () => {
    const graph = foldable(chainOf(200));
    const [first] = fold(graph).units;
    const folded = fold(graph, new Set(first?.nodes));
    expect(folded.units.slice(0, 50).map((unit) => unit.key)).toEqual(graph.names.slice(0, 50));
    expect(folded.units.length).toBe(53);
    complete(folded, 200, graph.downstream);
  });

  it("never draws more than can be laid out, whatever the graph is like", () => {
    for (const nodes of [tangle(20, 15), tangle(200, 15), tangle(3, 900)]) {
      const graph = foldable(nodes);
      const folded = fold(graph);
      expect(folded.units.length).toBeLessThanOrEqual(MOST_UNITS);
      expect(folded.edges.length).toBeLessThanOrEqual(MOST_EDGES);
      complete(folded, graph.names.length, graph.downstream);
    }
  });

  it("goes round in no cycle: what it draws has none", () => {
    const zigzag: Record<string, string[]> = { "a 0": [] };
    for (let n = 1; n < 60; n += 1)
      zigzag[`${"ab"[n % 2]} ${n}`] = [
        `${"ab"[(n - 1) % 2]} ${n - 1}`,
        ...(n > 3 ? [`${"ab"[(n - 3) % 2]} ${n - 3}`] : []),
      ];
    for (const nodes of [tangle(30, 20), branchesOf(60, 5), zigzag]) {
      const { units, edges } = fold(foldable(nodes));
      const below: number[][] = units.map(() => []);
      for (const [from, to] of edges) below[from]?.push(to);
      const depth = depths(below);
      for (const [from, to] of edges) expect(depth[to]).toBeGreaterThan(depth[from] ?? 0);
    }
  });

  it("puts together what is called alike in branches that differ, as long as no circle comes of it", () => {
    const nodes: Record<string, string[]> = { begin: [] };
    for (let n = 0; n < 9; n += 1) {
      nodes[`read_${n}`] = ["begin"];
      nodes[`fix_${n}`] = n % 2 ? [`read_${n}`] : [`read_${n}`, `read_${(n + 1) % 9}`];
      nodes[`load_${n}`] = n % 3 ? [`fix_${n}`] : [`fix_${n}`, `read_${(n + 4) % 9}`];
    }
    nodes.end = Array.from({ length: 9 }, (_, n) => `load_${n}`);
    const graph = foldable(nodes);
    const folded = fold(graph);
    expect(folded.units.map(({ kind, nodes: held }) => [kind, held.length])).toContainEqual(["kin", 9]);
    expect(folded.units.length).toBeLessThanOrEqual(DRAWN_WHOLE);
    complete(folded, graph.names.length, graph.downstream);
  });

  it("folds only as far as it must", () => {
    expect(fold(foldable(branchesOf(10, 6))).units.length).toBeGreaterThan(8);
    expect(fold(foldable(branchesOf(10, 6))).units.length).toBeLessThanOrEqual(DRAWN_WHOLE);
  });
});

describe("the name of a stack", () => {
  const names = ["part 1", "part 2", "clean", "report"];
  it("is what the names have in common, or the ends", () => {
    expect(nameOf({ key: "", kind: "twins", nodes: [0, 1] }, names)).toBe("part…");
    expect(nameOf({ key: "", kind: "twins", nodes: [2, 3] }, names)).toBe("clean, …");
    expect(nameOf({ key: "", kind: "chain", nodes: [2, 3] }, names)).toBe("clean → report");
    expect(nameOf({ key: "", kind: "node", nodes: [3] }, names)).toBe("report");
  });
});
