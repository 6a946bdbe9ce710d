import { describe, expect, it } from "vitest";
import { fold } from "../src/pipeline/fold.ts";
import { Members } from "../src/pipeline/members.ts";
import { isForRun, offers, planForRun } from "../src/pipeline/run_steering.ts";
import { lookOf } from "../src/pipeline/unit_look.ts";
import { foldable, graphOf } from "./pipeline_samples.ts";
import { wholeBlock } from "./samples.ts";

const NODES = { extract: [], load: ["extract"], report: ["load"] };
const ROWS = [
  { node: "extract", status: "succeeded" as const, started: 0, ended: 7_000 },
  { node: "load", status: "blocked" as const },
  { node: "report", status: "blocked" as const },
  { node: "load[0]", status: "running" as const, started: 90_000 },
  { node: "load[1]", status: "failed" as const, failure: "ValueError: bad", started: 80_000, ended: 81_000 },
];
const COUNTS = { load: { running: 1, failed: 1, queued: 3 } };

describe("the rows of a graph", () => {
  it("belong to nodes, or to the map they are tasks of", () => {
    const { graph } = graphOf(ROWS, NODES, COUNTS);
    expect([0, 1, 2].map((node) => graph.rowOf(node))).toEqual([0, 1, 2]);
    expect(graph.tasksOf(1)).toEqual([3, 4]);
    expect([0, 3, 4].map((row) => graph.nodeOf(row))).toEqual([0, 1, 1]);
    expect(graph.below([0])).toEqual([1, 2]);
  });

  it("find their places when they come after the graph", () => {
    const { graph, table } = graphOf(ROWS.slice(0, 3), NODES, COUNTS);
    expect(graph.tasksOf(1)).toEqual([]);
    const late = wholeBlock([{ node: "load[2]", status: "queued" }], 3);
    table.patch({ kind: "patch", seq: 2, at: 100_000, blocks: [late] });
    graph.take({}, late.rows, false);
    graph.take({}, late.rows, false);
    expect(graph.tasksOf(1)).toEqual([3]);
  });

  it("say of a map what the kernel counts, not what has come", () => {
    const { graph, table } = graphOf(ROWS, NODES, COUNTS);
    const [, load] = fold(foldable(NODES)).units;
    if (!load) throw new Error("no unit");
    const look = lookOf(graph, table, load);
    expect(look).toMatchObject({
      name: "load",
      stack: { size: 5 },
      words: "1 failed, 1 running, 3 queued",
      time: null,
    });
    expect(look.look?.tone).toBe("red");
  });

  it("that have not come are not made up", () => {
    const { graph, table } = graphOf(ROWS.slice(0, 1), NODES);
    const look = lookOf(graph, table, { key: "report", kind: "node", nodes: [2] });
    expect(look).toMatchObject({ look: null, words: "not told yet" });
    const all = lookOf(graph, table, { key: "all", kind: "chain", nodes: [0, 1, 2] });
    expect(all).toMatchObject({ words: "1 done, 2 not told yet", stack: { size: 3 } });
  });

  it("are listed with what went wrong first", () => {
    const { graph, table } = graphOf(ROWS, NODES, COUNTS);
    const members = new Members(table, graph, () => 0);
    expect(members.of({ key: "load", kind: "node", nodes: [1] })).toEqual([4, 3]);
    expect([members.after("ArrowDown", 4), members.after("End", 4), members.after("x", 4)]).toEqual([3, 3, undefined]);
    expect(members.of({ key: "c", kind: "chain", nodes: [0, 1, 2] })).toEqual([1, 2, 0]);
  });
});

describe("the verbs of a run", () => {
  const { table } = graphOf(ROWS, NODES, COUNTS);
  const over = graphOf([{ node: "extract", status: "succeeded" }], { extract: [] }).table;

  it("are those that make sense now", () => {
    expect(offers({ status: "running", paused: false }, table)).toEqual(["pause", "stop", "retry_failed"]);
    expect(offers({ status: "running", paused: true }, table)).toEqual(["resume", "stop", "retry_failed"]);
    expect(offers({ status: "stopping", paused: false }, table)).toEqual(["retry_failed"]);
    expect(offers({ status: null, paused: false }, table)).toEqual(["pause", "stop", "retry_failed"]);
    expect(offers({ status: "succeeded", paused: false }, over)).toEqual([]);
  });

  it("go to the run where this process leads it, and a stop is asked about", () => {
    const plan = planForRun({ status: "running", paused: false }, table, "stop");
    expect(isForRun(plan)).toBe(true);
    expect(plan.question).toBe("Stop the whole run? Not ended yet: 3 tasks.");
    expect(planForRun({ status: "running", paused: false }, table, "retry_failed").question).toBeNull();
  });

  it("go node by node where another does", () => {
    const plan = planForRun({ status: null, paused: false }, table, "retry_failed");
    expect(isForRun(plan)).toBe(false);
    expect(plan.asks.flatMap((ask) => ask.rows)).toEqual([4]);
    expect(plan.question).toBe("Retry 1 task?");
  });
});
