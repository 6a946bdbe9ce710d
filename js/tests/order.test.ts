import { expect, test } from "vitest";
import { elapsedMs, fraction, orderRows, type View } from "../src/tasks/order.ts";
import { tableOf } from "./samples.ts";

const ALL: View = { statuses: null, text: "", sort: null };

test("active rows come first, then failed and lost, then waiting, then ended; the newest first in each", () => {
  const table = tableOf([
    { status: "succeeded", ended: 50 },
    { status: "queued", queued: 10 },
    { status: "failed", ended: 30 },
    { status: "running", started: 5 },
    { status: "lost", ended: 40 },
    { status: "running", started: 20 },
    { status: "succeeded", ended: 60 },
  ]);
  expect(orderRows(table, ALL)).toEqual([5, 3, 4, 2, 1, 6, 0]);
});

test("text filters by name, tag and the beginning of an id, in any case", () => {
  const table = tableOf([
    { status: "queued", name: "Parse JSON" },
    { status: "queued", name: "load", tags: ["DB"] },
    { status: "queued", name: "清洗订单" },
    { status: "queued", name: "other", id: "0193abc" },
  ]);
  const found = (text: string) => orderRows(table, { ...ALL, text });
  expect([found("json"), found("db"), found("订单"), found("0193"), found("nothing")]).toEqual([
    [0],
    [1],
    [2],
    [3],
    [],
  ]);
});

test("a group filters by its statuses", () => {
  const table = tableOf([{ status: "failed" }, { status: "queued" }, { status: "failed" }]);
  expect(orderRows(table, { ...ALL, statuses: new Set(["failed"]) })).toEqual([0, 2]);
});

test("names sort as people count", () => {
  const table = tableOf(["part 10", "part 9", "Part 1"].map((name) => ({ status: "queued", name })));
  expect(orderRows(table, { ...ALL, sort: { column: "name", descending: false } })).toEqual([2, 1, 0]);
  expect(orderRows(table, { ...ALL, sort: { column: "name", descending: true } })).toEqual([0, 1, 2]);
});

test("rows without a value come last, either way round", () => {
  const table = tableOf([
    { status: "queued" },
    { status: "running", done: 1, total: 4 },
    { status: "running", done: 3, total: 4 },
  ]);
  expect(orderRows(table, { ...ALL, sort: { column: "progress", descending: true } })).toEqual([2, 1, 0]);
  expect(orderRows(table, { ...ALL, sort: { column: "progress", descending: false } })).toEqual([1, 2, 0]);
});

test("a row whose page has not come is not shown", () => {
  const table = tableOf([{ status: "queued", id: "" }, { status: "queued" }]);
  expect(orderRows(table, ALL)).toEqual([1]);
});

test("the clock runs while a worker is at work, stands when ended, and is not shown for those that wait", () => {
  const table = tableOf([
    { status: "running", started: 40_000 },
    { status: "succeeded", started: 40_000, ended: 47_000 },
    { status: "retry_wait", started: 40_000 },
    { status: "queued" },
  ]);
  expect([0, 1, 2, 3].map((row) => elapsedMs(table, row, table.now()))).toEqual([60_000, 7_000, null, null]);
});

test("a fraction stays within 0 and 1 and is unknown without a total", () => {
  const table = tableOf([
    { status: "running", done: 5, total: 4 },
    { status: "running", done: 5 },
    { status: "running", done: 0, total: 0 },
  ]);
  expect([0, 1, 2].map((row) => fraction(table, row))).toEqual([1, null, null]);
});

test("100 000 rows are put in order within a blink", () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => ({
    status: index % 3 === 0 ? ("succeeded" as const) : ("queued" as const),
    queued: (index * 7919) % 100_000,
  }));
  const table = tableOf(rows);
  const began = performance.now();
  expect(orderRows(table, ALL)).toHaveLength(100_000);
  expect(performance.now() - began).toBeLessThan(1500);
});
