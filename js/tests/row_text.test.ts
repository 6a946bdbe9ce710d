import { expect, test } from "vitest";
import { amount, plain, trouble } from "../src/tasks/row_text.ts";
import { type SampleRow, tableOf } from "./samples.ts";

const FILES = { done: 7, total: 1914, unit: "files" };
const STOPPED: SampleRow = { status: "stopped", failure: "stopped at a checkpoint" };

const told = (row: SampleRow) => trouble(tableOf([row]), 0);

test("an amount has its total and its unit as far as they are known", () => {
  const amounts = [FILES, { done: 1240, unit: "行" }, { done: 0.5 }, {}].map((row) =>
    amount(tableOf([{ status: "running", ...row }]), 0),
  );
  expect(amounts).toEqual(["7/1,914 files", "1,240 行", "0.5", ""]);
});

test("what was ended by hand says how far it came, and the reason only when asked", () => {
  expect(told({ ...STOPPED, ...FILES })).toEqual({
    text: "7/1,914 files",
    hint: "7/1,914 files · stopped at a checkpoint",
  });
  expect(told(STOPPED)).toEqual({ text: "stopped at a checkpoint", hint: "stopped at a checkpoint" });
  expect(told({ ...STOPPED, status: "cancelled", ...FILES })?.text).toBe("7/1,914 files");
});

test("what failed says why, however far it came", () => {
  expect(told({ status: "failed", failure: "ValueError: no", ...FILES })).toEqual({
    text: "ValueError: no",
    hint: "ValueError: no · 7/1,914 files",
  });
});

test("a failure of an earlier try says nothing while the next one runs", () => {
  expect(told({ status: "running", failure: "ValueError: no" })).toBeNull();
  expect(told({ status: "retry_wait", failure: "ValueError: no" })?.text).toBe("ValueError: no");
});

const EARLIER = "an earlier worker still runs in the background";

test("an earlier worker that still runs is told whatever the status", () => {
  const abandoned = true;
  expect(told({ status: "lost", failure: "gave up", abandoned })?.text).toBe("still running in the background");
  expect(told({ status: "failed", failure: "no checkpoint for 30 s", abandoned })?.text).toBe(
    `no checkpoint for 30 s · ${EARLIER}`,
  );
  expect(told({ ...STOPPED, ...FILES, abandoned })).toEqual({
    text: `7/1,914 files · ${EARLIER}`,
    hint: `7/1,914 files · ${EARLIER} · stopped at a checkpoint`,
  });
  for (const status of ["running", "queued", "succeeded"] as const) {
    expect(plain(tableOf([{ status, abandoned }]), 0)).toEqual({ text: EARLIER, hint: EARLIER });
    expect(plain(tableOf([{ status, note: "reading", ...FILES, abandoned }]), 0)).toEqual({
      text: "7/1,914 files",
      hint: `7/1,914 files · reading · ${EARLIER}`,
    });
  }
});

test("a running task without an end in sight says how fast it goes", () => {
  const table = tableOf([{ status: "running", done: 500, unit: "rows", started: 90_000, progress_at: 100_000 }]);
  expect(plain(table, 0).text).toBe("500 rows · 50 rows/s");
});
