import { expect, test } from "vitest";
import { Follower } from "../src/drawer/follower.ts";
import type { Link, Reply } from "../src/wire/link.ts";
import type { Details } from "../src/wire/protocol.ts";

/** A follower on a clock of its own, and what it asked. */
function followed() {
  const asked: { task: string; seen: string; after: number }[] = [];
  const answers: ((reply: Reply) => void)[] = [];
  const link = {
    life: "live",
    request: (content: (typeof asked)[number]) => {
      asked.push(content);
      return new Promise<Reply>((resolve) => answers.push(resolve));
    },
  };
  const clock = { now: 1_000_000 };
  const follower = new Follower(
    link as unknown as Link,
    () => {},
    () => clock.now,
  );
  const answer = async (body: Partial<Details> = {}, error: string | null = null) => {
    answers.at(-1)?.({ error, results: [], body: { seen: "a", waits: null, heard: null, lines: [], ...body } });
    await Promise.resolve();
  };
  return { follower, link, asked, answer, clock };
}

test("one question at a time; the next goes on from what is known", async () => {
  const { follower, asked, answer, clock } = followed();
  follower.open("t1");
  follower.tick("running", "m");
  expect(asked).toMatchObject([{ task: "t1", seen: "", after: 0 }]);
  await answer({ lines: [[7, 1, "stdout", null, 0, "x"]] });
  clock.now += 300;
  follower.tick("running", "m"); // its mark is new
  expect(asked[1]).toMatchObject({ seen: "a", after: 7 });
  await answer();
  clock.now += 900;
  follower.tick("running", "m");
  expect(asked.length).toBe(2);
  clock.now += 200;
  follower.tick("running", "m");
  expect(asked.length).toBe(3);
});

test("an ended task is asked for seldom, unless it changes", async () => {
  const { follower, asked, answer, clock } = followed();
  follower.open("t1");
  await answer();
  clock.now += 300;
  follower.tick("failed", "m");
  await answer();
  clock.now += 5_000;
  follower.tick("failed", "m");
  expect(asked.length).toBe(2);
  follower.tick("failed", "other");
  expect(asked.length).toBe(3);
});

test("an error is told and the next answer takes it back; a closed or deaf one asks nothing", async () => {
  const { follower, link, asked, answer, clock } = followed();
  follower.open("t1");
  await answer({}, "no such task");
  expect(follower.dossier?.error).toBe("no such task");
  link.life = "gone";
  clock.now += 60_000;
  follower.tick("running", "m");
  expect(asked.length).toBe(1);
  link.life = "live";
  follower.tick("running", "m");
  await answer();
  expect(follower.dossier?.error).toBeNull();
  follower.close();
  clock.now += 60_000;
  follower.tick("running", "n");
  expect(asked.length).toBe(2);
});

test("an answer for a task that is not open any more is dropped", async () => {
  const { follower, asked, answer } = followed();
  follower.open("t1");
  follower.open("t2");
  expect(asked.map(({ task }) => task)).toEqual(["t1", "t2"]);
  await answer({ seen: "b" });
  expect(follower.dossier?.task).toBe("t2");
  expect(follower.dossier?.known).toBe(true);
});
