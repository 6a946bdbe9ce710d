/** Where the boxes are and how the lines between them run: left to right, by @dagrejs/dagre. Pure. */

import { Graph, layout } from "@dagrejs/dagre";
import type { Folded } from "./fold.ts";

export interface Box {
  /** The upper left corner. */
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Line {
  from: number;
  to: number;
  /** An SVG path from the right side of one box to the left side of the other. */
  path: string;
}

export interface Layout {
  /** In the order of the units. */
  boxes: Box[];
  lines: Line[];
  width: number;
  height: number;
}

interface Point {
  x: number;
  y: number;
}

export const BOX_WIDTH = 190;
export const NODE_HEIGHT = 52;
export const STACK_HEIGHT = 72;
const BETWEEN_COLUMNS = 48;
const BETWEEN_ROWS = 16;
const START = "start";
const PULL = 50;
/** From here on the quicker of two ways to put boxes into columns is good enough. */
const MANY = 120;

/** @param tall - whether a unit is drawn as a stack */
export function layOut(folded: Folded, tall: (unit: number) => boolean): Layout {
  const graph = new Graph({ directed: true });
  graph.setGraph({
    rankdir: "LR",
    nodesep: BETWEEN_ROWS,
    edgesep: BETWEEN_ROWS,
    ranksep: BETWEEN_COLUMNS,
    ranker: folded.units.length > MANY ? "longest-path" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  const heights = folded.units.map((_, unit) => (tall(unit) ? STACK_HEIGHT : NODE_HEIGHT));
  heights.forEach((height, unit) => {
    graph.setNode(String(unit), { width: BOX_WIDTH, height });
  });
  for (const [from, to] of folded.edges) graph.setEdge(String(from), String(to));
  // What waits for nothing begins at the left edge: an unseen box before them all pulls them there.
  const later = new Set(folded.edges.map(([, to]) => to));
  graph.setNode(START, { width: 0, height: 0 });
  for (const unit of heights.keys()) if (!later.has(unit)) graph.setEdge(START, String(unit), { weight: PULL });
  layout(graph);
  const places = heights.map((_, unit) => graph.node(String(unit)) as Point);
  const least = (values: number[]) => values.reduce((most, value) => Math.min(most, value), Number.POSITIVE_INFINITY);
  const left = least(places.map(({ x }) => x)) - BOX_WIDTH / 2;
  const top = least(places.map(({ y }, unit) => y - (heights[unit] ?? 0) / 2));
  const boxes = places.map(({ x, y }, unit) => {
    const height = heights[unit] ?? NODE_HEIGHT;
    return { x: Math.round(x - BOX_WIDTH / 2 - left), y: Math.round(y - height / 2 - top), width: BOX_WIDTH, height };
  });
  const lines = folded.edges.flatMap(([from, to]) => {
    const [start, end] = [boxes[from], boxes[to]];
    const points = (graph.edge(String(from), String(to)) as { points?: Point[] }).points ?? [];
    const moved = points.map(({ x, y }) => ({ x: x - left, y: y - top }));
    return start && end ? [{ from, to, path: pathOf(start, end, moved) }] : [];
  });
  return {
    boxes,
    lines,
    width: boxes.reduce((most, box) => Math.max(most, box.x + box.width), 0),
    height: boxes.reduce((most, box) => Math.max(most, box.y + box.height), 0),
  };
}

/** Bends only between columns; past the boxes of a column it runs straight. */
function pathOf(start: Box, end: Box, points: readonly Point[]): string {
  const first = { x: start.x + start.width, y: start.y + start.height / 2 };
  const last = { x: end.x, y: end.y + end.height / 2 };
  // Of what dagre gives, every other point lies in the middle between two columns.
  const passed = points.slice(1, -1).filter((_, index) => index % 2 === 1);
  const stops = passed.flatMap(({ x, y }) => [
    { x: x - BOX_WIDTH / 2, y },
    { x: x + BOX_WIDTH / 2, y },
  ]);
  let at = first;
  let path = `M${at.x} ${round(at.y)}`;
  for (const [index, stop] of [...stops, last].entries()) {
    const middle = round((at.x + stop.x) / 2);
    path +=
      index % 2 === 0
        ? `C${middle} ${round(at.y)} ${middle} ${round(stop.y)} ${round(stop.x)} ${round(stop.y)}`
        : `H${round(stop.x)}`;
    at = stop;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
