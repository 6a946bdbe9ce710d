/** The state of the drawer: whose it is, which page, what is typed in it. Rows move, so it belongs to a task. */

import type { ViewSession } from "../view/session.ts";
import type { Status } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { Follower } from "./follower.ts";
import type { Tab } from "./tabs.ts";

let serial = 0;

export interface ByHandForm {
  to: Status;
  reason: string;
}

export class DrawerSession {
  /** The row whose drawer is open. */
  row: number | null = null;
  tab: Tab = "overview";
  search = "";
  byHand: ByHandForm | null = null;
  /** Asks the view to move the keyboard to the chosen tab. */
  focusWanted = false;
  /** For the ARIA references of one view. */
  readonly id = `cmt-drawer-${++serial}`;
  readonly follower: Follower;

  constructor(readonly view: ViewSession) {
    this.follower = new Follower(view.link, view.repaint);
  }

  /** Opens it under a row, at a page or where the reader was last; a second time closes it. */
  toggle(row: number): void {
    if (this.row === row) this.close();
    else this.show(row);
  }

  show(row: number, tab?: Tab): void {
    if (tab) this.tab = tab;
    if (this.row !== row) {
      this.row = row;
      this.search = "";
      this.byHand = null;
      this.follower.open(this.view.table.columns.id[row] ?? "");
    }
    this.view.repaint();
  }

  /** The same for the keyboard: it lands in the drawer. */
  showAt(row: number, tab: Tab): void {
    this.focusWanted = true;
    this.show(row, tab);
  }

  showByHand(row: number): void {
    this.show(row, "overview");
    this.beginByHand(this.view.table.status(row));
  }

  /** Rows of another feed are other tasks: then the keyboard has nowhere to go back to. */
  close(refocus = true): void {
    const { row } = this;
    this.row = null;
    this.follower.close();
    if (row !== null && refocus) this.view.moveTo(row);
    this.view.repaint();
  }

  showTab(tab: Tab): void {
    this.tab = tab;
    this.view.repaint();
  }

  searchOutput(text: string): void {
    this.search = text;
    this.view.repaint();
  }

  /** Asks for what is due; called with every drawing. */
  tick(): void {
    const { row } = this;
    const { dossier } = this.follower;
    if (row === null || dossier === null) return;
    const { table } = this.view;
    const { columns } = table;
    if (columns.id[row] !== dossier.task) {
      this.close(false);
      return;
    }
    this.follower.tick(table.status(row), `${columns.situation[row]} ${columns.attempt[row]} ${columns.asked[row]}`);
  }

  // ---- a status by hand

  beginByHand(to: Status): void {
    if (this.view.life === "gone") return;
    this.byHand = { to, reason: "" };
    this.view.repaint();
  }

  fillByHand(change: Partial<ByHandForm>): void {
    if (this.byHand) this.byHand = { ...this.byHand, ...change };
    this.view.repaint();
  }

  endByHand(): void {
    this.byHand = null;
    if (this.row !== null) this.view.moveTo(this.row);
    this.view.repaint();
  }

  async setByHand(): Promise<void> {
    const form = this.byHand;
    const task = this.follower.dossier?.task;
    if (!form || task === undefined || form.reason.trim() === "") return;
    this.endByHand();
    const reply = await this.view.link.request({ verb: "force_transition", task, to: form.to, reason: form.reason });
    const asked = (reply.body as { done?: boolean } | undefined)?.done === false;
    if (reply.error !== null) this.view.say({ text: reply.error, bad: true });
    else this.view.say({ text: asked ? say("its own controller was asked") : say("status set by hand"), bad: false });
  }
}
