import { describe, expect, it } from "vitest";
import type { TaskTable } from "../src/tasks/table.ts";
import { type Bar, barsOf } from "../src/timeline/bars.ts";
import type { Past } from "../src/wire/protocol.ts";
import { type SampleRow, situation, tableOf, wholeBlock } from "./samples.ts";

/** A table at 100 000 ms. */
const table = (row: SampleRow) => tableOf([row]);
const past = (changes: Partial<Past>): Past => ({ version: 9, attempts: [], paused: [], cut: 0, ...changes });
const drawn = (of: TaskTable, known?: Past, before: readonly Bar[] = []) =>
  barsOf(of, 0, known, before).map(({ attempt, start, end, ending, status }) => [attempt, start, end, ending, status]);

describe("a row that tells all", () => {
  it("gives one bar, to its end or open", () => {
    expect(drawn(table({ status: "succeeded", attempt: 1, started: 10, ended: 30 }))).toEqual([
      [1, 10, 30, "known", "succeeded"],
    ]);
    expect(drawn(table({ status: "running", attempt: 1, started: 10 }))).toEqual([
      [1, 10, Number.POSITIVE_INFINITY, "open", "running"],
    ]);
  });

  it("gives none before anything was tried", () => {
    expect(drawn(table({ status: "queued" }))).toEqual([]);
    expect(drawn(table({ status: "cancelled", ended: 40 }))).toEqual([]);
  });

  it("says of a lost one that its end is not known", () => {
    expect(drawn(table({ status: "lost", attempt: 1, started: 10, ended: 90 }))).toEqual([[1, 10, 90, "lost", "lost"]]);
    expect(drawn(table({ status: "lost", attempt: 1, started: 10 }))).toEqual([[1, 10, 100_000, "lost", "lost"]]);
  });
});

describe("a row with more behind it", () => {
  const stopped = table({ status: "stopped", attempt: 1, started: 10, ended: 500, past: 5 });

  it("is not drawn from times that may be of something else", () => {
    expect(drawn(stopped)).toEqual([]);
    expect(drawn(stopped, past({ attempts: [[1, 10, 30, "failed"]] }))).toEqual([[1, 10, 30, "known", "failed"]]);
  });

  it("shows the attempt that is certain at once, and earlier ones when they are told", () => {
    const running = table({ status: "running", attempt: 3, started: 70, past: 9 });
    expect(drawn(running)).toEqual([[3, 70, Number.POSITIVE_INFINITY, "open", "running"]]);
    const known = past({
      attempts: [
        [1, 10, 20, "failed"],
        [2, 40, 60, "failed"],
        [3, 70, null, "starting"],
      ],
    });
    expect(drawn(running, known).map(([attempt, , , , status]) => [attempt, status])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "running"],
    ]);
  });

  it("draws nothing of a status set by hand but what was tried", () => {
    const forced = { status: "running", attempt: 1, started: 10, past: 5, by_hand: true } as const;
    expect(drawn(table(forced))).toEqual([]);
    expect(drawn(table(forced), past({ attempts: [[1, 10, 30, "lost"]] }))).toEqual([[1, 10, 30, "lost", "lost"]]);
  });

  it("forgets what was before a reset", () => {
    const fresh = table({ status: "running", attempt: 1, started: 70, past: 9 });
    const old = past({
      attempts: [
        [1, 20, 30, "failed"],
        [2, 40, 50, "failed"],
      ],
    });
    expect(drawn(fresh, old)).toEqual([[1, 70, Number.POSITIVE_INFINITY, "open", "running"]]);
  });
});

it("an attempt that is over keeps its bar, up to when it was last seen, until its end is told", () => {
  const own = table({ status: "running", attempt: 1, started: 10 });
  const before = barsOf(own, 0, undefined, []);
  const waits = { status: "retry_wait", attempt: 1, started: 10, past: 4 } as const;
  own.patch({ kind: "patch", seq: 2, at: 100_000, blocks: [wholeBlock([waits])] });
  const between = barsOf(own, 0, undefined, before);
  expect(drawn(own, undefined, before)).toEqual([[1, 10, 100_000, "pending", "running"]]);
  expect(drawn(own, undefined, between)).toEqual([[1, 10, 100_000, "pending", "running"]]);
  const told = past({ attempts: [[1, 10, 99_900, "failed"]] });
  expect(drawn(own, told, between)).toEqual([[1, 10, 99_900, "known", "failed"]]);
});

it("an attempt whose end is never told is not said to run once its task has ended", () => {
  const own = table({ status: "running", attempt: 1, started: 10 });
  const before = barsOf(own, 0, undefined, []);
  const stopped = { status: "stopped", attempt: 1, started: 10, ended: 90, past: 4 } as const;
  own.patch({ kind: "patch", seq: 2, at: 100_000, blocks: [wholeBlock([stopped])] });
  expect(drawn(own, undefined, before)).toEqual([[1, 10, 100_000, "pending", "stopped"]]);
});

describe("pauses", () => {
  const stretches = (of: TaskTable, known?: Past) => barsOf(of, 0, known, []).map((bar) => bar.paused);

  it("belong to the attempt they fell into, and end with it", () => {
    const done = table({ status: "succeeded", attempt: 2, started: 50, ended: 90, past: 9 });
    const known = past({
      attempts: [
        [1, 10, 40, "failed"],
        [2, 50, 90, "succeeded"],
      ],
      paused: [
        [20, 30],
        [60, null],
      ],
    });
    expect(stretches(done, known)).toEqual([[[20, 30]], [[60, 90]]]);
  });

  it("that last are drawn from where the view saw them begin, or as told", () => {
    const own = table({ status: "running", attempt: 1, started: 10 });
    const block = { rows: [0], cols: { situation: [situation("paused")], past: [5] } };
    own.patch({ kind: "patch", seq: 2, at: 100_500, blocks: [block] });
    expect(stretches(own)).toEqual([[[100_500, Number.POSITIVE_INFINITY]]]);
    const known = past({ paused: [[100_450, null]], attempts: [[1, 10, null, "running"]] });
    expect(stretches(own, known)).toEqual([[[100_450, Number.POSITIVE_INFINITY]]]);
  });

  it("are not drawn from an answer that does not know that they are over", () => {
    const own = table({ status: "running", attempt: 1, started: 10, past: 9 });
    expect(stretches(own, past({ version: 5, paused: [[20, null]] }))).toEqual([[]]);
  });
});
