import { expect, test } from "vitest";
import { Waiting, waitsText } from "../src/tasks/waits.ts";
import type { Link, Reply } from "../src/wire/link.ts";

test("a limit or an upstream task is named", () => {
  expect(waitsText({ limits: ["tag db (4/4)", "bucket 3 (1/1)"] })).toBe("waits for tag db (4/4), bucket 3 (1/1)");
  expect(waitsText({ after: ["extract"], more: 0 })).toBe("after extract");
  expect(waitsText({ after: ["a", "b", "c"], more: 2 })).toBe("after a, b, c and 2 more");
});

test("one question at a time, and again after a while", async () => {
  let now = 1_000_000;
  const asked: string[][] = [];
  const answers: ((reply: Reply) => void)[] = [];
  const link = {
    life: "live",
    request: ({ ids }: { ids: string[] }) => {
      asked.push(ids);
      return new Promise<Reply>((resolve) => answers.push(resolve));
    },
  } as unknown as Link;
  const waiting = new Waiting(
    link,
    () => {},
    () => now,
  );
  waiting.tick([]);
  waiting.tick(["a", "b"]);
  waiting.tick(["a", "b"]);
  expect(asked).toEqual([["a", "b"]]);
  answers[0]?.({ error: null, results: [], body: { a: { after: ["x"], more: 0 }, b: null } });
  await Promise.resolve();
  expect([waiting.text("a"), waiting.text("b"), waiting.text("c")]).toEqual(["after x", "", ""]);
  waiting.tick(["a", "b"]);
  expect(asked.length).toBe(1);
  now += 2_500;
  waiting.tick(["a", "b"]);
  expect(asked.length).toBe(2);
  now += 25_000; // the answer was lost
  waiting.tick(["a", "b"]);
  expect(asked.length).toBe(3);
});
