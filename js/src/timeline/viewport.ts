/** Which stretch of time is in sight, and how it is moved. Pure but for its own state. */

export interface Span {
  from: number;
  to: number;
}

/** `fit`: all there is. `follow`: the present stays at the right edge. `free`: as the reader left it. */
export type Mode = "fit" | "follow" | "free";

const SHORTEST_MS = 20;
/** The least that `fit` shows: a first attempt does not fill the width within its first second. */
const LEAST_FIT_MS = 5000;
const LONGEST_OF_ALL = 8;
/** Room at both edges, and right of the present. */
const MARGIN = 0.02;
const AHEAD = 0.06;

export class Viewport {
  mode: Mode = "fit";
  span: Span = { from: 0, to: LEAST_FIT_MS };
  /** Pixels. */
  width = 800;
  private all: Span = { from: 0, to: LEAST_FIT_MS };

  get msPerPixel(): number {
    return (this.span.to - this.span.from) / this.width;
  }

  x(time: number): number {
    return (time - this.span.from) / this.msPerPixel;
  }

  time(x: number): number {
    return this.span.from + x * this.msPerPixel;
  }

  /** Takes in what there is and what the time is. */
  settle(extent: Span | null, now: number): void {
    if (extent !== null) this.all = extent;
    if (this.mode === "fit") this.span = fitted(this.all);
    else if (this.mode === "follow") this.span = followed(this.span, now);
  }

  fit(): void {
    this.mode = "fit";
    this.span = fitted(this.all);
  }

  /** The last minute, or less where less is in sight. */
  follow(now: number): void {
    this.mode = "follow";
    const length = Math.min(this.span.to - this.span.from, Math.max((this.all.to - this.all.from) / 4, 60_000));
    this.span = followed({ from: 0, to: length }, now);
  }

  /** @param x - the pixel that keeps its time; while the present is followed, that keeps its place */
  zoom(factor: number, x: number, now: number): void {
    const longest = Math.max((this.all.to - this.all.from) * LONGEST_OF_ALL, LEAST_FIT_MS);
    const length = this.span.to - this.span.from;
    const wanted = Math.min(Math.max(length / factor, SHORTEST_MS), longest);
    const anchor = this.time(x);
    const from = anchor - (anchor - this.span.from) * (wanted / length);
    this.span = { from, to: from + wanted };
    if (this.mode === "follow") this.span = followed(this.span, now);
    else this.leave();
  }

  pan(pixels: number): void {
    const shift = pixels * this.msPerPixel;
    this.span = { from: this.span.from + shift, to: this.span.to + shift };
    this.leave();
  }

  /** Moves as little as brings a stretch into sight. */
  reveal(from: number, to: number): void {
    const length = this.span.to - this.span.from;
    const late = Math.min(to, from + length / 2) - this.span.to;
    const early = this.span.from - from;
    if (early > 0) this.pan(-(early + length * MARGIN) / this.msPerPixel);
    else if (late > 0) this.pan((late + length * MARGIN) / this.msPerPixel);
  }

  /** All there is cannot be lost from sight. */
  private leave(): void {
    this.mode = "free";
    const length = this.span.to - this.span.from;
    const from = Math.min(Math.max(this.span.from, this.all.from - length * 0.9), this.all.to - length * 0.1);
    this.span = { from, to: from + length };
  }
}

function fitted({ from, to }: Span): Span {
  const length = Math.max(to - from, LEAST_FIT_MS);
  return { from: from - length * MARGIN, to: from + length * (1 + MARGIN) };
}

function followed({ from, to }: Span, now: number): Span {
  const end = now + (to - from) * AHEAD;
  return { from: end - (to - from), to: end };
}
