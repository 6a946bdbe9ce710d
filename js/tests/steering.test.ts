import { expect, test } from "vitest";
import { refusal } from "../src/tasks/situations.ts";
import { statusCountdown, statusText } from "../src/tasks/status_text.ts";
import { noticeOf, planForRow, planForRows } from "../src/view/steering.ts";
import { tableOf } from "./samples.ts";

const result = (task: string, error: string | null = null, acted = true) => ({
  task,
  ok: error === null,
  acted,
  error,
});

test("the kernel's table decides, and a refusal gives the reason", () => {
  const table = tableOf([{ status: "running" }, { status: "succeeded" }, { status: "stopped" }]);
  expect(refusal(table.situation(0), "stop")).toBeNull();
  expect(refusal(table.situation(1), "pause")).toBe("cannot pause: done");
  expect(refusal(table.situation(2), "stop")).toBe("nothing to stop: stopped");
});

test("a plain verb on one row is asked without a question", () => {
  const table = tableOf([{ status: "running" }]);
  expect(planForRow(table, 0, "pause")).toMatchObject({ asks: [{ rows: [0], args: {} }], question: null });
});

test("a retry past the last try is forced: the click asks for it", () => {
  const table = tableOf([
    { status: "failed", attempt: 1, tries_max: 3 },
    { status: "failed", attempt: 3, tries_max: 3 },
  ]);
  expect(planForRow(table, 0, "retry").asks).toEqual([{ rows: [0], args: {} }]);
  expect(planForRow(table, 1, "retry").asks).toEqual([{ rows: [1], args: { force: true } }]);
});

test("a second copy beside one that still runs, and a stop without grace, are asked first", () => {
  const table = tableOf([
    { status: "lost", abandoned: true, name: "idle" },
    { status: "stopping", name: "mail" },
  ]);
  expect(planForRow(table, 0, "retry").question).toContain("idle still runs in the background");
  expect(planForRow(table, 1, "stop", true)).toMatchObject({ asks: [{ rows: [1], args: { graceful: false } }] });
  expect(planForRow(table, 1, "stop", true).question).toContain("Stop mail at once?");
});

test("a bulk verb asks once, and says what is left out", () => {
  const table = tableOf([{ status: "running" }, { status: "running" }, { status: "succeeded" }]);
  const plan = planForRows(table, [0, 1, 2], "stop");
  expect(plan).toMatchObject({ acts: 2, question: "Stop 2 tasks?", exceptions: ["1 cannot be stopped."] });
  expect(plan.asks).toEqual([{ rows: [0, 1], args: {} }]);
});

test("a bulk retry forces only those without tries, and leaves out those that still run", () => {
  const table = tableOf([
    { status: "failed", attempt: 1, tries_max: 3 },
    { status: "failed", attempt: 1, tries_max: 1 },
    { status: "lost", attempt: 1, tries_max: 1, abandoned: true },
    { status: "succeeded" },
  ]);
  const plan = planForRows(table, [0, 1, 2, 3], "retry");
  expect(plan.asks).toEqual([
    { rows: [0], args: {} },
    { rows: [1], args: { force: true } },
  ]);
  expect(plan.exceptions).toEqual([
    "1 cannot be retried.",
    "1 still runs in the background.",
    "1 used all tries and gets one more.",
  ]);
});

test("the result line counts what became of the tasks", () => {
  const table = tableOf([
    { status: "stopping", asked: "stop" },
    { status: "stopping", asked: "stop" },
    { status: "stopped" },
  ]);
  const notice = noticeOf(table, [result("t0"), result("t1"), result("t2"), result("t9", "cannot stop: done")]);
  expect(notice).toEqual({ text: "2 stopping, 1 stopped, 1 refused (cannot stop: done)", bad: true });
  expect(noticeOf(table, [result("t2", null, false), result("t0")])?.text).toBe("1 already stopped, 1 stopping");
});

test("one refused task tells its reason, one accepted task needs no words", () => {
  const table = tableOf([{ status: "succeeded" }]);
  expect(noticeOf(table, [result("t0", "cannot pause 'a': it is succeeded")])).toEqual({
    text: "cannot pause 'a': it is succeeded",
    bad: true,
  });
  expect(noticeOf(table, [result("t0")])).toBeNull();
});

test("a row says what it is asked to become, with the time that is left", () => {
  const table = tableOf([
    { status: "pausing", asked: "pause" },
    { status: "stopping", asked: "stop", grace_until: 106_000 },
    { status: "stopping", asked: "cancel" },
    { status: "retry_wait", retry_at: 108_000 },
    { status: "running", asked: "stop" },
    { status: "paused", asked: "pause" },
    { status: "failed", asked: "stop" },
  ]);
  const now = table.now();
  expect([0, 1, 2, 3, 4, 5, 6].map((row) => statusCountdown(table, row, now))).toEqual([
    "pausing…",
    "stopping… 6 s",
    "cancelling…",
    "retries in 8 s",
    "stopping…",
    "paused",
    "failed",
  ]);
  expect(statusText(table, 1)).toBe("stopping…");
});

test("a reset is asked first, and told when a worker still runs", () => {
  const table = tableOf([
    { status: "failed", name: "xml" },
    { status: "lost", abandoned: true, name: "idle" },
  ]);
  expect(planForRow(table, 0, "reset").question).toContain("Reset xml?");
  expect(planForRow(table, 0, "reset").asks).toEqual([{ rows: [0], args: {} }]);
  expect(planForRow(table, 1, "reset").question).toContain("still runs in the background");
  expect(planForRow(table, 1, "reset").asks).toEqual([{ rows: [1], args: { force: true } }]);
});
