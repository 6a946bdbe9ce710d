import { describe, expect, it } from "vitest";
import type { Bar } from "../src/timeline/bars.ts";
import { keepsUntil, Lanes } from "../src/timeline/lanes.ts";
import { pieceAt, piecesOf } from "../src/timeline/pieces.ts";
import { stepFrom } from "../src/timeline/walk.ts";
import type { Status } from "../src/wire/protocol.ts";

const bar = (start: number, end: number, changes: Partial<Bar> = {}): Bar => ({
  row: start,
  attempt: 1,
  start,
  end,
  ending: Number.isFinite(end) ? "known" : "open",
  status: "succeeded",
  paused: [],
  ...changes,
});

/** The same numbers on every run. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function randomBars(count: number, seed: number): Bar[] {
  const roll = dice(seed);
  return Array.from({ length: count }, (_, row) => {
    const start = Math.floor(roll() * 1000);
    return bar(start, start + Math.floor(roll() * 50), { row });
  });
}

function overlaps(lanes: Lanes): number {
  return lanes.lanes.flatMap((lane) =>
    lane.filter((each, place) => place > 0 && keepsUntil(lane[place - 1] as Bar) > each.start),
  ).length;
}

/** How many were under way at once, at most. */
function most(bars: readonly Bar[]): number {
  return Math.max(...bars.map((each) => bars.filter((b) => b.start <= each.start && b.end > each.start).length));
}

describe("lanes", () => {
  it("are as few as attempts were at once, without overlap", () => {
    for (const seed of [1, 2, 3]) {
      const bars = randomBars(300, seed);
      const lanes = new Lanes();
      lanes.pack(bars);
      expect(lanes.size).toBeLessThanOrEqual(most(bars) + 1); // one of no length still takes a lane
      expect(overlaps(lanes)).toBe(0);
      expect(lanes.lanes.flat().length).toBe(300);
    }
  });

  it("begin with the busiest", () => {
    const lanes = new Lanes();
    lanes.pack([bar(0, 10), bar(10, 20), bar(20, 30), bar(5, 8)]);
    expect(lanes.lanes.map((lane) => lane.length)).toEqual([3, 1]);
  });

  it("keep every bar where it is, whatever comes, ends and goes", () => {
    const roll = dice(5);
    const lanes = new Lanes();
    const places = new Map<Bar, number>();
    const open: Bar[] = [];
    for (let time = 0; time < 2000; time += 1) {
      if (roll() < 0.5) {
        const begun = bar(time, Number.POSITIVE_INFINITY, { row: time });
        lanes.place(begun);
        open.push(begun);
        places.set(begun, lanes.laneOf(begun) ?? -1);
      }
      if (roll() < 0.5) {
        const [over] = open.splice(Math.floor(roll() * open.length), 1);
        if (over) lanes.change(over, { ...over, end: time, ending: "known" });
      }
      if (roll() < 0.05) lanes.place(bar(Math.floor(roll() * time), time, { row: -time })); // told late
    }
    expect(overlaps(lanes)).toBe(0);
    for (const [each, lane] of places) expect(lanes.laneOf(each)).toBe(lane);
  });

  it("move a bar only when it would lie upon another", () => {
    const lanes = new Lanes();
    const [first, second] = [bar(0, 10), bar(12, 20)];
    lanes.pack([first, second]);
    lanes.change(first, { ...first, end: 15 });
    expect(lanes.laneOf(first)).toBe(1);
    expect(lanes.laneOf(second)).toBe(0);
    lanes.remove(first);
    expect(lanes.size).toBe(1);
  });
});

describe("pieces", () => {
  const view = (from: number, to: number, width: number) => ({
    span: { from, to },
    width,
    msPerPixel: (to - from) / width,
  });
  const clear = () => false;

  it("are one for each bar that can be seen, and one a pixel for those too thin", () => {
    const lane = [bar(0, 100), bar(100, 100.5), bar(100.6, 101), bar(105, 106), bar(120, 200)];
    const pieces = piecesOf(lane, view(0, 1000, 100), 1000, clear);
    expect(pieces.map(({ x, width, bars }) => [x, width, bars.length])).toEqual([
      [0, 10, 1],
      [10, 1, 3],
      [12, 8, 1],
    ]);
  });

  it("hold every bar in sight once, and none twice, however many there are", () => {
    const lanes = new Lanes();
    lanes.pack(randomBars(10_000, 9));
    for (const width of [50, 700, 5000]) {
      for (const lane of lanes.lanes) {
        const pieces = piecesOf(lane, view(200, 800, width), 1000, clear);
        const all = pieces.flatMap((piece) => piece.bars);
        const held = new Set(all);
        expect(held.size).toBe(all.length);
        expect(lane.filter((each) => each.start > 200 && each.start < 800 && !held.has(each))).toEqual([]);
        expect(pieces.length).toBeLessThanOrEqual(width * 2);
      }
    }
  });

  it("show the failure among a hundred that went well", () => {
    const lane = Array.from({ length: 100 }, (_, n) => bar(n / 100, (n + 1) / 100));
    lane[40] = { ...(lane[40] as Bar), status: "failed" as Status };
    expect(piecesOf(lane, view(0, 1000, 100), 1000, clear).map(({ tone }) => tone)).toEqual(["red"]);
    const [piece] = piecesOf(lane, view(0, 1000, 100), 1000, (row) => row !== lane[3]?.row);
    expect([piece?.tone, piece?.faint]).toEqual(["green", false]);
  });

  it("end at the present where they are open, and are found by the pixel", () => {
    const lane = [bar(0, 5), bar(100, Number.POSITIVE_INFINITY, { status: "running" })];
    const pieces = piecesOf(lane, view(0, 1000, 100), 600, clear);
    expect(pieces[1]).toMatchObject({ x: 10, width: 50, tone: "blue" });
    expect(pieceAt(pieces, 30)).toBe(pieces[1]);
    expect(pieceAt(pieces, 2)).toBe(pieces[0]);
    expect(pieceAt(pieces, 62)).toBe(pieces[1]);
    expect(pieceAt(pieces, 70)).toBeNull();
  });

  it("reach into sight from before it", () => {
    expect(piecesOf([bar(0, 500), bar(600, 700)], view(400, 1000, 60), 1000, clear).length).toBe(2);
    expect(piecesOf([bar(0, 100), bar(600, 700)], view(400, 1000, 60), 1000, clear).length).toBe(1);
  });
});

describe("arrow keys", () => {
  const lanes = new Lanes();
  const [a, b, c, d] = [bar(0, 10), bar(20, 30), bar(2, 6), bar(22, 24)];
  lanes.pack([a, b, c, d]);
  const span = { from: -1, to: 100 };

  it("walk within a lane and stay at its ends", () => {
    expect(stepFrom(lanes, null, "ArrowRight", span)).toBe(a);
    expect(stepFrom(lanes, a, "ArrowRight", span)).toBe(b);
    expect(stepFrom(lanes, b, "ArrowRight", span)).toBe(b);
    expect(stepFrom(lanes, b, "Home", span)).toBe(a);
    expect(stepFrom(lanes, a, "End", span)).toBe(b);
  });

  it("lead to what is nearest in time in the next lane", () => {
    expect(stepFrom(lanes, b, "ArrowDown", span)).toBe(d);
    expect(stepFrom(lanes, c, "ArrowUp", span)).toBe(a);
    expect(stepFrom(lanes, a, "ArrowUp", span)).toBe(a);
  });
});
