import { expect, test } from "vitest";
import { elapsedMs } from "../src/tasks/order.ts";
import { clockHint } from "../src/tasks/row_text.ts";
import { TaskTable } from "../src/tasks/table.ts";
import type { Status } from "../src/wire/protocol.ts";
import { reset, type SampleRow, situation, wholeBlock } from "./samples.ts";

/** A table of one row, and the kernel's hands on it; the feed's clock starts at 100 000 ms. */
class Bench {
  time = 100_000;
  seq = 1;
  readonly table = new TaskTable(() => this.time);

  constructor(row: SampleRow) {
    this.table.reset(reset([row]));
  }

  becomes(status: Status, changes: Record<string, unknown[]> = {}): void {
    this.seq += 1;
    const blocks = [{ rows: [0], cols: { situation: [situation(status)], ...changes } }];
    this.table.patch({ kind: "patch", seq: this.seq, at: this.time, blocks });
  }

  clock(after = 0): number | null {
    this.time += after;
    return elapsedMs(this.table, 0, this.table.now());
  }
}

const RUNNING: SampleRow = { status: "running", started: 88_000 };

test("a clock stands still from the moment a pause came true, and then tells the whole time again", () => {
  const bench = new Bench(RUNNING);
  bench.becomes("paused");
  expect([bench.clock(), bench.clock(60_000)]).toEqual([12_000, 12_000]);
  expect(clockHint(bench.table, 0)).toBe("stands still while the task is paused");
  bench.becomes("running");
  expect(bench.clock(1_000)).toBe(73_000);
  expect(clockHint(bench.table, 0)).toBe("since its start, incl. pause");
  bench.becomes("succeeded", { ended: [bench.time] });
  expect(clockHint(bench.table, 0)).toBe("since its start, incl. pause");
});

test("a pause that began unseen stands at the last report; without one nothing is claimed", () => {
  const reported = new Bench({ ...RUNNING, status: "paused", done: 3, progress_at: 95_000 });
  expect([reported.clock(), reported.clock(60_000)]).toEqual([7_000, 7_000]);
  expect(clockHint(reported.table, 0)).toBe("until its last report; the task is paused");
  const silent = new Bench({ ...RUNNING, status: "paused" });
  expect(silent.clock()).toBeNull();
  silent.becomes("running");
  expect(clockHint(silent.table, 0)).toBe("since its start, incl. pause");
});

test("a report of an earlier attempt says nothing of this one", () => {
  expect(new Bench({ ...RUNNING, status: "paused", done: 3, progress_at: 80_000 }).clock()).toBeNull();
});

test("a table told again keeps the pauses it has seen", () => {
  const bench = new Bench(RUNNING);
  bench.becomes("paused");
  bench.time += 60_000;
  bench.table.reset(reset([{ ...RUNNING, status: "paused" }], { at: bench.time, seq: 9 }));
  expect(bench.clock()).toBe(12_000);
  bench.table.reset(reset([RUNNING], { feed: "f2", at: bench.time }));
  expect(clockHint(bench.table, 0)).toBeNull();
});

test("the next attempt begins without a pause", () => {
  const bench = new Bench(RUNNING);
  bench.becomes("paused");
  bench.becomes("running", { started: [bench.time] });
  expect(clockHint(bench.table, 0)).toBeNull();
});

test("rows that come late may have been paused for long", () => {
  const bench = new Bench(RUNNING);
  const late = wholeBlock([{ ...RUNNING, status: "paused", done: 1, progress_at: 90_000 }], 1);
  bench.table.patch({ kind: "patch", seq: 2, at: 100_000, blocks: [late] });
  expect(elapsedMs(bench.table, 1, bench.table.now())).toBe(2_000);
});
