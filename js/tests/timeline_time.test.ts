import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { stepFor, ticks } from "../src/timeline/ticks.ts";
import { Viewport } from "../src/timeline/viewport.ts";

beforeAll(() => void vi.stubEnv("TZ", "Europe/Berlin"));
afterAll(() => void vi.unstubAllEnvs());

const at = (text: string) => new Date(text).getTime();
const labels = (from: string, to: string, width = 1000, today = from) =>
  ticks(at(from), at(to), width, 100, at(today)).map((tick) => tick.label);

describe("ticks", () => {
  it("are round, from milliseconds to years", () => {
    expect(labels("2026-03-01T12:00:00.000", "2026-03-01T12:00:00.100").slice(0, 2)).toEqual([
      "12:00:00.00",
      "12:00:00.01",
    ]);
    expect(labels("2026-03-01T12:00:00", "2026-03-01T12:00:01").slice(0, 2)).toEqual(["12:00:00.0", "12:00:00.1"]);
    expect(labels("2026-03-01T12:00:03", "2026-03-01T12:00:28")).toEqual([
      "12:00:05",
      "12:00:10",
      "12:00:15",
      "12:00:20",
      "12:00:25",
    ]);
    expect(labels("2026-03-01T12:00:03", "2026-03-01T13:20:00").slice(0, 3)).toEqual(["12:10", "12:20", "12:30"]);
    expect(labels("2026-03-01T12:00:00", "2026-03-09T12:00:00").slice(0, 2)).toEqual(["03-02", "03-03"]);
    expect(labels("2020-03-01T12:00:00", "2026-03-09T12:00:00")[0]).toMatch(/^20\d\d-\d\d-\d\d$/);
  });

  it("leave room for their labels at every scale", () => {
    for (let length = 10; length < 1e13; length *= 3) {
      const marks = ticks(1.7e12, 1.7e12 + length, 800, 100, 1.7e12);
      expect(marks.length).toBeLessThanOrEqual(9);
      expect(marks.length).toBeGreaterThanOrEqual(length < 1e12 ? 2 : 1);
      expect(stepFor(length / 800, 100) * 800).toBeGreaterThanOrEqual(length * 100 * 0.999);
    }
  });

  it("say the day when it is another", () => {
    expect(labels("2026-03-01T22:00:00", "2026-03-02T02:00:00", 500)).toEqual([
      "22:00",
      "23:00",
      "03-02 00:00",
      "01:00",
      "02:00",
    ]);
    expect(labels("2026-03-01T22:00:00", "2026-03-01T23:00:00", 300, "2026-03-05T00:00:00")[0]).toBe("03-01 22:00");
  });

  it("stay round where the clocks are changed", () => {
    expect(labels("2026-03-28T12:00:00", "2026-03-31T12:00:00", 400)).toEqual(["03-29", "03-30", "03-31"]);
    expect(labels("2026-03-28T20:00:00", "2026-03-29T13:00:00", 600)).toEqual([
      "21:00",
      "03-29 00:00",
      "03:00",
      "06:00",
      "09:00",
      "12:00",
    ]);
    expect(labels("2026-10-24T20:00:00", "2026-10-25T13:00:00", 700).slice(1, 4)).toEqual([
      "10-25 00:00",
      "03:00",
      "06:00",
    ]);
  });
});

describe("the view", () => {
  const opened = () => {
    const view = new Viewport();
    view.width = 1000;
    view.settle({ from: 0, to: 600_000 }, 600_000);
    return view;
  };

  it("shows all at first, and grows with it", () => {
    const view = opened();
    expect([view.span.from < 0, view.span.to > 600_000]).toEqual([true, true]);
    view.settle({ from: 0, to: 700_000 }, 700_000);
    expect(view.span.to).toBeGreaterThan(700_000);
    expect(view.x(view.time(333))).toBeCloseTo(333);
  });

  it("keeps the time under the pointer while it zooms, and stays there when time goes on", () => {
    const view = opened();
    const time = view.time(250);
    view.zoom(4, 250, 600_000);
    expect(view.time(250)).toBeCloseTo(time);
    const { span } = view;
    view.settle({ from: 0, to: 900_000 }, 900_000);
    expect([view.mode, view.span]).toEqual(["free", span]);
  });

  it("follows the present at its right edge, also while it zooms", () => {
    const view = opened();
    view.follow(600_000);
    const length = view.span.to - view.span.from;
    view.settle({ from: 0, to: 650_000 }, 650_000);
    expect(view.span.to - view.span.from).toBeCloseTo(length);
    expect(view.x(650_000)).toBeCloseTo(940);
    view.zoom(2, 100, 650_000);
    expect([view.mode, Math.round(view.x(650_000))]).toEqual(["follow", 940]);
  });

  it("cannot lose all there is from sight, nor zoom without end", () => {
    const view = opened();
    view.pan(1e9);
    expect(view.span.from).toBeLessThan(600_000);
    view.pan(-1e9);
    expect(view.span.to).toBeGreaterThan(0);
    for (let turn = 0; turn < 100; turn += 1) view.zoom(3, 500, 600_000);
    expect(view.span.to - view.span.from).toBeGreaterThanOrEqual(19);
    for (let turn = 0; turn < 100; turn += 1) view.zoom(1 / 3, 500, 600_000);
    expect(view.span.to - view.span.from).toBeLessThan(6e6);
  });

  it("moves as little as brings a bar into sight", () => {
    const view = opened();
    view.zoom(10, 0, 600_000);
    view.reveal(300_000, 310_000);
    expect(view.x(310_000)).toBeLessThanOrEqual(1000);
    expect(view.x(300_000)).toBeGreaterThan(0);
    const { span } = view;
    view.reveal(300_000, 305_000);
    expect(view.span).toEqual(span);
  });
});
