import { describe, expect, it } from "vitest";
import { fitted, heightFor, held, LARGEST, MARGIN, opening, revealing, zoomed } from "../src/pipeline/camera.ts";

const VIEW = { width: 800, height: 400 };
const BOX = { x: 5000, y: 100, width: 200, height: 50 };

describe("the camera", () => {
  it("shows all of a drawing in the middle, and never larger than it is", () => {
    expect(fitted({ width: 380, height: 100 }, VIEW)).toEqual({ scale: 1, x: 210, y: 150 });
    const { scale, x } = fitted({ width: 1520, height: 100 }, VIEW);
    expect([scale, x]).toEqual([0.5, MARGIN]);
  });

  it("opens with a part of what would be too small to read: the surroundings of a box", () => {
    const world = { width: 40_000, height: 200 };
    const camera = opening(world, VIEW, BOX);
    const middle = camera.x + (BOX.x + BOX.width / 2) * camera.scale;
    expect(camera.scale).toBeGreaterThan(0.5);
    expect(middle).toBeCloseTo(400);
    expect(opening(world, VIEW, { ...BOX, x: 0 }).x).toBe(MARGIN);
  });

  it("zooms about a point, within bounds", () => {
    const camera = { scale: 1, x: 10, y: 20 };
    const near = zoomed(camera, 1.5, { x: 100, y: 50 }, 0.1);
    const there = (c: typeof camera, x: number) => (x - c.x) / c.scale;
    expect(there(near, 100)).toBeCloseTo(there(camera, 100));
    expect(zoomed(camera, 100, { x: 0, y: 0 }, 0.1).scale).toBe(LARGEST);
    expect(zoomed(camera, 0.001, { x: 0, y: 0 }, 0.1).scale).toBe(0.1);
  });

  it("never loses the drawing, and moves no more than needed to show a box", () => {
    const world = { width: 1000, height: 300 };
    const lost = held({ scale: 1, x: 99_999, y: -99_999 }, world, VIEW);
    expect(lost.x).toBeLessThan(VIEW.width);
    expect(lost.y).toBeGreaterThan(-300);
    const seen = { scale: 1, x: 0, y: 0 };
    expect(revealing(seen, { x: 100, y: 100, width: 200, height: 50 }, VIEW)).toEqual(seen);
    expect(revealing(seen, { x: 900, y: 100, width: 200, height: 50 }, VIEW).x).toBe(800 - MARGIN - 1100);
    expect(revealing(seen, { x: -50, y: 100, width: 200, height: 50 }, VIEW).x).toBe(MARGIN + 50);
  });

  it("is as high as the drawing needs, within bounds", () => {
    expect(heightFor({ width: 700, height: 200 }, 800)).toBe(240);
    expect(heightFor({ width: 700, height: 20 }, 800)).toBe(132);
    expect(heightFor({ width: 700, height: 5000 }, 800)).toBe(480);
  });
});
