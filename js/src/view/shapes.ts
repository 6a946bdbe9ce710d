/** Status glyphs and button icons as paths on a grid of 16: for the icons of the page, and for canvases. */

import type { Glyph } from "../tasks/statuses.ts";

export interface Shape {
  /** Drawn as a line. */
  line?: string;
  /** Filled. */
  solid?: string;
  /** Lengths of dashes and gaps of the line. */
  dashes?: readonly number[];
}

export type ShapeName = Glyph | "play" | "square-now" | "chevron" | "dots" | "behind";

const RING = "M12.75 8a4.75 4.75 0 1 1-9.5 0 4.75 4.75 0 1 1 9.5 0z";

export const SHAPES: Record<ShapeName, Shape> = {
  ring: { line: RING },
  dashes: { line: RING, dashes: [2.2, 1.53] },
  quarter: { line: RING, solid: "M8 8V3.25A4.75 4.75 0 0 1 12.75 8z" },
  disc: { solid: RING },
  half: { line: RING, solid: "M8 3.25a4.75 4.75 0 0 0 0 9.5z" },
  bars: { solid: "M4.6 3.4h2.4v9.2H4.6zM9 3.4h2.4v9.2H9z" },
  again: { line: "M12.6 8A4.6 4.6 0 1 1 11.2 4.7M12.9 2.4v3.1H9.8" },
  square: { solid: "M4 4h8v8H4z" },
  "square-now": { solid: "M2 4h8v8H2zM12 3.4h2v5.4h-2zM12 10.2h2v2h-2z" },
  check: { line: "m3.6 8.4 3 3 5.8-6.6" },
  cross: { line: "m4.4 4.4 7.2 7.2m0-7.2-7.2 7.2" },
  question: { line: "M5.7 5.6a2.3 2.3 0 1 1 3.5 2c-.8.5-1.2.9-1.2 1.8M8 12.2v.1" },
  barred: { line: `${RING}M4.8 11.2l6.4-6.4` },
  over: { line: "M2.8 10.6c1-5.4 8.2-6.2 9.9-1.6M13.2 5.6v3.6H9.6" },
  behind: { line: "M5.6 7.2a4.2 4.2 0 0 0 4.6 5.4", solid: "M13.2 6a3.2 3.2 0 1 1-6.4 0 3.2 3.2 0 1 1 6.4 0z" },
  dots: { solid: "M2.6 6.9h2.2v2.2H2.6zM6.9 6.9h2.2v2.2H6.9zM11.2 6.9h2.2v2.2h-2.2z" },
  chevron: { line: "m6.2 4.2 3.8 3.8-3.8 3.8" },
  play: { solid: "M5 3.2v9.6L12.8 8z" },
};
