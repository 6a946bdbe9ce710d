/**
 * Makes a large graph small enough to read: what runs one after the other, or side by side between the same neighbours,
 * becomes one stack, again and again; where that is not enough, what is called alike does, and at last whole columns.
 * Pure.
 */

export type UnitKind = "node" | "chain" | "twins" | "kin" | "column";

/** What is drawn as one box. */
export interface Unit {
  /** The same for the same nodes, however often the graph is folded anew. */
  key: string;
  kind: UnitKind;
  nodes: readonly number[];
}

export interface Folded {
  units: Unit[];
  /** From one unit to another, each pair once. */
  edges: [number, number][];
  /** The unit of each node. */
  unitOf: number[];
}

export interface Foldable {
  names: readonly string[];
  downstream: readonly (readonly number[])[];
  /** Nodes that stay boxes of their own as long as that is possible. */
  apart: (node: number) => boolean;
}

/** Up to so many nodes are drawn as they are. */
export const DRAWN_WHOLE = 24;
/** What the layout can bear, and an eye. */
export const MOST_UNITS = 120;
export const MOST_EDGES = 360;
const MOST_COLUMNS = 60;
/** Fewer side by side are read faster than a stack of them. */
const FEWEST_TWINS = 4;
/** What tells apart what is called alike: "part 12", "load_3". */
const TAIL = /[\s._\-/:0-9[(]+$/u;
const FEWEST_IN_CHAIN = 3;
/** A name that a quarter of all have says nothing. */
const MOST_ALIKE = 4;
/** Each try takes as long as the graph is large. */
const MOST_TRIED = 150;
const CHAIN_PIECE = 50;
const MOST_PIECES = 6;

/** @param unfolded - nodes that are boxes of their own because somebody wants to see them */
export function fold(graph: Foldable, unfolded: ReadonlySet<number> = new Set()): Folded {
  const { names, apart } = graph;
  const enough = DRAWN_WHOLE + unfolded.size;
  let folded = whole(graph);
  if (names.length <= enough) return folded;
  folded = reduce(graph, folded, enough, (node) => unfolded.has(node) || apart(node));
  if (!fits(folded, unfolded.size)) folded = reduce(graph, folded, enough, (node) => unfolded.has(node));
  return fits(folded, unfolded.size) ? folded : columns(graph);
}

function fits({ units, edges }: Folded, unfolded: number): boolean {
  return units.length <= MOST_UNITS + unfolded && edges.length <= MOST_EDGES;
}

function whole(graph: Foldable): Folded {
  return join(
    graph,
    graph.names.map((_, node) => ({ kind: "node" as const, nodes: [node] })),
  );
}

type Part = Pick<Unit, "kind" | "nodes">;

/** Units of these parts, with the edges between them. */
function join(graph: Foldable, parts: readonly Part[]): Folded {
  const units = parts.map((part) => ({ ...part, key: keyOf(graph, part) }));
  const unitOf: number[] = [];
  units.forEach((unit, number) => {
    for (const node of unit.nodes) unitOf[node] = number;
  });
  const seen = new Set<number>();
  const edges: [number, number][] = [];
  graph.downstream.forEach((below, node) => {
    const from = unitOf[node] ?? 0;
    for (const each of below) {
      const to = unitOf[each] ?? 0;
      const pair = from * units.length + to;
      if (from === to || seen.has(pair)) continue;
      seen.add(pair);
      edges.push([from, to]);
    }
  });
  return { units, edges, unitOf };
}

function keyOf(graph: Foldable, { kind, nodes }: Part): string {
  const [first = 0] = nodes;
  const name = graph.names[first] ?? "";
  return kind === "node" ? name : `${kind} ${nodes.length} ${name} ${graph.names[nodes.at(-1) ?? 0] ?? ""}`;
}

/** Makes stacks until there are few enough boxes, or nothing more to stack. */
function reduce(graph: Foldable, start: Folded, enough: number, apart: (node: number) => boolean): Folded {
  const alone = (unit: Unit) => unit.kind === "node" && apart(unit.nodes[0] ?? 0);
  let folded = start;
  for (;;) {
    const before = folded;
    for (const groupsOf of [chains, twins, kin]) {
      if (folded.units.length <= enough) return folded;
      if (groupsOf === kin && folded !== before) continue; // what is alike in its place comes first
      folded = merge(graph, folded, groupsOf(folded, alone, graph.names));
    }
    if (folded === before) return folded;
  }
}

interface Group {
  kind: UnitKind;
  units: number[];
}

/** Puts the units of each group into one, at the place of its first. */
function merge(graph: Foldable, folded: Folded, groups: readonly Group[]): Folded {
  const parts: (Part | null)[] = [...folded.units];
  for (const { kind, units } of groups) {
    const nodes = units.flatMap((unit) => folded.units[unit]?.nodes ?? []);
    for (const unit of units) parts[unit] = null;
    parts[units[0] ?? 0] = { kind, nodes };
  }
  const left = parts.filter((part) => part !== null);
  return groups.length === 0 ? folded : join(graph, left);
}

function neighbours({ units, edges }: Folded): { above: number[][]; below: number[][] } {
  const above: number[][] = units.map(() => []);
  const below: number[][] = units.map(() => []);
  for (const [from, to] of edges) {
    below[from]?.push(to);
    above[to]?.push(from);
  }
  return { above, below };
}

/** Units that follow each other with nothing else in between. */
function chains(folded: Folded, apart: (unit: Unit) => boolean): Group[] {
  const { above, below } = neighbours(folded);
  const { units } = folded;
  const next = units.map((unit, number) => {
    const [only] = below[number] ?? [];
    if (only === undefined || below[number]?.length !== 1 || above[only]?.length !== 1) return null;
    const follower = units[only];
    if (apart(unit) || follower === undefined || apart(follower)) return null;
    return unit.kind === "chain" && follower.kind === "chain" ? null : only; // pieces of one that was too long
  });
  const follows = new Set(next);
  const found: Group[] = [];
  units.forEach((_, first) => {
    if (follows.has(first)) return;
    const chain = [first];
    for (let at = next[first] ?? null; at !== null; at = next[at] ?? null) chain.push(at);
    const size = chain.reduce((sum, unit) => sum + (units[unit]?.nodes.length ?? 0), 0);
    if (chain.length > 1 && size >= FEWEST_IN_CHAIN) found.push(...pieces(chain, size));
  });
  return found;
}

/** A long chain becomes several stacks: so one sees where in it the run is. */
function pieces(chain: readonly number[], size: number): Group[] {
  const length = Math.ceil(chain.length / Math.min(Math.ceil(size / CHAIN_PIECE), MOST_PIECES));
  const found: Group[] = [];
  for (let at = 0; at < chain.length; at += length) found.push({ kind: "chain", units: chain.slice(at, at + length) });
  return found.filter((group) => group.units.length > 1);
}

/** Units of one kind and size that come after the same ones and before the same ones. */
function twins(folded: Folded, apart: (unit: Unit) => boolean): Group[] {
  const { above, below } = neighbours(folded);
  const groups = new Map<string, number[]>();
  folded.units.forEach((unit, number) => {
    if (apart(unit)) return;
    const place = [above[number], below[number]].map((ends) => [...(ends ?? [])].sort((a, b) => a - b).join());
    const sort = unit.kind === "chain" ? `chain ${unit.nodes.length}` : "";
    const key = [sort, ...place].join(";");
    push(groups, key, number);
  });
  return [...groups.values()]
    .filter((units) => units.length >= FEWEST_TWINS)
    .map((units) => ({ kind: "twins" as const, units }));
}

/** Units that are called alike, as long as what is drawn goes round in no circle. */
function kin({ units, edges }: Folded, apart: (unit: Unit) => boolean, names: readonly string[]): Group[] {
  const below: number[][] = units.map(() => []);
  for (const [from, to] of edges) below[from]?.push(to);
  const depth = depths(below);
  const alike = new Map<string, number[]>();
  units.forEach((unit, number) => {
    if (!apart(unit)) push(alike, stemOf(names[unit.nodes[0] ?? 0] ?? ""), number);
  });
  const groups: number[][] = [];
  for (const group of alike.values()) {
    if (group.length <= units.length / MOST_ALIKE) groups.push(group);
    else {
      // Names that say nothing: only what is equally far from the start belongs together.
      const columns = new Map<number, number[]>();
      for (const unit of group) push(columns, depth[unit] ?? 0, unit);
      groups.push(...columns.values());
    }
  }
  return withoutCircles(
    edges,
    units.length,
    groups.filter((group) => group.length > 1),
  ).map((group) => ({ kind: "kin" as const, units: group }));
}

/** All groups, or else those of them that can be put together one after the other. */
function withoutCircles(edges: readonly [number, number][], size: number, groups: number[][]): number[][] {
  const label = Array.from({ length: size }, (_, unit) => unit);
  const put = (group: number[]) => {
    for (const unit of group) label[unit] = group[0] ?? unit;
  };
  for (const group of groups) put(group);
  if (isAcyclic(edges, label)) return groups;
  label.forEach((_, unit) => {
    label[unit] = unit;
  });
  return groups.slice(0, MOST_TRIED).filter((group) => {
    put(group);
    if (isAcyclic(edges, label)) return true;
    for (const unit of group) label[unit] = unit;
    return false;
  });
}

function push<K>(lists: Map<K, number[]>, key: K, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function stemOf(name: string): string {
  return name.replace(TAIL, "");
}

/** Whether nodes that are put together by their labels can still be drawn from left to right. */
function isAcyclic(edges: readonly [number, number][], label: readonly number[]): boolean {
  const below: number[][] = label.map(() => []);
  for (const [from, to] of edges) {
    const [a = 0, b = 0] = [label[from], label[to]];
    if (a !== b) below[a]?.push(b);
  }
  return inOrder(below).length === label.length;
}

/** What nothing else makes small: all that is equally far from the start, or nearly so, is one stack. */
function columns(graph: Foldable): Folded {
  const depth = depths(graph.downstream);
  const deepest = depth.reduce((most, each) => Math.max(most, each), 0) + 1;
  const width = Math.ceil(deepest / MOST_COLUMNS);
  const stacks = new Map<number, number[]>();
  depth.forEach((each, node) => {
    push(stacks, Math.floor(each / width), node);
  });
  return join(
    graph,
    [...stacks.values()].map((nodes) => ({
      kind: nodes.length === 1 ? ("node" as const) : ("column" as const),
      nodes,
    })),
  );
}

/** The nodes such that each comes after all that lead to it; those of a circle, and what follows one, are missing. */
function inOrder(downstream: readonly (readonly number[])[]): number[] {
  const waiting = downstream.map(() => 0);
  for (const below of downstream) for (const node of below) waiting[node] = (waiting[node] ?? 0) + 1;
  const order = waiting.flatMap((count, node) => (count === 0 ? [node] : []));
  for (let at = 0; at < order.length; at += 1) {
    for (const each of downstream[order[at] ?? 0] ?? []) {
      waiting[each] = (waiting[each] ?? 0) - 1;
      if (waiting[each] === 0) order.push(each);
    }
  }
  return order;
}

/** How many steps lie before each node, along the longest way. */
export function depths(downstream: readonly (readonly number[])[]): number[] {
  const depth = downstream.map(() => 0);
  for (const node of inOrder(downstream)) {
    for (const each of downstream[node] ?? []) depth[each] = Math.max(depth[each] ?? 0, (depth[node] ?? 0) + 1);
  }
  return depth;
}

/** "part…", "clean → report": what a stack is called, by the names it holds. */
export function nameOf(unit: Unit, names: readonly string[]): string {
  const first = names[unit.nodes[0] ?? 0] ?? "";
  const last = names[unit.nodes.at(-1) ?? 0] ?? "";
  if (unit.kind === "node") return first;
  if (unit.kind === "chain") return `${first} → ${last}`;
  const common = prefix(unit.nodes.map((node) => names[node] ?? "")).replace(TAIL, "");
  if (common.length >= 3) return `${common}…`;
  return `${first}, …`;
}

function prefix(names: readonly string[]): string {
  const [first = "", ...others] = names;
  let length = first.length;
  for (const name of others) {
    let same = 0;
    while (same < length && first[same] === name[same]) same += 1;
    length = same;
  }
  return first.slice(0, length);
}
