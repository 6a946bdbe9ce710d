/** Status glyphs and button icons, drawn on a grid of 16 in the colour of the text around them. */

import type { ComponentChild } from "preact";
import type { Glyph } from "../tasks/statuses.ts";

const RING = <circle cx="8" cy="8" r="4.75" />;
const AGAIN = (
  <>
    <path d="M12.6 8A4.6 4.6 0 1 1 11.2 4.7" />
    <path d="M12.9 2.4v3.1H9.8" />
  </>
);

/** Lines, unless a shape says that it is filled. */
const SHAPES: Record<
  Glyph | "play" | "square-now" | "chevron" | "dots" | "behind" | "plus" | "minus" | "frame",
  ComponentChild
> = {
  ring: RING,
  dashes: <circle cx="8" cy="8" r="4.75" stroke-dasharray="2.2 1.53" />,
  quarter: (
    <>
      {RING}
      <path class="cmt-solid" d="M8 8V3.25A4.75 4.75 0 0 1 12.75 8z" />
    </>
  ),
  disc: <circle class="cmt-solid" cx="8" cy="8" r="4.75" />,
  half: (
    <>
      {RING}
      <path class="cmt-solid" d="M8 3.25a4.75 4.75 0 0 0 0 9.5z" />
    </>
  ),
  bars: <path class="cmt-solid" d="M4.6 3.4h2.4v9.2H4.6zM9 3.4h2.4v9.2H9z" />,
  again: AGAIN,
  square: <path class="cmt-solid" d="M4 4h8v8H4z" />,
  "square-now": <path class="cmt-solid" d="M2 4h8v8H2zM12 3.4h2v5.4h-2zM12 10.2h2v2h-2z" />,
  check: <path d="m3.6 8.4 3 3 5.8-6.6" />,
  cross: <path d="m4.4 4.4 7.2 7.2m0-7.2-7.2 7.2" />,
  question: (
    <>
      <path d="M5.7 5.6a2.3 2.3 0 1 1 3.5 2c-.8.5-1.2.9-1.2 1.8" />
      <path d="M8 12.2v.1" />
    </>
  ),
  barred: (
    <>
      {RING}
      <path d="m4.8 11.2 6.4-6.4" />
    </>
  ),
  over: (
    <>
      <path d="M2.8 10.6c1-5.4 8.2-6.2 9.9-1.6" />
      <path d="M13.2 5.6v3.6H9.6" />
    </>
  ),
  behind: (
    <>
      <circle class="cmt-solid" cx="10" cy="6" r="3.2" />
      <path d="M5.6 7.2a4.2 4.2 0 0 0 4.6 5.4" />
    </>
  ),
  dots: <path class="cmt-solid" d="M2.6 6.9h2.2v2.2H2.6zM6.9 6.9h2.2v2.2H6.9zM11.2 6.9h2.2v2.2h-2.2z" />,
  chevron: <path d="m6.2 4.2 3.8 3.8-3.8 3.8" />,
  plus: <path d="M8 3.4v9.2M3.4 8h9.2" />,
  minus: <path d="M3.4 8h9.2" />,
  frame: <path d="M2.8 6V2.8H6M10 2.8h3.2V6M13.2 10v3.2H10M6 13.2H2.8V10" />,
  play: <path class="cmt-solid" d="M5 3.2v9.6L12.8 8z" />,
};

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="cmt-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}
