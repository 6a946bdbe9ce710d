/** The state of the drawer: whose it is, which page, what is typed in it. Rows move, so it belongs to a task. */

import type { PanelSession } from "../panel/session.ts";
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

  constructor(readonly panel: PanelSession) {
    this.follower = new Follower(panel.link, panel.repaint);
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
      this.follower.open(this.panel.table.columns.id[row] ?? "");
    }
    this.panel.repaint();
  }

  /** The same for the keyboard: it lands in the drawer. */
  showAt(row: number, tab: Tab): void {
    this.focusWanted = true;
    this.show(row, tab);
  }

  showByHand(row: number): void {
    this.show(row, "overview");
    this.beginByHand(this.panel.table.status(row));
  }

  /** Rows of another feed are other tasks: then the keyboard has nowhere to go back to. */
  close(refocus = true): void {
    const { row } = this;
    this.row = null;
    this.follower.close();
    if (row !== null && refocus) this.panel.moveTo(row);
    this.panel.repaint();
  }

  showTab(tab: Tab): void {
    this.tab = tab;
    this.panel.repaint();
  }

  searchOutput(text: string): void {
    this.search = text;
    this.panel.repaint();
  }

  /** Asks for what is due; called with every drawing. */
  tick(): void {
    const { row } = this;
    const { dossier } = this.follower;
    if (row === null || dossier === null) return;
    const { table } = this.panel;
    const { columns } = table;
    if (columns.id[row] !== dossier.task) {
      this.close(false);
      return;
    }
    this.follower.tick(table.status(row), `${columns.situation[row]} ${columns.attempt[row]} ${columns.asked[row]}`);
  }

  // ---- a status by hand

  beginByHand(to: Status): void {
    if (this.panel.life === "gone") return;
    this.byHand = { to, reason: "" };
    this.panel.repaint();
  }

  fillByHand(change: Partial<ByHandForm>): void {
    if (this.byHand) this.byHand = { ...this.byHand, ...change };
    this.panel.repaint();
  }

  endByHand(): void {
    this.byHand = null;
    if (this.row !== null) this.panel.moveTo(this.row);
    this.panel.repaint();
  }

  async setByHand(): Promise<void> {
    const form = this.byHand;
    const task = this.follower.dossier?.task;
    if (!form || task === undefined || form.reason.trim() === "") return;
    this.endByHand();
    const reply = await this.panel.link.request({ verb: "force_transition", task, to: form.to, reason: form.reason });
    const asked = (reply.body as { done?: boolean } | undefined)?.done === false;
    if (reply.error !== null) this.panel.say({ text: reply.error, bad: true });
    else this.panel.say({ text: asked ? say("its own controller was asked") : say("status set by hand"), bad: false });
  }
}
