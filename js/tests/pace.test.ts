import { expect, test } from "vitest";
import { Endings, Speeds } from "../src/tasks/pace.ts";

test("a rate needs four endings, and sinks while nothing ends", () => {
  const endings = new Endings();
  for (const time of [3000, 1000, 2000]) endings.add(time);
  expect(endings.rate(4000)).toBeNull();
  endings.add(4000);
  expect(endings.rate(4000)).toBeCloseTo(1);
  expect(endings.rate(7000)).toBeCloseTo(0.5);
});

test("endings long past say nothing about now", () => {
  const endings = new Endings();
  for (let time = 0; time < 10; time += 1) endings.add(time * 1000);
  expect(endings.rate(3_600_000)).toBeNull();
});

test("only the latest endings count", () => {
  const endings = new Endings();
  for (let time = 0; time < 500; time += 1) endings.add(time * 1000);
  for (let time = 0; time < 100; time += 1) endings.add(500_000 + time * 100);
  expect(endings.rate(510_000)).toBeCloseTo(10, 0);
});

test("the first report gives the mean since the start, later ones the recent speed", () => {
  const speeds = new Speeds();
  speeds.observe(1, 100, 10_000, 0);
  expect(speeds.rate(1)).toBeCloseTo(10);
  for (let second = 11; second <= 40; second += 1) speeds.observe(1, 100 + (second - 10) * 50, second * 1000, 0);
  expect(speeds.rate(1)).toBeCloseTo(50, 0);
});

test("a count that starts over starts its speed over", () => {
  const speeds = new Speeds();
  speeds.observe(1, 900, 10_000, 0);
  speeds.observe(1, 10, 21_000, 20_000);
  expect(speeds.rate(1)).toBeCloseTo(10);
  speeds.observe(1, null, null, null);
  expect(speeds.rate(1)).toBeNull();
});
