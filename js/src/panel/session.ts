/** The panel's state beside that of every view: what the reader filters, sorts and selects. */

import { orderRows, type Sort, type SortColumn } from "../tasks/order.ts";
import { GROUPS } from "../tasks/statuses.ts";
import { ViewSession } from "../view/session.ts";
import { planForRows } from "../view/steering.ts";
import type { Verb } from "../wire/protocol.ts";
import { ROWS_IN_SIGHT } from "./virtual_rows.ts";

/** A pointer that rests longer is not about to click: the order may move again. */
const POINTER_HOLD_MS = 5000;
/** Larger tables are put in order at most once a second. */
const LARGE_TABLE = 5000;

export class PanelSession extends ViewSession {
  group: string | null = null;
  text = "";
  sort: Sort | null = null;
  readonly selected = new Set<number>();
  private pointerAt: number | null = null;
  private order: number[] = [];
  private orderedAt = 0;
  private orderedVersion = -1;

  // ---- which rows

  /** The rows to show. Their order stands still under a moving pointer, and follows at once what the reader asks for. */
  rows(): readonly number[] {
    const { table } = this;
    const stale = table.orderVersion !== this.orderedVersion;
    const soon = table.size > LARGE_TABLE && this.now() - this.orderedAt < 1000;
    if (this.orderedVersion < 0 || (stale && !soon && !this.holdsOrder())) {
      const statuses = GROUPS.find((group) => group.key === this.group)?.statuses;
      this.order = orderRows(table, {
        statuses: statuses ? new Set(statuses) : null,
        text: this.text,
        sort: this.sort,
      });
      this.orderedVersion = table.orderVersion;
      this.orderedAt = this.now();
    }
    return this.order;
  }

  /** Whether the order is kept for the pointer although it has changed. */
  override get orderHeld(): boolean {
    return this.table.orderVersion !== this.orderedVersion && this.holdsOrder();
  }

  private holdsOrder(): boolean {
    return this.pointerAt !== null && this.now() - this.pointerAt < POINTER_HOLD_MS && this.order.length > 0;
  }

  pointer(inside: boolean): void {
    this.pointerAt = inside ? this.now() : null;
    if (!inside) this.repaint();
  }

  filterGroup(group: string | null): void {
    this.group = this.group === group ? null : group;
    this.reorder();
  }

  filterText(text: string): void {
    this.text = text;
    this.reorder();
  }

  clearFilters(): void {
    this.group = null;
    this.text = "";
    this.reorder();
  }

  /** First click: that column. Second: the other way round. Third: the default order. */
  sortBy(column: SortColumn): void {
    const descendingFirst = column === "progress" || column === "time" || column === "try";
    if (this.sort?.column !== column) this.sort = { column, descending: descendingFirst };
    else if (this.sort.descending === descendingFirst) this.sort = { column, descending: !descendingFirst };
    else this.sort = null;
    this.reorder();
  }

  private reorder(): void {
    this.orderedVersion = -1;
    this.repaint();
  }

  // ---- selection

  select(row: number, on: boolean): void {
    if (on) this.selected.add(row);
    else this.selected.delete(row);
    this.question = null;
    this.repaint();
  }

  /** Selects every row that is shown, or none. */
  selectAll(on: boolean): void {
    this.selected.clear();
    if (on) for (const row of this.rows()) this.selected.add(row);
    this.question = null;
    this.repaint();
  }

  // ---- verbs

  actOnSelection(verb: Verb): void {
    const plan = planForRows(this.table, this.selected, verb);
    if (plan.acts > 0) this.begin(plan);
    else this.say({ text: plan.exceptions.join(" "), bad: true });
  }

  protected override answered(rows: readonly number[]): void {
    if (rows.length > 1) this.selected.clear();
  }

  // ---- keyboard

  /** In the table arrows walk, space selects and Enter opens; Escape takes back what was chosen. */
  override takesKey(key: string, target: Element): boolean {
    if (key === "Escape") return this.takesBack(target);
    if (!target.closest(".cmt-body")) return false;
    const { current } = this;
    if (target.matches(".cmt-row") && current !== null) {
      if (key === "Enter") this.drawer.toggle(current);
      if (key === " ") this.select(current, !this.selected.has(current));
      if (key === "Enter" || key === " ") return true;
    }
    return this.walks(key);
  }

  private takesBack(target: Element): boolean {
    if (target.matches(".cmt-search")) this.filterText("");
    else if (this.selected.size > 0) this.selectAll(false);
    else return false;
    return true;
  }

  private walks(key: string): boolean {
    const rows = this.rows();
    const here = this.current === null ? -1 : rows.indexOf(this.current);
    const place = placeAfter(key, here, rows.length);
    if (place === undefined) return false;
    this.moveTo(rows[place]);
    return true;
  }

  /** Ctrl+A selects all rows. */
  override takesChord(event: KeyboardEvent, target: Element): boolean {
    if (event.key.toLowerCase() !== "a" || event.altKey) return false;
    if (!target.closest(".cmt-body") || target.closest(".cmt-drawer")) return false;
    this.selectAll(true);
    return true;
  }
}

/** Where a key leads in a list; undefined: it is none of those that walk. */
function placeAfter(key: string, here: number, length: number): number | undefined {
  const last = length - 1;
  const places: Record<string, number> = {
    ArrowDown: Math.min(here + 1, last),
    ArrowUp: Math.max(here - 1, 0),
    PageDown: Math.min(Math.max(here, 0) + ROWS_IN_SIGHT, last),
    PageUp: Math.max(here - ROWS_IN_SIGHT, 0),
    Home: 0,
    End: last,
  };
  return places[key];
}
