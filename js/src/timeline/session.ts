/** The timeline's state beside that of every view: what is drawn, which time is in sight, and where the reader is. */

import { matches } from "../tasks/order.ts";
import { ViewSession } from "../view/session.ts";
import type { WidgetModel } from "../wire/link.ts";
import {
  type Block,
  PASTS_PER_MESSAGE,
  type PatchMessage,
  type ResetMessage,
  type SavedTable,
} from "../wire/protocol.ts";
import type { Bar } from "./bars.ts";
import { Chart } from "./chart.ts";
import { Pasts } from "./pasts.ts";
import type { Piece } from "./pieces.ts";
import { Viewport } from "./viewport.ts";
import { isWalk, stepFrom } from "./walk.ts";

/** What the pointer or the keyboard is on, and where. */
export interface Pointed {
  piece: Piece;
  byKeyboard: boolean;
  /** In the window's pixels: the pointer, or where the bar begins; and the edges of the lane. */
  x: number;
  top: number;
  bottom: number;
}

const ZOOM = 1.6;

export class TimelineSession extends ViewSession {
  readonly pasts: Pasts;
  readonly chart: Chart;
  readonly viewport = new Viewport();
  text = "";
  /** The bar that has, or last had, the keyboard. */
  bar: Bar | null = null;
  /** Asks the plot to bring that bar into sight. */
  revealWanted = false;
  pointed: Pointed | null = null;
  private feed: string | null = null;
  private shade = { text: "", version: -1, faint: new Uint8Array(0) };

  constructor(model: WidgetModel, signal: AbortSignal, repaint: () => void, now: () => number = Date.now) {
    super(model, signal, repaint, now);
    this.pasts = new Pasts(this.link, (tasks) => this.told(tasks), now);
    this.chart = new Chart(this.table, this.pasts, now);
  }

  // ---- news

  override reset(message: ResetMessage): void {
    super.reset(message);
    this.startFrom(message.feed, message.blocks);
  }

  override saved(table: SavedTable): void {
    super.saved(table);
    this.startFrom(table.feed, table.blocks);
  }

  override patch(message: PatchMessage): boolean {
    const follows = super.patch(message);
    if (follows) this.changed(message.blocks);
    return follows;
  }

  private startFrom(feed: string, blocks: readonly Block[]): void {
    if (feed !== this.feed) {
      this.pasts.clear();
      this.chart.clear();
      this.bar = null;
      this.pointed = null;
    }
    this.feed = feed;
    this.changed(blocks);
  }

  private changed(blocks: readonly Block[]): void {
    for (const block of blocks) this.chart.changed(block.rows);
  }

  private told(tasks: readonly string[]): void {
    this.chart.changed(tasks.flatMap((task) => this.table.rowOf(task) ?? []));
    this.repaint();
  }

  /** Called with every drawing, before anything is read. */
  prepare(): void {
    if (this.chart.update()) this.shade.version = -1;
    this.viewport.settle(this.chart.extent(this.table.now()), this.table.now());
  }

  override tick(): void {
    super.tick();
    const wanted: string[] = [];
    for (const row of this.chart.unknown) {
      const task = this.table.columns.id[row] ?? "";
      if (this.pasts.isDue(task) && wanted.push(task) === PASTS_PER_MESSAGE) break;
    }
    const wait = this.pasts.tick(wanted);
    if (wait !== null) setTimeout(this.repaint, wait);
  }

  /** How many attempts before a bar, the first of its task, are not shown. */
  cutBefore(bar: Bar): number {
    const { id } = this.table.columns;
    const isFirst = this.chart.barsOf(bar.row)[0] === bar;
    return isFirst ? (this.pasts.of(id[bar.row] ?? "")?.cut ?? 0) : 0;
  }

  // ---- filter

  filterText(text: string): void {
    this.text = text;
    this.repaint();
  }

  /** Whether a row stands back because it does not match what is typed. */
  readonly isFaint = (row: number): boolean => this.shade.text !== "" && this.shade.faint[row] === 1;

  /** Looks once at every row, when the text or the table has changed. */
  applyFilter(): void {
    const text = this.text.trim().toLowerCase();
    const { size, orderVersion } = this.table;
    if (text === this.shade.text && orderVersion === this.shade.version) return;
    const faint = new Uint8Array(text === "" ? 0 : size);
    for (let row = 0; row < faint.length; row += 1) faint[row] = matches(this.table, row, text) ? 0 : 1;
    this.shade = { text, version: orderVersion, faint };
  }

  // ---- what is in sight

  zoom(direction: 1 | -1, x = this.viewport.width / 2): void {
    this.viewport.zoom(direction > 0 ? ZOOM : 1 / ZOOM, x, this.table.now());
    this.pointed = null;
    this.repaint();
  }

  fit(): void {
    this.viewport.fit();
    this.repaint();
  }

  follow(): void {
    this.viewport.follow(this.table.now());
    this.repaint();
  }

  point(pointed: Pointed | null): void {
    if (pointed?.piece === this.pointed?.piece) return;
    this.pointed = pointed;
    this.repaint();
  }

  /** A bar opens the drawer of its task; a pixel full of bars comes closer. */
  pick(piece: Piece): void {
    const [bar] = piece.bars;
    this.pointed = null;
    if (piece.bars.length > 1) this.zoom(1, piece.x);
    else if (bar !== undefined) this.open(bar);
  }

  private open(bar: Bar): void {
    this.bar = bar;
    this.drawer.toggle(bar.row);
  }

  // ---- keyboard

  /** The drawer gives the keyboard back to the bar it was opened from. */
  override moveTo(row: number | undefined): void {
    super.moveTo(row);
    if (row === undefined || this.bar?.row === row) return;
    this.bar = this.chart.barsOf(row).at(-1) ?? this.bar;
  }

  override takesKey(key: string, target: Element): boolean {
    if (key === "Escape" && target.matches(".cmt-search")) {
      this.filterText("");
      return true;
    }
    if (!target.matches(".cmt-plot")) return false;
    if (key === "Escape") return this.takesBack();
    if (key === "+" || key === "=") this.zoom(1, this.middle());
    else if (key === "-") this.zoom(-1, this.middle());
    else if (key === "0") this.fit();
    else if (key === "Enter" && this.bar !== null) this.drawer.toggle(this.bar.row);
    else if (isWalk(key)) this.walk(key);
    else return false;
    return true;
  }

  private takesBack(): boolean {
    if (this.pointed !== null) this.point(null);
    else if (this.drawer.row !== null) this.drawer.close();
    else return false;
    return true;
  }

  /** The pixel that zooming by keyboard keeps: that of the bar, where it is in sight. */
  private middle(): number {
    const { width } = this.viewport;
    const x = this.bar === null ? width / 2 : this.viewport.x(this.bar.start);
    return x >= 0 && x <= width ? x : width / 2;
  }

  private walk(key: string): void {
    const bar = stepFrom(this.chart.lanes, this.bar, key, this.viewport.span);
    if (bar === null) return;
    this.bar = bar;
    this.pointed = null;
    this.viewport.reveal(bar.start, Math.min(bar.end, this.table.now()));
    this.revealWanted = true;
    this.repaint();
  }
}
