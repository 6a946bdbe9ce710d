/** What every view of tasks has: the table, the line to the kernel, what was clicked, and what is open. The components read it and call it. */

import { copyText } from "../drawer/copy.ts";
import { DrawerSession } from "../drawer/drawer_session.ts";
import { refusal } from "../tasks/situations.ts";
import { TaskTable } from "../tasks/table.ts";
import { MAY_WAIT, Waiting } from "../tasks/waits.ts";
import { type Life, Link, type LinkListener, type WidgetModel } from "../wire/link.ts";
import type { PatchMessage, ResetMessage, SavedTable, Verb } from "../wire/protocol.ts";
import { say as inWords } from "../words/say.ts";
import { MenuSession } from "./menu_session.ts";
import { type Notice, noticeOf, type Plan, planForRow } from "./steering.ts";
import { KERNEL_GONE } from "./words.ts";

/** A click not answered within this time is shown as waiting. */
const WAITING_SHOWS_AFTER_MS = 250;
const GOOD_NEWS_MS = 20_000;

interface Click {
  verb: Verb;
  at: number;
}

export class ViewSession implements LinkListener {
  readonly table: TaskTable;
  readonly link: Link;
  life: Life = "connecting";
  /** When the last saved table was true, in Unix milliseconds. */
  private savedAt: number | null = null;

  /** The row that has, or last had, the keyboard. */
  current: number | null = null;
  /** Asks the view to move the keyboard to the current row. */
  focusWanted = false;
  question: Plan | null = null;
  readonly drawer: DrawerSession;
  readonly menu: MenuSession;
  readonly waiting: Waiting;
  /** The rows that exist on the screen. */
  inSight: readonly number[] = [];

  private notice: (Notice & { at: number }) | null = null;
  private readonly clicks = new Map<number, Click>();

  constructor(
    model: WidgetModel,
    signal: AbortSignal,
    /** Draws soon; many calls draw once. */
    readonly repaint: () => void,
    protected readonly now: () => number = Date.now,
  ) {
    this.table = new TaskTable(now);
    this.link = new Link(model, this, signal, now);
    this.drawer = new DrawerSession(this);
    this.menu = new MenuSession(this);
    this.waiting = new Waiting(this.link, repaint, now);
  }

  // ---- news from the kernel

  reset(message: ResetMessage): void {
    this.table.reset(message);
    this.savedAt = null;
    this.repaint();
  }

  patch(message: PatchMessage): boolean {
    const follows = this.table.patch(message);
    if (follows) this.repaint();
    return follows;
  }

  saved(table: SavedTable): void {
    this.table.load(table);
    this.savedAt = table.saved_at;
    this.repaint();
  }

  lifeChanged(life: Life): void {
    this.life = life;
    if (life === "gone") {
      this.question = null;
      this.table.stop(this.asOf ?? this.now());
    }
    this.repaint();
  }

  /** When what is shown was last known to be true, in Unix milliseconds; null before anything is known. */
  get asOf(): number | null {
    return this.savedAt ?? this.link.confirmedAt;
  }

  /** Asks the kernel for what is due; called after every drawing. */
  tick(): void {
    this.drawer.tick();
    const { columns } = this.table;
    const held = this.inSight.filter((row) => MAY_WAIT.has(this.table.status(row)));
    this.waiting.tick(held.map((row) => columns.id[row] ?? "").filter(Boolean));
  }

  /** Whether the order is kept for the pointer although it has changed. */
  get orderHeld(): boolean {
    return false;
  }

  // ---- keyboard

  /** A key that is neither for the menu nor for the drawer; whether the view took it. */
  takesKey(_key: string, _target: Element): boolean {
    return false;
  }

  /** The same of a chord with Ctrl, Alt or Cmd. */
  takesChord(_event: KeyboardEvent, _target: Element): boolean {
    return false;
  }

  moveTo(row: number | undefined): void {
    if (row === undefined) return;
    this.current = row;
    this.focusWanted = true;
    this.repaint();
  }

  // ---- verbs

  /** Null when the verb may be asked of the row; else the reason. */
  refusal(row: number, verb: Verb): string | null {
    return this.life === "gone" ? inWords(KERNEL_GONE) : refusal(this.table.situation(row), verb);
  }

  actOnRow(row: number, verb: Verb, atOnce = false): void {
    const reason = atOnce ? null : this.refusal(row, verb);
    if (reason !== null) this.say({ text: `${this.table.columns.name[row] ?? ""}: ${reason}`, bad: true });
    // The same word twice is a double click; another one is a change of mind, and is sent though the first waits.
    else if (atOnce || this.clicks.get(row)?.verb !== verb) this.begin(planForRow(this.table, row, verb, atOnce));
  }

  answerQuestion(yes: boolean): void {
    const plan = this.question;
    this.question = null;
    if (plan && yes) void this.run(plan);
    this.repaint();
  }

  protected begin(plan: Plan): void {
    this.notice = null;
    if (plan.question === null) void this.run(plan);
    else this.question = plan;
    this.repaint();
  }

  protected async run(plan: Plan): Promise<void> {
    const at = this.now();
    const rows = plan.asks.flatMap((ask) => ask.rows);
    const click = { verb: plan.verb, at };
    for (const row of rows) this.clicks.set(row, click);
    setTimeout(this.repaint, WAITING_SHOWS_AFTER_MS);
    const ids = (ask: { rows: number[] }) => ask.rows.map((row) => this.table.columns.id[row] ?? "");
    const replies = await Promise.all(plan.asks.map((ask) => this.link.ask(plan.verb, ids(ask), ask.args)));
    for (const row of rows) if (this.clicks.get(row) === click) this.clicks.delete(row);
    this.answered(rows);
    const error = replies.find((reply) => reply.error !== null)?.error;
    const results = replies.flatMap((reply) => reply.results);
    this.say(error ? { text: error, bad: true } : noticeOf(this.table, results));
  }

  /** Rows were asked and have answered. */
  protected answered(_rows: readonly number[]): void {}

  /** The verb that was clicked on a row and has waited for the kernel long enough to be noticed. */
  waitingVerb(row: number): Verb | null {
    const click = this.clicks.get(row);
    return click && this.now() - click.at >= WAITING_SHOWS_AFTER_MS ? click.verb : null;
  }

  async copy(text: string): Promise<void> {
    const done = await copyText(text);
    this.say(done ? { text: inWords("copied"), bad: false } : { text: inWords("the browser did not copy"), bad: true });
  }

  // ---- the line that says what happened

  say(notice: Notice | null): void {
    this.notice = notice && { ...notice, at: this.now() };
    this.repaint();
  }

  /** Good news fades by itself, bad news stays until something else is done. */
  currentNotice(): Notice | null {
    const { notice } = this;
    return notice && (notice.bad || this.now() - notice.at < GOOD_NEWS_MS) ? notice : null;
  }
}
