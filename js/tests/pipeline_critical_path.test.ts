import { describe, expect, it } from "vitest";
import { criticalPath, spansOf } from "../src/pipeline/critical_path.ts";
import { graphOf } from "./pipeline_samples.ts";

/** Nodes by number: what they come after, when they began, when they ended. */
function pathOf(nodes: [number[], number | null, number | null][]) {
  return criticalPath({
    upstream: nodes.map(([above]) => above),
    started: (node) => nodes[node]?.[1] ?? null,
    ended: (node) => nodes[node]?.[2] ?? null,
  });
}

describe("the critical path", () => {
  it("goes back from the last end, always to what was waited for last", () => {
    const path = pathOf([
      [[], 0, 10],
      [[0], 10, 15],
      [[0], 10, 90],
      [[1, 2], 92, 100],
    ]);
    expect(path).toEqual({ nodes: [0, 2, 3], took: 100, waited: 2 });
  });

  it("ends where the run ended last, not at the deepest node", () => {
    expect(
      pathOf([
        [[], 0, 5],
        [[0], 5, 8],
        [[], 0, 50],
      ])?.nodes,
    ).toEqual([2]);
  });

  it("leaves out what never ran", () => {
    expect(
      pathOf([
        [[], 0, 5],
        [[0], null, 6],
        [[0], 5, 7],
      ])?.nodes,
    ).toEqual([0, 2]);
  });

  it("does not lead through what ended after the node had begun: it was not waited for", () => {
    expect(
      pathOf([
        [[], 0, 60],
        [[], 0, 5],
        [[0, 1], 5, 70],
      ])?.nodes,
    ).toEqual([1, 2]);
  });

  it("bears times that were rounded", () => {
    expect(
      pathOf([
        [[], 0, 11],
        [[0], 10, 20],
      ])?.nodes,
    ).toEqual([0, 1]);
  });

  it("is none where nothing ran", () => {
    expect(
      pathOf([
        [[], null, null],
        [[0], null, 6],
      ]),
    ).toBeNull();
    expect(pathOf([])).toBeNull();
  });

  it("takes a map for as long as its tasks, though its own record only ends with them", () => {
    const { graph, table } = graphOf(
      [
        { node: "a", status: "succeeded", started: 0, ended: 10 },
        { node: "m", status: "succeeded", started: 50, ended: 51 },
        { node: "m[0]", status: "succeeded", started: 11, ended: 50 },
        { node: "m[1]", status: "succeeded", started: 12, ended: 20 },
      ],
      { a: [], m: ["a"] },
      { m: { succeeded: 2 } },
    );
    expect(criticalPath(spansOf(graph, table))).toEqual({ nodes: [0, 1], took: 51, waited: 1 });
  });
});
