import { expect, test } from "vitest";
import { TaskTable } from "../src/tasks/table.ts";
import { reset, situation, tableOf, wholeBlock } from "./samples.ts";

test("a reset fills the columns, and what was not sent has its default", () => {
  const table = tableOf([{ status: "running", started: 5 }, { status: "queued" }]);
  expect(table.size).toBe(2);
  expect(table.columns.name).toEqual(["task 0", "task 1"]);
  expect(table.status(0)).toBe("running");
  expect(table.columns.started).toEqual([5, null]);
  expect(table.columns.tries_max).toEqual([1, 1]);
  expect(table.rowOf("t1")).toBe(1);
});

test("a patch writes only its columns of its rows", () => {
  const table = tableOf([
    { status: "running", done: 1 },
    { status: "running", done: 2 },
  ]);
  const fits = table.patch({ kind: "patch", seq: 2, at: 100_500, blocks: [{ rows: [1], cols: { done: [7] } }] });
  expect(fits).toBe(true);
  expect(table.columns.done).toEqual([1, 7]);
  expect(table.status(1)).toBe("running");
});

test("a missing message is noticed, and the patch behind it is not applied", () => {
  const table = tableOf([{ status: "running", done: 1 }]);
  const late = { kind: "patch", seq: 3, at: 100_500, blocks: [{ rows: [0], cols: { done: [7] } }] } as const;
  expect(table.patch({ ...late, blocks: [{ rows: [0], cols: { done: [7] } }] })).toBe(false);
  expect(table.columns.done).toEqual([1]);
});

test("a reset of the same feed keeps rows whose page has not come yet", () => {
  const table = tableOf([{ status: "running" }, { status: "queued" }]);
  table.reset({ ...reset([{ status: "failed" }]), seq: 5, behind: 1 });
  expect(table.size).toBe(2);
  expect([table.status(0), table.status(1)]).toEqual(["failed", "queued"]);
  expect(table.patch({ kind: "patch", seq: 6, at: 100_600, blocks: [] })).toBe(true);
});

test("a reset of another feed forgets the rows", () => {
  const table = tableOf([{ status: "running" }, { status: "queued" }]);
  table.reset(reset([{ status: "failed" }], { feed: "f2" }));
  expect(table.size).toBe(1);
  expect(table.rowOf("t1")).toBeUndefined();
});

test("a whole block takes a row back to its defaults first", () => {
  const table = tableOf([{ status: "failed", failure: "ValueError: no", attempt: 3 }]);
  table.patch({ kind: "patch", seq: 2, at: 100_500, blocks: [wholeBlock([{ status: "queued" }])] });
  expect(table.columns.failure).toEqual([null]);
  expect(table.columns.attempt).toEqual([0]);
});

test("columns of a newer kernel are passed over", () => {
  const table = tableOf([{ status: "running" }]);
  const cols = { done: [3], mood: ["good"] };
  expect(table.patch({ kind: "patch", seq: 2, at: 0, blocks: [{ rows: [0], cols }] })).toBe(true);
  expect(table.columns.done).toEqual([3]);
});

test("only changes that may move rows make a new order", () => {
  const table = tableOf([{ status: "running" }]);
  const before = table.orderVersion;
  table.patch({ kind: "patch", seq: 2, at: 0, blocks: [{ rows: [0], cols: { done: [3], progress_at: [4] } }] });
  expect(table.orderVersion).toBe(before);
  const cols = { situation: [situation("failed")] };
  table.patch({ kind: "patch", seq: 3, at: 0, blocks: [{ rows: [0], cols }] });
  expect(table.orderVersion).toBeGreaterThan(before);
});

test("the clocks of a last known state stand still until the next reset", () => {
  let now = 1_000_000;
  const table = new TaskTable(() => now);
  table.reset(reset([], { at: 50_000 }));
  now += 4000;
  table.stop(now - 3000);
  now += 60_000;
  expect([table.stopped, table.now()]).toEqual([true, 51_000]);
  table.reset(reset([], { at: 114_000 }));
  expect([table.stopped, table.now()]).toEqual([false, 114_000]);
  table.load({ ...reset([], { at: 7_000 }), saved_at: 5 });
  now += 60_000;
  expect([table.stopped, table.now()]).toEqual([true, 7_000]);
});

test("the kernel's time is kept by the quickest message", () => {
  let now = 1_000_000;
  const table = new TaskTable(() => now);
  table.reset(reset([], { at: 50_000 })); // this one took 300 ms longer than the next
  now += 1000;
  table.patch({ kind: "patch", seq: 2, at: 51_300, blocks: [] });
  expect(table.now()).toBe(51_300);
  now += 1000;
  table.patch({ kind: "patch", seq: 3, at: 51_900, blocks: [] });
  expect(table.now()).toBe(52_300);
});
