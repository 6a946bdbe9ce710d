/** Draws lanes, axis and the present on a canvas. */

import { BarPainter } from "./bar_painter.ts";
import type { Bar } from "./bars.ts";
import { AXIS_HEIGHT, LANE_HEIGHT } from "./measures.ts";
import type { Palette } from "./palette.ts";
import { type Piece, piecesOf } from "./pieces.ts";
import type { Tick } from "./ticks.ts";
import { ticks } from "./ticks.ts";
import type { Viewport } from "./viewport.ts";

const TICK_GAP = 108;

/** All that a picture depends on. */
export interface Scene {
  lanes: readonly (readonly Bar[])[];
  viewport: Viewport;
  /** In the feed's milliseconds; `epoch` makes Unix milliseconds of them. */
  now: number;
  epoch: number;
  /** The present is not known: it is the last that was. */
  stopped: boolean;
  width: number;
  height: number;
  scrollTop: number;
  palette: Palette;
  name(row: number): string;
  isFaint(row: number): boolean;
  /** The row all of whose bars are marked; null: none. */
  marked: number | null;
  /** The bar that has the keyboard. */
  focus: Bar | null;
}

/** The pieces of each lane that was drawn, by its number. */
export type Drawn = ReadonlyMap<number, readonly Piece[]>;

export function paint(ctx: CanvasRenderingContext2D, scene: Scene): Drawn {
  const { width, height, palette, viewport } = scene;
  const marks = ticks(
    scene.epoch + viewport.span.from,
    scene.epoch + viewport.span.to,
    width,
    TICK_GAP,
    scene.epoch + scene.now,
  );
  ctx.fillStyle = palette.raised;
  ctx.fillRect(0, 0, width, height);
  const present = Math.min(Math.max(viewport.x(scene.now), 0), width);
  ctx.fillStyle = palette.sunken;
  ctx.fillRect(present, AXIS_HEIGHT, width - present, height);
  paintGrid(ctx, scene, marks);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS_HEIGHT, width, height);
  ctx.clip();
  const drawn = paintLanes(ctx, scene);
  ctx.restore();
  paintPresent(ctx, scene);
  paintAxis(ctx, scene, marks);
  return drawn;
}

function paintLanes(ctx: CanvasRenderingContext2D, scene: Scene): Drawn {
  const painter = new BarPainter(ctx, scene);
  const first = Math.max(Math.floor(scene.scrollTop / LANE_HEIGHT), 0);
  const rows = Math.ceil((scene.height - AXIS_HEIGHT) / LANE_HEIGHT) + 1;
  const drawn = new Map<number, readonly Piece[]>();
  for (let number = first; number < Math.min(first + rows, scene.lanes.length); number += 1) {
    const pieces = piecesOf(scene.lanes[number] ?? [], scene.viewport, scene.now, scene.isFaint);
    drawn.set(number, pieces);
    painter.lane(pieces, AXIS_HEIGHT + number * LANE_HEIGHT - scene.scrollTop);
  }
  return drawn;
}

function paintGrid(ctx: CanvasRenderingContext2D, { palette, viewport, epoch, height }: Scene, marks: readonly Tick[]) {
  ctx.fillStyle = palette.line;
  for (const mark of marks) {
    ctx.globalAlpha = mark.day ? 1 : 0.55;
    ctx.fillRect(Math.round(viewport.x(mark.at - epoch)), AXIS_HEIGHT, 1, height - AXIS_HEIGHT);
  }
  ctx.globalAlpha = 1;
}

function paintAxis(ctx: CanvasRenderingContext2D, scene: Scene, marks: readonly Tick[]) {
  const { palette, viewport, epoch, width } = scene;
  ctx.fillStyle = palette.line;
  ctx.fillRect(0, AXIS_HEIGHT - 1, width, 1);
  ctx.font = `11px ${palette.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const mark of marks) {
    const x = Math.round(viewport.x(mark.at - epoch));
    ctx.fillStyle = palette.line;
    ctx.fillRect(x, AXIS_HEIGHT - 9, 1, 8);
    if (x + 5 + ctx.measureText(mark.label).width > width) continue;
    ctx.fillStyle = mark.day ? palette.text : palette.soft;
    ctx.fillText(mark.label, x + 5, AXIS_HEIGHT / 2 - 1);
  }
}

/** A line through all lanes, with a head on the axis; dashed where it is only the last that is known. */
function paintPresent(ctx: CanvasRenderingContext2D, { palette, viewport, now, stopped, width, height }: Scene) {
  const x = Math.round(viewport.x(now)) + 0.5;
  if (x < 0 || x > width) return;
  ctx.strokeStyle = stopped ? palette.soft : palette.focus;
  ctx.fillStyle = ctx.strokeStyle;
  ctx.lineWidth = 1;
  ctx.setLineDash(stopped ? [3, 3] : []);
  ctx.beginPath();
  ctx.moveTo(x, AXIS_HEIGHT);
  ctx.lineTo(x, height);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x - 4.5, AXIS_HEIGHT - 6);
  ctx.lineTo(x + 4.5, AXIS_HEIGHT - 6);
  ctx.lineTo(x, AXIS_HEIGHT);
  ctx.fill();
}
