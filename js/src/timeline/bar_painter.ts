/** Draws the pieces of a lane. */

import { STATUS_LOOKS, type Tone } from "../tasks/statuses.ts";
import { SHAPES } from "../view/shapes.ts";
import type { Bar } from "./bars.ts";
import { BAR_HEIGHT, LANE_HEIGHT } from "./measures.ts";
import type { Scene } from "./painter.ts";
import type { Piece } from "./pieces.ts";

const TOP = (LANE_HEIGHT - BAR_HEIGHT) / 2;
/** From these widths on a bar has a body, a glyph, a name. */
const BODY = 5;
const GLYPH = 19;
const NAME = 46;
const FAINT = 0.22;
/** So many thin ones lie side by side that they would shout. */
const THIN = 0.7;
const EDGE = 2;
/** Fewer letters of a name say nothing. */
const LETTERS = 5;
const HATCH = 7;
const HATCHING = 0.8;

/** What went wrong stands out by its height as well where there is room for nothing else. */
const TALL: ReadonlySet<Tone> = new Set<Tone>(["red", "purple"]);

const paths = new Map<string, Path2D>();
const widths = new Map<string, number>();

export class BarPainter {
  private readonly hatch: CanvasPattern | null;

  constructor(
    private readonly ctx: CanvasRenderingContext2D,
    private readonly scene: Scene,
  ) {
    this.hatch = hatchOf(ctx, scene.palette.area.amber);
    ctx.font = `12px ${scene.palette.font}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
  }

  /** @param top - the lane's upper edge */
  lane(pieces: readonly Piece[], top: number): void {
    const { ctx } = this;
    for (const piece of pieces) if (piece.width >= BODY) this.body(piece, top + TOP);
    for (const piece of pieces) if (piece.width < BODY) this.thin(piece, top);
    ctx.globalAlpha = 1;
    for (const piece of pieces) this.marks(piece, top + TOP);
  }

  /** Filled whole; a bar keeps a little distance from the next. */
  private thin({ x, width, tone, faint }: Piece, top: number): void {
    const { ctx } = this;
    const tall = TALL.has(tone) ? 2 : 0;
    ctx.globalAlpha = faint ? FAINT : tall > 0 ? 1 : THIN;
    ctx.fillStyle = this.scene.palette.area[tone];
    ctx.fillRect(x, top + TOP - tall, width > 3 ? width - 1 : Math.max(width, 1), BAR_HEIGHT + 2 * tall);
  }

  private body(piece: Piece, y: number): void {
    const { ctx, scene } = this;
    const bar = piece.bars[0] as Bar;
    // Only what is near the edges of the picture is drawn: a canvas is slow with shapes of a million pixels.
    const x = Math.max(piece.x, -20);
    const right = Math.min(piece.x + piece.width - (bar.ending === "open" ? 0 : 1), scene.width + 20);
    const alpha = piece.faint ? FAINT : 1;
    const color = scene.palette.area[piece.tone];
    const sides = bar.ending === "known" ? [0, 3, 3, 0] : 0;
    ctx.beginPath();
    ctx.roundRect(x, y, right - x, BAR_HEIGHT, sides);
    ctx.globalAlpha = alpha;
    ctx.fillStyle = scene.palette.raised;
    ctx.fill();
    if (bar.ending === "lost" || bar.ending === "pending") this.fading(x, right, color, alpha);
    else {
      ctx.globalAlpha = alpha * (TALL.has(piece.tone) ? 0.42 : 0.3);
      ctx.fillStyle = color;
      ctx.fill();
    }
    ctx.globalAlpha = alpha;
    for (const [from, to] of bar.paused) this.stretch(from, to, x, right, y);
    ctx.fillStyle = color;
    if (piece.x > -4) ctx.fillRect(piece.x, y, EDGE, BAR_HEIGHT);
    if (bar.ending === "open") ctx.fillRect(right - 2, y, 2, BAR_HEIGHT);
    this.label(bar, piece, right, y + BAR_HEIGHT / 2 + 0.5);
  }

  /** It ended somewhere: the colour runs out. */
  private fading(x: number, right: number, color: string, alpha: number): void {
    const { ctx } = this;
    const run = ctx.createLinearGradient(x, 0, right, 0);
    run.addColorStop(0, color);
    run.addColorStop(1, this.scene.palette.raised);
    ctx.globalAlpha = alpha * 0.4;
    ctx.fillStyle = run;
    ctx.fill();
    ctx.globalAlpha = alpha * 0.75;
    ctx.strokeStyle = run;
    ctx.lineWidth = 1;
    ctx.setLineDash([4, 3]);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  private stretch(from: number, to: number, left: number, right: number, y: number): void {
    const { ctx, scene } = this;
    const x = Math.max(scene.viewport.x(from), left);
    const end = Math.min(scene.viewport.x(Math.min(to, scene.now)), right);
    if (end <= x) return;
    ctx.fillStyle = scene.palette.raised;
    ctx.fillRect(x, y + 1, end - x, BAR_HEIGHT - 2);
    if (this.hatch === null) return;
    const { globalAlpha } = ctx;
    ctx.globalAlpha = globalAlpha * HATCHING;
    this.hatch.setTransform(new DOMMatrix().translate(scene.viewport.x(from) % HATCH, y).scale(1 / devicePixelRatio));
    ctx.fillStyle = this.hatch;
    ctx.fillRect(x, y + 0.5, end - x, BAR_HEIGHT - 1);
    ctx.globalAlpha = globalAlpha;
  }

  /** Glyph and name, as much of it as there is room for, at the edge of what is in sight. */
  private label(bar: Bar, piece: Piece, right: number, middle: number): void {
    const { ctx, scene } = this;
    const left = Math.max(piece.x, 0) + 7;
    const room = Math.min(right, scene.width) - left - 4;
    if (piece.width < GLYPH || room < GLYPH - 11) return;
    const look = STATUS_LOOKS[bar.status];
    const text = piece.width < NAME ? "" : cut(ctx, scene.name(bar.row), room - 16);
    const halo = bar.paused.length > 0; // there may be hatching behind
    this.glyph(look.glyph, left - 1, middle - 7, scene.palette.ink[look.tone], halo);
    if (text === "") return;
    const x = Math.round(left + 15);
    if (halo) {
      ctx.strokeStyle = scene.palette.raised;
      ctx.lineWidth = 4;
      ctx.lineJoin = "round";
      ctx.strokeText(text, x, middle);
    }
    ctx.fillStyle = scene.palette.text;
    ctx.fillText(text, x, middle);
  }

  private glyph(name: keyof typeof SHAPES, x: number, y: number, color: string, halo: boolean): void {
    const { ctx } = this;
    const { line, solid } = SHAPES[name];
    ctx.save();
    ctx.translate(Math.round(x), y);
    ctx.scale(14 / 16, 14 / 16);
    ctx.lineCap = ctx.lineJoin = "round";
    if (halo) {
      ctx.strokeStyle = this.scene.palette.raised;
      ctx.lineWidth = 6;
      ctx.stroke(pathOf(line ?? solid ?? ""));
    }
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = 1.8;
    if (line) ctx.stroke(pathOf(line));
    if (solid) ctx.fill(pathOf(solid));
    ctx.restore();
  }

  /** All bars of the marked task, and the one that has the keyboard. */
  private marks(piece: Piece, y: number): void {
    const { ctx, scene } = this;
    const focused = scene.focus !== null && piece.bars.includes(scene.focus);
    if (!focused && (scene.marked === null || !piece.bars.some((bar) => bar.row === scene.marked))) return;
    const x = Math.max(piece.x, -20);
    const right = Math.min(piece.x + Math.max(piece.width - 1, 2), scene.width + 20);
    ctx.strokeStyle = focused ? scene.palette.focus : scene.palette.soft;
    ctx.lineWidth = focused ? 2 : 1.25;
    ctx.beginPath();
    ctx.roundRect(x - 1, y - 1, right - x + 2, BAR_HEIGHT + 2, 4);
    ctx.stroke();
  }
}

function pathOf(text: string): Path2D {
  let path = paths.get(text);
  if (path === undefined) {
    path = new Path2D(text);
    paths.set(text, path);
  }
  return path;
}

/** Measured once. */
function widthOf(ctx: CanvasRenderingContext2D, text: string): number {
  const key = `${ctx.font} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    width = ctx.measureText(text).width;
    if (widths.size > 20_000) widths.clear();
    widths.set(key, width);
  }
  return width;
}

/** What fits of a text. */
function cut(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  const width = widthOf(ctx, text);
  if (width <= room) return text;
  const letters = [...text];
  const share = (room - 10) / width; // of all letters, as wide as they are
  const all = letters.reduce((sum, letter) => sum + weight(letter), 0);
  let taken = 0;
  const fits = letters.findIndex((letter) => {
    taken += weight(letter);
    return taken > share * all;
  });
  return share * all < LETTERS ? "" : `${letters.slice(0, fits).join("").trimEnd()}…`;
}

/** Letters of East Asia are as wide as two others. */
function weight(letter: string): number {
  return letter > "\u2e80" ? 2 : 1;
}

let kept: { color: string; ratio: number; pattern: CanvasPattern | null } | null = null;

/** Diagonal lines, drawn once for a colour. */
function hatchOf(ctx: CanvasRenderingContext2D, color: string): CanvasPattern | null {
  const ratio = devicePixelRatio;
  if (kept?.color === color && kept.ratio === ratio) return kept.pattern;
  const tile = document.createElement("canvas");
  tile.width = tile.height = HATCH * ratio;
  const pen = tile.getContext("2d");
  if (pen === null) return null;
  pen.scale(ratio, ratio);
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const shift of [-HATCH, 0, HATCH]) {
    pen.moveTo(shift - 1, HATCH + 1);
    pen.lineTo(shift + HATCH + 1, -1);
  }
  pen.stroke();
  kept = { color, ratio, pattern: ctx.createPattern(tile, "repeat") };
  return kept.pattern;
}
