import { expect, test } from "vitest";
import { ago, clockTime, count, elapsed, percent, quantity, rate, roughly } from "../src/format.ts";

test("elapsed time grows from minutes to hours to days", () => {
  const times = [10_000, 62_000, 3_723_000, 2 * 86_400_000 + 4 * 3_600_000];
  expect(times.map((time) => elapsed(time))).toEqual(["0:10", "1:02", "1:02:03", "2 d 4 h"]);
});

test("a short time is told to the tenth of a second", () => {
  expect([-500, 0, 4, 420, 7_000, 9_999].map((time) => elapsed(time))).toEqual([
    "0 s",
    "0 s",
    "<0.1 s",
    "0.4 s",
    "7.0 s",
    "9.9 s",
  ]);
});

test("a short time that still runs counts whole seconds: tenths would only flicker", () => {
  expect([0, 420, 7_900, 12_000].map((time) => elapsed(time, true))).toEqual(["0 s", "0 s", "7 s", "0:12"]);
});

test("a guess is as coarse as it deserves", () => {
  expect([500, 8_000, 99_000, 240_000, 7_800_000, 300 * 3_600_000].map(roughly)).toEqual([
    "1 s",
    "8 s",
    "99 s",
    "4 min",
    "2 h 10 min",
    "13 d",
  ]);
});

test("a rate is told per second, minute or hour, whichever reads as a number above one", () => {
  expect([rate(1234), rate(4.12), rate(0.2), rate(0.001)]).toEqual(["1,234/s", "4.1/s", "12/min", "3.6/h"]);
  expect(rate(310, "rows")).toBe("310 rows/s");
});

test("a percentage never says 100 before everything is done", () => {
  expect([percent(0), percent(0.29), percent(0.999), percent(1)]).toEqual(["0%", "29%", "99%", "100%"]);
});

test("numbers are grouped, and keep one decimal where it matters", () => {
  expect([count(12_345), quantity(99.96), quantity(12.34), quantity(7), quantity(1234.5)]).toEqual([
    "12,345",
    "100",
    "12.3",
    "7",
    "1,235",
  ]);
});

test("a time of another day carries its date", () => {
  const noon = new Date(2026, 10, 30, 12, 3).getTime();
  expect(clockTime(noon, noon + 1000)).toBe("12:03");
  expect(clockTime(noon, noon + 86_400_000)).toBe("2026-11-30 12:03");
});

test("ago fades from seconds to the time of day", () => {
  const noon = new Date(2026, 10, 30, 12, 3).getTime();
  expect([1_000, 20_000, 120_000, 7_200_000].map((age) => ago(noon, noon + age))).toEqual([
    "just now",
    "20 s ago",
    "2 min ago",
    "at 12:03",
  ]);
});
