import { describe, expect, it } from "vitest";
import { Dossier, errorText, LINES_KEPT, shownLines } from "../src/drawer/dossier.ts";
import { tabAfter } from "../src/drawer/tabs.ts";
import type { Details, OutputLine } from "../src/wire/protocol.ts";

const line = (seq: number, text = `line ${seq}`): OutputLine => [seq, 1, "stdout", null, 1000 + seq, text];
const details = (changes: Partial<Details> = {}): Details => ({
  seen: "a",
  waits: null,
  heard: null,
  lines: [],
  ...changes,
});

describe("a dossier", () => {
  it("keeps what an answer leaves out", () => {
    const dossier = new Dossier("t1");
    dossier.take(details({ overview: { pid: 7 }, failure: { title: "x", exit_code: 1, traceback: null } }));
    dossier.take(details({ seen: "a", waits: { after: ["extract"], more: 0 } }));
    expect(dossier.overview).toEqual({ pid: 7 });
    expect(dossier.failure?.title).toBe("x");
    expect(dossier.waits).toEqual({ after: ["extract"], more: 0 });
    dossier.take(details({ seen: "b", failure: null }));
    expect(dossier.failure).toBeNull();
  });

  it("adds lines once, in order, and keeps the newest", () => {
    const dossier = new Dossier("t1");
    dossier.take(details({ lines: [line(1), line(2)] }));
    dossier.take(details({ lines: [line(2), line(3)] }));
    expect(dossier.lines.map(([seq]) => seq)).toEqual([1, 2, 3]);
    dossier.take(details({ lines: Array.from({ length: LINES_KEPT }, (_, index) => line(10 + index)) }));
    expect(dossier.lines.length).toBe(LINES_KEPT);
    expect(dossier.lines[0]?.[0]).toBe(10);
  });
});

it("forgets the output with a reset", () => {
  const step = (version: number, trigger: string) =>
    ({ version, trigger, at: 0, from: "failed", to: "pending", actor: "user", reason: null }) as const;
  const dossier = new Dossier("t1");
  dossier.take(details({ history: [step(1, "user:start"), step(2, "user:reset")], lines: [line(1)] }));
  expect(dossier.lines.length).toBe(1); // that reset came before
  dossier.take(details({ seen: "b", history: [step(2, "user:reset"), step(3, "user:reset")], lines: [line(2)] }));
  expect(dossier.lines.map(([seq]) => seq)).toEqual([2]);
});

describe("the lines that are shown", () => {
  it("tell where some are missing, also at the beginning", () => {
    expect(shownLines([line(5), line(6), line(9)], "")).toEqual([
      { missing: 4 },
      { line: line(5) },
      { line: line(6) },
      { missing: 2 },
      { line: line(9) },
    ]);
  });

  it("hold what is searched for, in any case", () => {
    expect(shownLines([line(1, "Error: A"), line(2, "fine")], " error ")).toEqual([{ line: line(1, "Error: A") }]);
  });
});

describe("an error", () => {
  it("does not repeat a message that its traceback holds", () => {
    const failure = { title: "ValueError: x", exit_code: null, traceback: "Traceback\nValueError: x\n" };
    expect(errorText(failure)).toBe("Traceback\nValueError: x");
    expect(errorText({ ...failure, traceback: "frames" })).toBe("ValueError: x\n\nframes");
    expect(errorText({ ...failure, traceback: null })).toBe("ValueError: x");
  });
});

describe("arrow keys on the tabs", () => {
  it("go round", () => {
    expect(tabAfter("error", "ArrowRight")).toBe("overview");
    expect(tabAfter("overview", "ArrowLeft")).toBe("error");
    expect(tabAfter("history", "Home")).toBe("overview");
    expect(tabAfter("history", "x")).toBeUndefined();
  });
});
