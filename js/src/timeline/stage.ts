/** The canvas in the page: its size, when it is painted, and what lies under a pixel. */

import { AXIS_HEIGHT, LANE_HEIGHT } from "./measures.ts";
import { isReducedMotion } from "./motion.ts";
import { type Drawn, paint } from "./painter.ts";
import { type Palette, readPalette } from "./palette.ts";
import { pieceAt, toneOf } from "./pieces.ts";
import type { Pointed, TimelineSession } from "./session.ts";

/** While the present moves, pictures follow each other at least so far apart. */
const BEAT_MS = 33;
/** Whatever moves slower is drawn with the next tick of the view. */
const SLOW_MS = 1000;

export class Stage {
  private drawn: Drawn = new Map();
  private palette: Palette | null = null;
  private frame = 0;
  private beat: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly session: TimelineSession,
    readonly scroller: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private readonly probes: Element,
    signal: AbortSignal,
  ) {
    const observer = new ResizeObserver(() => this.request());
    observer.observe(scroller);
    const scrolled = () => {
      // What the keyboard is on is told where it has come to; the pointer is on something else now.
      session.point(session.pointed?.byKeyboard ? this.atBar() : null);
      this.request();
    };
    scroller.addEventListener("scroll", scrolled, { signal, passive: true });
    signal.addEventListener("abort", () => {
      observer.disconnect();
      cancelAnimationFrame(this.frame);
      clearTimeout(this.beat);
    });
  }

  /** Paints with the next frame; many calls paint once. */
  request(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.paint();
      });
    }
  }

  /** The theme may have changed. */
  readColors(): void {
    this.palette = readPalette(this.probes);
  }

  paint(): void {
    const { session, scroller } = this;
    const ctx = this.canvas.getContext("2d");
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    if (ctx === null || width === 0) return;
    this.palette ??= readPalette(this.probes);
    const { viewport, table, chart, drawer, pointed } = session;
    viewport.width = width;
    viewport.settle(chart.extent(table.now()), table.now());
    session.applyFilter();
    this.fitCanvas(ctx, width, height);
    this.drawn = paint(ctx, {
      lanes: chart.lanes.lanes,
      viewport,
      now: table.now(),
      epoch: table.epoch,
      stopped: table.stopped,
      width,
      height,
      scrollTop: scroller.scrollTop,
      palette: this.palette,
      name: (row) => table.columns.name[row] ?? "",
      isFaint: session.isFaint,
      marked: drawer.row ?? (pointed?.piece.bars.length === 1 ? (pointed.piece.bars[0]?.row ?? null) : null),
      focus: scroller.matches(":focus-visible") ? session.bar : null,
    });
    this.keepBeat();
  }

  private fitCanvas(ctx: CanvasRenderingContext2D, width: number, height: number): void {
    const { canvas } = this;
    const ratio = devicePixelRatio;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** While something is under way and in sight, pictures follow each other as fast as the present moves by pixels. */
  private keepBeat(): void {
    clearTimeout(this.beat);
    const { session, scroller } = this;
    const moves = session.chart.facts.open > 0 || session.viewport.mode === "follow";
    const wait = Math.max(session.viewport.msPerPixel, BEAT_MS);
    if (!moves || wait > SLOW_MS || session.table.stopped || isReducedMotion()) return;
    const { top, bottom } = scroller.getBoundingClientRect();
    if (bottom > 0 && top < window.innerHeight) this.beat = setTimeout(() => this.request(), wait);
  }

  /** What lies under a point of the window. */
  at(clientX: number, clientY: number): Pointed | null {
    const box = this.scroller.getBoundingClientRect();
    const inside = clientY - box.top;
    if (inside < AXIS_HEIGHT) return null;
    const number = Math.floor((inside - AXIS_HEIGHT + this.scroller.scrollTop) / LANE_HEIGHT);
    const piece = pieceAt(this.drawn.get(number) ?? [], clientX - box.left);
    if (piece === null) return null;
    return { piece, byKeyboard: false, x: clientX, ...this.edges(number) };
  }

  /** The bar that has the keyboard, as if it was pointed at. */
  atBar(): Pointed | null {
    const { bar, chart, viewport } = this.session;
    const lane = bar === null ? undefined : chart.lanes.laneOf(bar);
    if (bar === null || lane === undefined) return null;
    const piece = { x: viewport.x(bar.start), width: 1, bars: [bar], tone: toneOf(bar), faint: false };
    const x = this.scroller.getBoundingClientRect().left + Math.max(piece.x, 0);
    return { piece, byKeyboard: true, x, ...this.edges(lane) };
  }

  /** Upper and lower edge of a lane in the window. */
  private edges(lane: number): { top: number; bottom: number } {
    const top = this.scroller.getBoundingClientRect().top + AXIS_HEIGHT + lane * LANE_HEIGHT - this.scroller.scrollTop;
    return { top, bottom: top + LANE_HEIGHT };
  }

  /** Scrolls as little as brings a lane into sight. */
  reveal(lane: number): void {
    const { scroller } = this;
    const top = lane * LANE_HEIGHT;
    const room = scroller.clientHeight - AXIS_HEIGHT - LANE_HEIGHT;
    scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, top - room), top);
  }
}
