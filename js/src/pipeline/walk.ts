/** Where the arrow keys lead from one box to the next. Pure. */

import type { Box, Layout } from "./layout.ts";

type Direction = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

const KEYS: ReadonlySet<string> = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);
/** How much more a step aside counts than one ahead. */
const ASIDE = 2;

/** The box a key leads to; null: there is none that way; undefined: the key does not walk. */
export function walk(layout: Layout, from: number, key: string): number | null | undefined {
  if (!KEYS.has(key)) return undefined;
  if (key === "Home" || key === "End") return outermost(layout, key);
  const joined = key === "ArrowRight" || key === "ArrowLeft" ? along(layout, from, key) : [];
  return nearest(layout, from, key as Direction, joined) ?? nearest(layout, from, key as Direction, all(layout));
}

function all(layout: Layout): number[] {
  return layout.boxes.map((_, unit) => unit);
}

function along({ lines }: Layout, from: number, key: "ArrowLeft" | "ArrowRight"): number[] {
  return key === "ArrowRight"
    ? lines.filter((line) => line.from === from).map((line) => line.to)
    : lines.filter((line) => line.to === from).map((line) => line.from);
}

function outermost({ boxes }: Layout, key: "Home" | "End"): number | null {
  const sign = key === "Home" ? 1 : -1;
  const order = boxes.map((box, unit) => ({ unit, box }));
  order.sort((a, b) => sign * (a.box.x - b.box.x) || a.box.y - b.box.y);
  return order[0]?.unit ?? null;
}

function nearest({ boxes }: Layout, from: number, key: Direction, candidates: readonly number[]): number | null {
  const here = boxes[from];
  if (!here) return null;
  let best: { unit: number; far: number } | null = null;
  for (const unit of candidates) {
    const box = boxes[unit];
    const far = box && unit !== from ? distance(here, box, key) : null;
    if (far !== null && far !== undefined && (best === null || far < best.far)) best = { unit, far };
  }
  return best?.unit ?? null;
}

/** How far a box is in a direction; null: it is not that way. */
function distance(here: Box, there: Box, key: Direction): number | null {
  const dx = there.x + there.width / 2 - (here.x + here.width / 2);
  const dy = there.y + there.height / 2 - (here.y + here.height / 2);
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  const ahead = (sideways ? dx : dy) * (key === "ArrowRight" || key === "ArrowDown" ? 1 : -1);
  const aside = Math.abs(sideways ? dy : dx);
  // Up and down stay within a column.
  if (ahead <= 1 || (!sideways && aside > there.width / 2)) return null;
  return ahead + aside * ASIDE;
}
