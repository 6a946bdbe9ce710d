import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Link, type LinkListener, type WidgetModel } from "../src/wire/link.ts";
import type { KernelMessage, PatchMessage, SavedTable, ViewMessage } from "../src/wire/protocol.ts";
import { reset } from "./samples.ts";

class FakeModel implements WidgetModel {
  sent: ViewMessage[] = [];
  saved: Partial<SavedTable> = {};
  private readonly listeners = new Map<string, Set<(...args: never[]) => void>>();

  get(): Partial<SavedTable> {
    return this.saved;
  }
  on(event: string, callback: (...args: never[]) => void): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(callback));
  }
  off(event: string, callback: (...args: never[]) => void): void {
    this.listeners.get(event)?.delete(callback);
  }
  send(message: ViewMessage): void {
    this.sent.push(message);
  }
  emit(event: string, ...args: unknown[]): void {
    for (const callback of this.listeners.get(event) ?? []) (callback as (...args: unknown[]) => void)(...args);
  }
  deliver(message: KernelMessage): void {
    this.emit("msg:custom", message);
  }
  verbs(): string[] {
    return this.sent.map((message) => message.verb);
  }
}

const PATCH: PatchMessage = { kind: "patch", seq: 9, at: 0, blocks: [] };

let model: FakeModel;
let lifetime: AbortController;
let listener: LinkListener & { follows: boolean };
let link: Link;

beforeEach(() => {
  vi.useFakeTimers();
  model = new FakeModel();
  lifetime = new AbortController();
  listener = {
    follows: true,
    patch: vi.fn(() => listener.follows),
    reset: vi.fn(),
    saved: vi.fn(),
    lifeChanged: vi.fn(),
  };
  link = new Link(model, listener, lifetime.signal);
});

afterEach(() => {
  lifetime.abort();
  vi.useRealTimers();
});

test("a displayed view says hello, and is live with the reset", () => {
  link.open();
  expect(model.verbs()).toEqual(["hello"]);
  expect(link.life).toBe("connecting");
  model.deliver(reset([]));
  expect(link.life).toBe("live");
});

test("a gap asks for everything, once", () => {
  link.open();
  model.deliver(reset([]));
  listener.follows = false;
  model.deliver(PATCH);
  model.deliver(PATCH);
  expect(model.verbs()).toEqual(["hello", "resync"]);
});

test("patches before the first reset are passed over", () => {
  link.open();
  model.deliver(PATCH);
  expect(listener.patch).not.toHaveBeenCalled();
});

test("pings are answered", () => {
  link.open();
  model.deliver({ kind: "ping" });
  expect(model.verbs()).toEqual(["hello", "pong"]);
});

test("an answer settles its own request, whatever order they come in", async () => {
  const first = link.ask("stop", ["a"], {});
  const second = link.ask("pause", ["b"], {});
  const [one, two] = model.sent;
  const results = [{ task: "b", ok: true, acted: true, error: null }];
  model.deliver({ kind: "answer", id: two?.id ?? "", ok: true, error: null, results });
  model.deliver({ kind: "answer", id: one?.id ?? "", ok: false, error: "closed", results: [] });
  expect(await first).toEqual({ error: "closed", results: [] });
  expect(await second).toEqual({ error: null, results });
});

test("a long list of tasks goes in several messages and comes back as one reply", async () => {
  const ids = Array.from({ length: 12_000 }, (_, index) => `t${index}`);
  const reply = link.ask("stop", ids, {});
  expect(model.sent.map((message) => "ids" in message && message.ids.length)).toEqual([5000, 5000, 2000]);
  for (const message of model.sent) {
    const results = "ids" in message ? message.ids.map((task) => ({ task, ok: true, acted: true, error: null })) : [];
    model.deliver({ kind: "answer", id: message.id, ok: true, error: null, results });
  }
  expect((await reply).results).toHaveLength(12_000);
});

test("answers that come together settle each its own request", async () => {
  const replies = [link.ask("stop", ["a"], {}), link.ask("pause", ["b"], {})];
  const [one, two] = model.sent;
  const answer = (id: string, error: string | null) => ({
    kind: "answer" as const,
    id,
    ok: error === null,
    error,
    results: [],
  });
  model.deliver({ kind: "answers", answers: [answer(one?.id ?? "", null), answer(two?.id ?? "", "closed")] });
  expect((await Promise.all(replies)).map((reply) => reply.error)).toEqual([null, "closed"]);
});

test("silence is answered by a call, and only then by the verdict that the kernel is gone", async () => {
  link.open();
  model.deliver(reset([]));
  const reply = link.ask("stop", ["a"], {});
  vi.advanceTimersByTime(34_000);
  expect(model.verbs()).toEqual(["hello", "stop"]);
  vi.advanceTimersByTime(3_000);
  expect(model.verbs()).toEqual(["hello", "stop", "hello"]);
  expect(link.life).toBe("live");
  vi.advanceTimersByTime(13_000);
  expect(link.life).toBe("gone");
  expect((await reply).error).toBe("the kernel is gone and did not answer");
});

test("pings keep a view alive whose calls are not heard: the kernel is busy, not gone", () => {
  link.open();
  for (let round = 0; round < 12; round += 1) {
    vi.advanceTimersByTime(10_000);
    model.deliver({ kind: "ping" });
  }
  expect(link.life).toBe("connecting");
});

test("a saved notebook without a kernel shows its table, then says that the kernel is gone", () => {
  model.saved = { ...reset([]), saved_at: 1 };
  link.open();
  expect(listener.saved).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(14_000);
  expect(link.life).toBe("gone");
});

test("a kernel that comes back is called and believed", () => {
  link.open();
  vi.advanceTimersByTime(20_000);
  expect(link.life).toBe("gone");
  vi.advanceTimersByTime(31_000);
  expect(model.verbs()).toEqual(["hello", "hello"]);
  model.deliver(reset([]));
  expect(link.life).toBe("live");
});

test("a line that the front end says is cut is not waited for", () => {
  link.open();
  model.deliver(reset([]));
  model.send = () => {
    throw new Error("Cannot send");
  };
  model.emit("comm_live_update");
  expect(link.life).toBe("gone");
});

test("the saved table is shown anew while the view is not in step, and left alone when it is", () => {
  link.open();
  model.saved = { ...reset([]), saved_at: 1 };
  model.emit("change:saved");
  expect(listener.saved).toHaveBeenCalledTimes(1);
  model.deliver(reset([]));
  model.emit("change:saved");
  expect(listener.saved).toHaveBeenCalledTimes(1);
});

test("a closed view hears and says nothing more", () => {
  link.open();
  lifetime.abort();
  model.deliver(reset([]));
  vi.advanceTimersByTime(120_000);
  expect(model.verbs()).toEqual(["hello"]);
  expect(listener.reset).not.toHaveBeenCalled();
});
