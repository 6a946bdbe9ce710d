/** The card's state beside that of every view: whether the newest lines of output are unfolded. */

import { Follower } from "../drawer/follower.ts";
import { ViewSession } from "../view/session.ts";
import type { OutputLine } from "../wire/protocol.ts";

/** How many lines are shown before the drawer is opened. */
const LINES_SHOWN = 3;
/** A card has one task. */
export const ROW = 0;

export class CardSession extends ViewSession {
  private readonly tail = new Follower(this.link, this.repaint, this.now);

  override tick(): void {
    super.tick();
    const { columns } = this.table;
    if (this.tail.dossier !== null) this.tail.tick(this.table.status(ROW), `${columns.situation[ROW]}`);
  }

  /** Whether anything is shown under the line. */
  get unfolded(): boolean {
    return this.tail.dossier !== null || this.drawer.row !== null;
  }

  /** Unfolds the newest lines; or folds whatever is open. */
  toggle(): void {
    if (this.drawer.row !== null) this.drawer.close(false);
    else if (this.tail.dossier === null) this.tail.open(this.table.columns.id[ROW] ?? "");
    else this.tail.close();
    this.repaint();
  }

  /** All that is known, in the place of the lines. */
  showDetails(): void {
    this.tail.close();
    this.drawer.showAt(ROW, "overview");
  }

  /** The newest lines, the last at the end; null: they are folded, or the drawer stands there. */
  get lines(): readonly OutputLine[] | null {
    const { dossier } = this.tail;
    return dossier === null || this.drawer.row !== null ? null : dossier.lines.slice(-LINES_SHOWN);
  }

  /** Whether the kernel has told of the output yet. */
  get knowsOutput(): boolean {
    return this.tail.dossier?.known ?? false;
  }
}
