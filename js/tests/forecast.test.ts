import { expect, test } from "vitest";
import { forecast } from "../src/tasks/forecast.ts";
import { figures } from "../src/view/Summary.tsx";
import { reset, type SampleRow, tableOf } from "./samples.ts";

/** One a second, the last one now. */
const FINISHED: SampleRow[] = [96_000, 97_000, 98_000, 99_000, 100_000].map((ended) => ({
  status: "succeeded",
  started: ended - 500,
  ended,
}));
const QUEUED: SampleRow[] = Array.from({ length: 10 }, () => ({ status: "queued" }));
const ENDLESS: SampleRow = { status: "running", started: 10_000, done: 7, progress_at: 99_000 };
/** 10 units a second, 300 still to do. */
const COUNTED: SampleRow = { status: "running", started: 90_000, done: 100, total: 400, progress_at: 100_000 };

test("while tasks wait, the pace of the latest endings tells how long still", () => {
  expect(forecast(tableOf([...FINISHED, ...QUEUED]))).toEqual({ rate: 1, left: 10_000, whole: true });
});

test("an endless task gets no time from those that ended", () => {
  const table = tableOf([...FINISHED, ENDLESS]);
  expect(forecast(table)).toEqual({ rate: null, left: null, whole: false });
  expect(figures(table)).toEqual(["5/6 done"]);
});

test("beside an endless task the time left is told of the queue alone", () => {
  const table = tableOf([...FINISHED, ...QUEUED, ENDLESS]);
  expect(forecast(table)).toEqual({ rate: 1, left: 10_000, whole: false });
  expect(figures(table)).toEqual(["5/16 done", "1/s", "10 s left in the queue"]);
});

test("with nothing waiting, the slowest known total tells the time left, and a pace of endings says nothing", () => {
  const table = tableOf([...FINISHED, COUNTED, { ...COUNTED, done: 300 }]);
  expect(forecast(table)).toEqual({ rate: null, left: 30_000, whole: true });
  expect(figures(table)).toEqual(["5/7 done", "30 s left"]);
});

test("what waits for more than a free slot is not foretold", () => {
  for (const status of ["paused", "retry_wait", "blocked", "stopping"] as const) {
    expect(forecast(tableOf([...FINISHED, COUNTED, { status }])).left).toBeNull();
    expect(forecast(tableOf([...FINISHED, ...QUEUED, { status }]))).toEqual({ rate: 1, left: 10_000, whole: false });
  }
});

test("rows that have not come yet count as without a total", () => {
  const table = tableOf([COUNTED]);
  table.reset(reset([COUNTED], { counts: { running: 2 }, behind: 1 }));
  expect(forecast(table).left).toBeNull();
});

test("nothing is foretold of a last known state", () => {
  const table = tableOf([...FINISHED, ...QUEUED]);
  table.stop(5_000_000);
  expect(forecast(table)).toEqual({ rate: null, left: null, whole: false });
});
