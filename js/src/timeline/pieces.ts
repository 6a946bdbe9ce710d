/** What of a lane is drawn: bars that can be seen on their own, and columns of a pixel that stand for those too thin. Pure. */

import { STATUS_LOOKS, type Tone } from "../tasks/statuses.ts";
import type { Bar } from "./bars.ts";
import { firstAfter } from "./lanes.ts";
import type { Viewport } from "./viewport.ts";

/** One bar, or several thin ones that share pixels. */
export interface Piece {
  x: number;
  width: number;
  /** By their starts; of several bars all of them. */
  bars: readonly Bar[];
  tone: Tone;
  faint: boolean;
}

/** The tone of a column is that of the bar that needs a look first. */
const WORST: readonly Tone[] = ["red", "purple", "amber", "blue", "grey", "green"];

export function toneOf(bar: Bar): Tone {
  return STATUS_LOOKS[bar.status].tone;
}

/**
 * The pieces of a lane within the view, left to right.
 *
 * @param now - where open bars end
 * @param faint - which rows stand back because a filter does not match them
 */
export function piecesOf(
  lane: readonly Bar[],
  view: Pick<Viewport, "span" | "width" | "msPerPixel">,
  now: number,
  faint: (row: number) => boolean,
): Piece[] {
  const pieces: Piece[] = [];
  const scale = 1 / view.msPerPixel;
  let thin: Bar[] = [];
  let column = 0;
  const flush = () => {
    if (thin.length > 0) pieces.push(columnOf(thin, column, faint));
    thin = [];
  };
  for (let place = firstInSight(lane, view.span.from); place < lane.length; place += 1) {
    const bar = lane[place] as Bar;
    if (bar.start > view.span.to) break;
    const x = (bar.start - view.span.from) * scale;
    const width = (Math.min(bar.end, Math.max(now, bar.start)) - bar.start) * scale;
    if (x + width < 0) continue;
    if (width >= 1) {
      flush();
      pieces.push({ x, width, bars: [bar], tone: toneOf(bar), faint: faint(bar.row) });
      continue;
    }
    const mine = Math.floor(x);
    if (mine !== column) flush();
    column = mine;
    thin.push(bar);
  }
  flush();
  return pieces;
}

/** The bars of a lane do not overlap: only the one before the first that begins in sight may reach into it. */
function firstInSight(lane: readonly Bar[], from: number): number {
  return Math.max(firstAfter(lane, from) - 1, 0);
}

function columnOf(bars: readonly Bar[], column: number, faint: (row: number) => boolean): Piece {
  const clear = bars.filter((bar) => !faint(bar.row));
  const tones = new Set((clear.length > 0 ? clear : bars).map(toneOf));
  const tone = WORST.find((each) => tones.has(each)) ?? "grey";
  return { x: column, width: 1, bars, tone, faint: clear.length === 0 };
}

/** The piece at a pixel, or the nearest within a few. */
export function pieceAt(pieces: readonly Piece[], x: number, reach = 3): Piece | null {
  let best: Piece | null = null;
  let distance = reach;
  for (const piece of pieces) {
    const away = Math.max(piece.x - x, x - (piece.x + Math.max(piece.width, 1)), 0);
    if (away < distance || (away === 0 && piece.width < (best?.width ?? Number.POSITIVE_INFINITY))) {
      best = piece;
      distance = away;
    }
  }
  return best;
}
