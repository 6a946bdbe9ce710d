/** The few icons of the panel, drawn on a grid of 16 in the colour of the text around them. */

const SHAPES = {
  pause: "M4.5 3h2.6v10H4.5zM8.9 3h2.6v10H8.9z",
  resume: "M5 2.9v10.2L13 8z",
  stop: "M3.8 3.8h8.4v8.4H3.8z",
  "stop-now": "M2.2 3.8h7.6v7.6H2.2zM11.8 3.2h2v6h-2zM11.8 10.4h2v2h-2z",
  retry:
    "M8 3.2a4.8 4.8 0 1 0 4.7 5.8h-1.7A3.2 3.2 0 1 1 8 4.8c.9 0 1.7.4 2.3 1L8.4 7.6h4.9V2.8l-1.9 1.8A4.8 4.8 0 0 0 8 3.2z",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="cmt-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={SHAPES[name]} fill="currentColor" />
    </svg>
  );
}
