/** The state of the graph's view beside that of every view: what is open, what is lit, which part is seen. */

import { ACTIVE } from "../tasks/statuses.ts";
import { ViewSession } from "../view/session.ts";
import type { Notice, Plan } from "../view/steering.ts";
import { KERNEL_GONE } from "../view/words.ts";
import type { PatchMessage, ResetMessage, RunStanding, RunState, RunVerb, SavedTable } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { type CriticalPath, criticalPath, spansOf } from "./critical_path.ts";
import { Drawing } from "./drawing.ts";
import type { Unit } from "./fold.ts";
import { Members } from "./members.ts";
import { RunGraph } from "./run_graph.ts";
import { broken, isForRun, planForRun, unended } from "./run_steering.ts";
import { isStack } from "./unit_look.ts";
import { Viewport } from "./viewport.ts";
import { walk } from "./walk.ts";

const UNKNOWN_RUN: RunStanding = { status: null, paused: false };

export class PipelineSession extends ViewSession {
  readonly graph = new RunGraph(this.table);
  readonly drawing = new Drawing(this.graph);
  readonly viewport = new Viewport(this.repaint);
  readonly members = new Members(this.table, this.graph, this.now);
  standing = UNKNOWN_RUN;
  /** The box that has, or last had, the keyboard. */
  currentUnit: string | null = null;
  /** The stack whose tasks or nodes are listed. */
  openStack: string | null = null;
  /** Whether the critical path is shown. */
  lit = false;
  /** What was asked of the run and has no answer yet. */
  asking: RunVerb | null = null;
  private path: { version: string; found: CriticalPath | null } = { version: "", found: null };
  private troubleRow: number | null = null;
  private troubleKnown: { version: number; rows: number[] } = { version: -1, rows: [] };

  // ---- news from the kernel

  override reset(message: ResetMessage): void {
    super.reset(message);
    this.takeRun(message, [], true);
  }

  override patch(message: PatchMessage): boolean {
    const follows = super.patch(message);
    const whole = message.blocks.filter((block) => block.whole);
    if (follows)
      this.takeRun(
        message,
        whole.flatMap((block) => block.rows),
        false,
      );
    return follows;
  }

  override saved(table: SavedTable): void {
    super.saved(table);
    this.takeRun(table, [], true);
  }

  private takeRun(news: RunState, rows: readonly number[], anew: boolean): void {
    this.graph.take(news, rows, anew);
    this.standing = news.run ?? this.standing;
    this.drawing.refresh();
    if (this.openStack !== null && !this.drawing.unit(this.openStack)) this.openStack = null;
  }

  override tick(): void {
    const shown = this.openStack === null ? this.nodeRows() : this.members.inSight;
    this.inSight = shown.filter((row) => this.table.status(row) === "queued");
    super.tick();
  }

  private nodeRows(): number[] {
    return this.drawing.folded.units.flatMap(({ kind, nodes: [node = -1] }) =>
      kind === "node" ? (this.graph.rowOf(node) ?? []) : [],
    );
  }

  // ---- what is open

  /** A node opens its drawer, a stack the list of what it holds; a second time closes it. */
  open(unit: Unit): void {
    this.currentUnit = unit.key;
    const [node = -1] = unit.nodes;
    const row = this.graph.rowOf(node);
    if (isStack(this.graph, unit)) {
      const again = this.openStack === unit.key;
      this.drawer.close(false);
      this.openStack = again ? null : unit.key;
    } else if (row === undefined) {
      this.say({ text: say("{name}: not told yet", { name: this.graph.names[node] ?? "" }), bad: true });
    } else {
      this.openStack = null;
      if (this.drawer.row === row) this.drawer.close(false);
      else this.drawer.show(row);
    }
    this.repaint();
  }

  /** Closes whatever is under the graph; the keyboard goes back to the box. */
  closeAll(): void {
    this.openStack = null;
    this.drawer.close(false);
    this.focusWanted = true;
    this.repaint();
  }

  /** The box whose drawer or list is open. */
  shownUnit(): string | null {
    if (this.openStack !== null || this.drawer.row === null) return this.openStack;
    return this.drawing.unitOfNode(this.graph.nodeOf(this.drawer.row))?.key ?? null;
  }

  isOpen(unit: Unit): boolean {
    return this.shownUnit() === unit.key;
  }

  /** Also called when the drawer closes: then the keyboard goes back to where its row is shown. */
  override moveTo(row: number | undefined): void {
    super.moveTo(row);
    if (row === undefined || this.openStack !== null) return;
    this.currentUnit = this.drawing.unitOfNode(this.graph.nodeOf(row))?.key ?? this.currentUnit;
  }

  unfold(unit: Unit): void {
    this.openStack = null;
    this.drawer.close(false);
    this.drawing.unfold(unit);
    this.redrawn();
  }

  foldAgain(): void {
    this.openStack = null;
    this.drawing.foldAgain();
    this.redrawn();
  }

  private redrawn(): void {
    this.drawing.refresh();
    this.viewport.follow();
    this.repaint();
  }

  // ---- what went wrong

  /** The rows that failed or were lost, the first first, as far as they have come. */
  trouble(): readonly number[] {
    const { table, troubleKnown } = this;
    if (broken(table) === 0) return [];
    if (troubleKnown.version !== table.orderVersion) {
      const rows: number[] = [];
      for (let row = 0; row < table.size; row += 1) {
        const status = table.status(row);
        if (status === "failed" || status === "lost") rows.push(row);
      }
      const { ended } = table.columns;
      rows.sort((a, b) => (ended[a] ?? Infinity) - (ended[b] ?? Infinity) || a - b);
      this.troubleKnown = { version: table.orderVersion, rows };
    }
    return this.troubleKnown.rows;
  }

  /** The one that is spoken of: the first, until others are looked at. */
  shownTrouble(): number | undefined {
    const rows = this.trouble();
    return rows.includes(this.troubleRow ?? -1) ? (this.troubleRow ?? undefined) : rows[0];
  }

  troubleIsOpen(): boolean {
    return this.drawer.row !== null && this.drawer.row === this.shownTrouble();
  }

  /** Goes to the row that is spoken of, or on to the next: its box in sight, its error open. */
  showTrouble(): void {
    const rows = this.trouble();
    const shown = this.shownTrouble();
    const row = this.troubleIsOpen() ? rows[(rows.indexOf(shown ?? -1) + 1) % rows.length] : shown;
    const unit = row === undefined ? undefined : this.drawing.unitOfNode(this.graph.nodeOf(row));
    if (row === undefined) return;
    this.troubleRow = row;
    this.openStack = unit && isStack(this.graph, unit) ? unit.key : null;
    this.current = row;
    this.drawer.show(row, "error");
    if (!unit) return; // it is not drawn
    this.currentUnit = unit.key;
    this.reveal(unit.key);
  }

  /** How many nodes after a row's will not run because of it. */
  blockedBy(row: number): number {
    const node = this.graph.nodeOf(row);
    if (node === undefined) return 0;
    return this.graph.below([node]).filter((each) => this.graph.status(each) === "cancelled").length;
  }

  // ---- what is seen

  reveal(key: string): void {
    const box = this.drawing.layout.boxes[this.drawing.numberOf(key) ?? -1];
    if (box) this.viewport.reveal(box);
  }

  /** The box to look at first where not all can be seen: what went wrong, else what is at work. */
  centre(): number {
    const [first] = this.trouble();
    const busy = this.graph.names.findIndex((_, node) => ACTIVE.has(this.graph.status(node) ?? "pending"));
    const node = first === undefined ? busy : this.graph.nodeOf(first);
    return this.drawing.folded.unitOf[node ?? -1] ?? 0;
  }

  /** The path that decided how long the run took; null while it has not ended. */
  criticalPath(): CriticalPath | null {
    const { table, graph } = this;
    if (unended(table) > 0 || table.behind > 0 || graph.nodesLeft > 0) return null;
    const version = `${table.orderVersion} ${graph.version}`;
    if (this.path.version !== version) this.path = { version, found: criticalPath(spansOf(graph, table)) };
    return this.path.found;
  }

  // ---- the run as a whole

  steer(whole: RunVerb): void {
    if (this.life === "gone") this.say({ text: say(KERNEL_GONE), bad: true });
    else if (this.asking === null) {
      const plan = planForRun(this.standing, this.table, whole);
      if (plan.acts > 0) this.begin(plan);
      else this.say({ text: plan.exceptions.join(" "), bad: true });
    }
  }

  protected override async run(plan: Plan): Promise<void> {
    if (!isForRun(plan)) return super.run(plan);
    this.asking = plan.whole;
    this.repaint();
    const reply = await this.link.request({ verb: "run", do: plan.whole });
    this.asking = null;
    const body = reply.body as { again: number | null } | undefined;
    this.say(reply.error === null ? toldOf(body?.again ?? null) : { text: reply.error, bad: true });
  }

  // ---- keyboard

  override takesKey(key: string, target: Element): boolean {
    if (key === "Escape") return this.takesBack(target);
    if (target.closest(".cmt-members")) return this.walksMembers(key);
    if (!target.closest(".cmt-canvas")) return false;
    if (this.viewport.takesKey(key)) return true;
    const from = this.drawing.numberOf(this.currentUnit) ?? 0;
    const to = walk(this.drawing.layout, from, key);
    if (to === undefined) return false;
    const unit = to === null ? undefined : this.drawing.folded.units[to];
    if (unit) {
      this.currentUnit = unit.key;
      this.focusWanted = true;
      this.reveal(unit.key);
    }
    return true;
  }

  private takesBack(target: Element): boolean {
    if (this.openStack === null && this.drawer.row === null) return false;
    if (target.closest(".cmt-members") && this.drawer.row !== null) this.drawer.close();
    else this.closeAll();
    return true;
  }

  private walksMembers(key: string): boolean {
    const row = this.members.after(key, this.current);
    if (row === undefined) return false;
    this.moveTo(row);
    return true;
  }
}

function toldOf(again: number | null): Notice | null {
  if (again === null) return null;
  if (again === 0) return { text: say("nothing could be retried"), bad: true };
  return {
    text: again === 1 ? say("1 task runs again") : say("{count} tasks run again", { count: again }),
    bad: false,
  };
}
