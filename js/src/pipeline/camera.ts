/** Which part of the drawing is seen, and how large. Pure. */

import type { Box } from "./layout.ts";

export interface Size {
  width: number;
  height: number;
}

/** Where the drawing's corner is on the screen, and how many pixels one of its units takes. */
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export const MARGIN = 20;
export const LARGEST = 2;
export const SMALLEST = 0.05;
/** Below this a box shows its name alone, and below that only its colour. */
export const NAMES_ONLY = 0.62;
export const COLOURS_ONLY = 0.3;
/** What the view opens with at least: smaller says nothing, so a part is shown. */
const READABLE = 0.12;
/** How large that part is drawn. */
const PART = 0.85;
const HEIGHTS = { least: 132, most: 480 };

/** How high the view is for a drawing that is seen whole at a width. */
export function heightFor(world: Size, width: number): number {
  const scale = Math.min(1, Math.max((width - 2 * MARGIN) / Math.max(world.width, 1), READABLE));
  return Math.round(Math.min(Math.max(world.height * scale + 2 * MARGIN, HEIGHTS.least), HEIGHTS.most));
}

/** All of it, in the middle. */
export function fitted(world: Size, view: Size): Camera {
  const across = (view.width - 2 * MARGIN) / Math.max(world.width, 1);
  const down = (view.height - 2 * MARGIN) / Math.max(world.height, 1);
  const scale = Math.max(Math.min(across, down, 1), SMALLEST);
  return { scale, x: (view.width - world.width * scale) / 2, y: (view.height - world.height * scale) / 2 };
}

/** What a view opens with: all of it where that can be read, else the surroundings of a box. */
export function opening(world: Size, view: Size, box: Box | undefined): Camera {
  const whole = fitted(world, view);
  if (whole.scale >= READABLE || !box) return whole;
  const scale = PART;
  /** As near to the middle as the edges of the drawing allow. */
  const place = (at: number, length: number, room: number) =>
    length * scale <= room - 2 * MARGIN
      ? (room - length * scale) / 2
      : Math.min(Math.max(room / 2 - at * scale, room - MARGIN - length * scale), MARGIN);
  return {
    scale,
    x: place(box.x + box.width / 2, world.width, view.width),
    y: place(box.y + box.height / 2, world.height, view.height),
  };
}

/** Larger or smaller about a point of the screen, which stays where it is. */
export function zoomed(camera: Camera, factor: number, at: { x: number; y: number }, smallest: number): Camera {
  const scale = Math.min(Math.max(camera.scale * factor, Math.min(smallest, 1)), LARGEST);
  const change = scale / camera.scale;
  return { scale, x: at.x - (at.x - camera.x) * change, y: at.y - (at.y - camera.y) * change };
}

/** Moves no further than that some of the drawing is still seen. */
export function held(camera: Camera, world: Size, view: Size): Camera {
  const keep = (at: number, length: number, room: number) => {
    const seen = Math.min(80, length / 2);
    return Math.min(Math.max(at, seen - length), room - seen);
  };
  return {
    scale: camera.scale,
    x: keep(camera.x, world.width * camera.scale, view.width),
    y: keep(camera.y, world.height * camera.scale, view.height),
  };
}

/** Moves just as far as it takes to see a box whole. */
export function revealing(camera: Camera, box: Box, view: Size): Camera {
  const shift = (start: number, length: number, room: number) => {
    if (start < MARGIN) return MARGIN - start;
    return start + length > room - MARGIN ? Math.max(room - MARGIN - length - start, MARGIN - start) : 0;
  };
  const { scale } = camera;
  return {
    scale,
    x: camera.x + shift(box.x * scale + camera.x, box.width * scale, view.width),
    y: camera.y + shift(box.y * scale + camera.y, box.height * scale, view.height),
  };
}
