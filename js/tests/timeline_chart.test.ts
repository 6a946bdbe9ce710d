import { describe, expect, it } from "vitest";
import { TaskTable } from "../src/tasks/table.ts";
import { Chart } from "../src/timeline/chart.ts";
import { Pasts } from "../src/timeline/pasts.ts";
import { tellBar, tellSeveral } from "../src/timeline/tells.ts";
import type { Link, Reply } from "../src/wire/link.ts";
import type { Past, ViewRequest } from "../src/wire/protocol.ts";
import { reset, type SampleRow, situation, wholeBlock } from "./samples.ts";

/** A kernel that answers when it is told to, and a clock that stands. */
class Desk {
  time = 5_000_000;
  readonly asked: { ids: string[]; answer(reply: Partial<Reply>): Promise<void> }[] = [];
  readonly table = new TaskTable(() => this.time);
  readonly pasts: Pasts;
  readonly chart: Chart;

  constructor() {
    const request = (content: ViewRequest) =>
      new Promise<Reply>((resolve) => {
        const answer = async (reply: Partial<Reply>) => {
          resolve({ error: null, results: [], ...reply });
          await Promise.resolve();
          await Promise.resolve();
        };
        this.asked.push({ ids: "ids" in content ? content.ids : [], answer });
      });
    const link = { life: "live", request } as unknown as Link;
    const answered = (tasks: readonly string[]) =>
      this.chart.changed(tasks.flatMap((id) => this.table.rowOf(id) ?? []));
    this.pasts = new Pasts(link, answered, () => this.time);
    this.chart = new Chart(this.table, this.pasts, () => this.time);
  }

  show(rows: SampleRow[], behind = 0): void {
    this.table.reset(reset(rows, { behind }));
    this.chart.changed(rows.keys());
    this.chart.update();
  }

  patch(seq: number, rows: SampleRow[], first: number, behind = 0): void {
    this.table.patch({ kind: "patch", seq, at: 100_000, behind, blocks: [wholeBlock(rows, first)] });
    this.chart.changed(rows.map((_, index) => first + index));
    this.chart.update();
  }
}

const done = (started: number, ended: number): SampleRow => ({ status: "succeeded", attempt: 1, started, ended });
const failed = (...attempts: Past["attempts"]): Past => ({ version: 9, attempts, paused: [], cut: 0 });

describe("the chart", () => {
  it("fills lanes anew while the table arrives, and leaves bars alone afterwards", () => {
    const desk = new Desk();
    desk.show([done(50, 60)], 2);
    desk.time += 1000;
    desk.patch(2, [done(0, 40), done(45, 49)], 1);
    expect(desk.chart.lanes.lanes.map((lane) => lane.map((bar) => bar.row))).toEqual([[1, 2, 0]]);
    desk.patch(3, [done(30, 46)], 3);
    expect(desk.chart.lanes.lanes.map((lane) => lane.map((bar) => bar.row))).toEqual([[1, 2, 0], [3]]);
  });

  it("does not sort with every page, but with the last", () => {
    const desk = new Desk();
    desk.show([done(0, 1)], 3);
    desk.patch(2, [done(1, 2)], 1, 2);
    desk.patch(3, [done(2, 3)], 2, 1);
    expect(desk.chart.lanes.lanes.flat().length).toBe(1);
    desk.patch(4, [done(3, 4)], 3, 0);
    expect(desk.chart.lanes.lanes.flat().length).toBe(4);
  });

  it("knows what there is from when to when", () => {
    const desk = new Desk();
    expect(desk.chart.extent(100_000)).toBeNull();
    desk.show([done(50, 60), { status: "failed", attempt: 1, started: 10, ended: 20 }]);
    expect(desk.chart.extent(100_000)).toEqual({ from: 10, to: 60 });
    expect(desk.chart.facts).toMatchObject({ size: 2, open: 0, counts: { succeeded: 1, failed: 1 } });
    desk.patch(2, [{ status: "running", attempt: 1, started: 70 }], 2);
    expect(desk.chart.extent(100_000)).toEqual({ from: 10, to: 100_000 });
  });

  it("puts earlier attempts in when they are told, and takes those of before a reset out", async () => {
    const desk = new Desk();
    desk.show([{ status: "succeeded", attempt: 3, started: 50, ended: 60, past: 9 }]);
    expect([desk.chart.facts.size, desk.chart.unknown.size]).toEqual([1, 1]);
    desk.pasts.tick(["t0"]);
    await desk.asked[0]?.answer({ body: { t0: failed([1, 10, 20, "failed"], [2, 30, 40, "failed"]) } });
    desk.chart.update();
    expect([desk.chart.facts.size, desk.chart.unknown.size, desk.chart.lanes.size]).toEqual([3, 0, 1]);
    desk.patch(2, [{ status: "pending" }], 0);
    expect([desk.chart.facts.size, desk.chart.lanes.size]).toEqual([0, 0]);
  });
});

describe("pasts", () => {
  it("are asked for one message at a time, again where they did not fit, and never again when there is none", async () => {
    const desk = new Desk();
    const ids = Array.from({ length: 150 }, (_, n) => `t${n}`);
    desk.pasts.tick(ids);
    desk.pasts.tick(ids);
    expect(desk.asked.map((each) => each.ids.length)).toEqual([100]);
    await desk.asked[0]?.answer({ body: { t0: failed([1, 10, 20, "failed"]), t1: null } });
    expect(desk.pasts.tick(ids)).toBeGreaterThan(0); // not at once
    expect([desk.pasts.isFresh("t0", 9), desk.pasts.isFresh("t0", 10)]).toEqual([true, false]);
    expect([desk.pasts.isFresh("t1", 1e9), desk.pasts.isFresh("t2", 1), desk.pasts.isFresh("t2", 0)]).toEqual([
      true,
      false,
      true,
    ]);
    desk.time += 200;
    expect([desk.pasts.isDue("t0"), desk.pasts.isDue("t2")]).toEqual([false, true]);
    desk.pasts.tick(ids.slice(2));
    expect(desk.asked[1]?.ids[0]).toBe("t2");
  });

  it("wait after an error, and keep the newer of two answers", async () => {
    const desk = new Desk();
    desk.pasts.tick(["t0"]);
    await desk.asked[0]?.answer({ error: "disk full" });
    desk.time += 1000;
    expect(desk.pasts.tick(["t0"])).toBe(2000);
    desk.time += 2000;
    desk.pasts.tick(["t0"]);
    desk.time += 20_000;
    desk.pasts.tick(["t0"]); // the last was lost, or so it seems
    await desk.asked[2]?.answer({ body: { t0: failed([1, 10, 20, "failed"]) } });
    await desk.asked[1]?.answer({ body: { t0: { ...failed(), version: 5 } } });
    expect(desk.pasts.of("t0")?.attempts.length).toBe(1);
  });
});

describe("what is told", () => {
  it("names times and tries, what is not known, and what is left out", () => {
    const desk = new Desk();
    const lost = { status: "lost", attempt: 2, tries_max: 3, started: 50, ended: 60, failure: "gave up" } as const;
    desk.show([{ ...lost, abandoned: true }, done(1_000, 62_000)]);
    const [first, second] = [desk.chart.barsOf(0)[0], desk.chart.barsOf(1)[0]];
    if (!first || !second) throw new Error("no bars");
    const { status, lines } = tellBar(desk.table, first, 7);
    expect(status).toBe("lost");
    expect(lines[0]).toBe("try 2 of 3");
    expect(lines[1]).toMatch(/\d\d:\d\d – \?$/);
    expect(lines.slice(2)).toEqual([
      "whether and when it ended is not known",
      "still running in the background",
      "gave up",
      "7 earlier ones are not shown",
    ]);
    expect(tellBar(desk.table, second).lines[0]).toMatch(/ · 1:01$/);
    expect(tellSeveral(desk.table, [first, second])).toMatchObject({ title: "2 attempts", status: null });
    expect(tellSeveral(desk.table, [first, second]).lines[0]).toBe("1 done, 1 lost");
  });

  it("counts how long a bar stood still", () => {
    const desk = new Desk();
    desk.show([{ status: "running", attempt: 1, started: 40_000 }]);
    const block = { rows: [0], cols: { situation: [situation("paused")], past: [5] } };
    desk.table.patch({ kind: "patch", seq: 2, at: 95_000, blocks: [block] });
    desk.chart.changed([0]);
    desk.chart.update();
    const [bar] = desk.chart.barsOf(0);
    expect(bar && tellBar(desk.table, bar).lines).toContain("paused for 5.0 s");
  });
});
