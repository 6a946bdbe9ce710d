import { describe, expect, it } from "vitest";
import { fold } from "../src/pipeline/fold.ts";
import { type Layout, layOut, NODE_HEIGHT, STACK_HEIGHT } from "../src/pipeline/layout.ts";
import { walk } from "../src/pipeline/walk.ts";
import { branchesOf, chainOf, foldable } from "./pipeline_samples.ts";

const DIAMOND = { a: [], b: ["a"], c: ["a"], d: ["b", "c"], lone: [], late: ["lone", "d"] };

function laid(nodes: Record<string, string[]>, tall: (unit: number) => boolean = () => false): Layout {
  return layOut(fold(foldable(nodes)), tall);
}

function overlaps({ boxes }: Layout): boolean {
  return boxes.some((a, i) =>
    boxes.some(
      (b, j) => i < j && a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height,
    ),
  );
}

describe("the layout", () => {
  it("runs from left to right, and nothing covers anything", () => {
    for (const nodes of [DIAMOND, chainOf(20), branchesOf(7, 3)]) {
      const layout = laid(nodes);
      for (const { from, to } of layout.lines) {
        const [a, b] = [layout.boxes[from], layout.boxes[to]];
        expect((a?.x ?? 0) + (a?.width ?? 0)).toBeLessThan(b?.x ?? 0);
      }
      expect(overlaps(layout)).toBe(false);
    }
  });

  it("begins at the left edge with all that waits for nothing", () => {
    const { boxes } = laid(DIAMOND);
    expect([boxes[0]?.x, boxes[4]?.x]).toEqual([0, 0]);
    expect(Math.min(...boxes.map((box) => box.y))).toBe(0);
  });

  it("gives stacks more room", () => {
    const { boxes } = laid(DIAMOND, (unit) => unit === 1);
    expect(boxes.map((box) => box.height)).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => (n === 1 ? STACK_HEIGHT : NODE_HEIGHT)),
    );
  });

  it("leads each line from the right side of one box to the left side of another", () => {
    const layout = laid(DIAMOND);
    expect(layout.lines.length).toBe(6);
    for (const { from, to, path } of layout.lines) {
      const [a, b] = [layout.boxes[from], layout.boxes[to]];
      if (!a || !b) throw new Error("no box");
      expect(path.startsWith(`M${a.x + a.width} ${a.y + a.height / 2}`)).toBe(true);
      const end = path.endsWith(`${b.x} ${b.y + b.height / 2}`) || path.endsWith(`H${b.x}`);
      expect(end).toBe(true);
    }
  });

  it("takes nodes without any edge", () => {
    const layout = laid({ a: [], b: [], c: [] });
    expect(new Set(layout.boxes.map((box) => box.x))).toEqual(new Set([0]));
    expect(overlaps(layout)).toBe(false);
  });
});

describe("the arrow keys", () => {
  const layout = laid(DIAMOND);
  const upper = (layout.boxes[1]?.y ?? 0) < (layout.boxes[2]?.y ?? 0) ? 1 : 2;

  it("walk along the lines and up and down a column", () => {
    expect([1, 2]).toContain(walk(layout, 0, "ArrowRight"));
    expect(walk(layout, upper, "ArrowDown")).toBe(3 - upper);
    expect(walk(layout, 3 - upper, "ArrowUp")).toBe(upper);
    expect(walk(layout, 1, "ArrowRight")).toBe(3);
    expect(walk(layout, 1, "ArrowLeft")).toBe(0);
    expect(walk(layout, 5, "Home")).not.toBe(5);
    expect(walk(layout, 0, "End")).toBe(5);
  });

  it("stop at the edges, and leave other keys alone", () => {
    expect(walk(layout, 0, "ArrowLeft")).toBeNull();
    expect(walk(layout, 5, "ArrowRight")).toBeNull();
    expect(walk(layout, 0, "x")).toBeUndefined();
  });
});
