/** The part of the drawing that is seen: all of it until somebody zooms or moves it, and then what they chose. */

import { type Camera, fitted, heightFor, held, opening, revealing, type Size, SMALLEST, zoomed } from "./camera.ts";
import type { Box, Layout } from "./layout.ts";

const STEP = 1.25;
/** Where no size is known yet. */
const FIRST_WIDTH = 800;

export class Viewport {
  /** Null: it follows the drawing. */
  private chosen: Camera | null = null;
  private world: Size = { width: 0, height: 0 };
  private width = FIRST_WIDTH;
  /** What to look at where not all of it can be seen. */
  private centre: Box | undefined;

  constructor(private readonly repaint: () => void) {}

  get view(): Size {
    return { width: this.width, height: heightFor(this.world, this.width) };
  }

  get camera(): Camera {
    return this.chosen ?? opening(this.world, this.view, this.centre);
  }

  /** Called with every drawing. */
  take(layout: Layout, centre: Box | undefined): void {
    this.world = layout;
    this.centre = centre;
  }

  /** How wide the view is. */
  resize(width: number): void {
    if (width === this.width || width <= 0) return;
    this.width = width;
    this.repaint();
  }

  /** Shows what it opened with, and follows the drawing again. */
  follow(): void {
    this.chosen = null;
    this.repaint();
  }

  fit(): void {
    this.choose(fitted(this.world, this.view));
  }

  zoom(factor: number, at = { x: this.view.width / 2, y: this.view.height / 2 }): void {
    const smallest = Math.max(Math.min(fitted(this.world, this.view).scale, 0.3), SMALLEST);
    this.choose(zoomed(this.camera, factor, at, smallest));
  }

  zoomIn(): void {
    this.zoom(STEP);
  }

  zoomOut(): void {
    this.zoom(1 / STEP);
  }

  move(dx: number, dy: number): void {
    const { camera } = this;
    this.choose({ ...camera, x: camera.x + dx, y: camera.y + dy });
  }

  reveal(box: Box): void {
    const { camera } = this;
    const moved = revealing(camera, box, this.view);
    if (moved.x !== camera.x || moved.y !== camera.y) this.choose(moved);
  }

  /** + and − zoom, 0 shows all of it. */
  takesKey(key: string): boolean {
    if (key === "+" || key === "=") this.zoomIn();
    else if (key === "-") this.zoomOut();
    else if (key === "0") this.fit();
    else return false;
    return true;
  }

  private choose(camera: Camera): void {
    this.chosen = held(camera, this.world, this.view);
    this.repaint();
  }
}
