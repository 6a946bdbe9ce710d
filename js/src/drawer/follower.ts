/** Asks the kernel for the details of the open task, again and again while its drawer is open. */

import { ENDED } from "../tasks/statuses.ts";
import type { Link } from "../wire/link.ts";
import type { Details, Status } from "../wire/protocol.ts";
import { Dossier } from "./dossier.ts";

/** How long after an answer the next question goes out. */
const AT_WORK_MS = 1000;
const ENDED_MS = 10_000;
/** After a change that the table has told. */
const CHANGED_MS = 250;
/** An answer that has not come by then was lost on its way; a busy kernel may still give it. */
const LOST_MS = 20_000;

export class Follower {
  dossier: Dossier | null = null;
  private askedAt: number | null = null;
  private answeredAt = 0;
  private mark = "";

  constructor(
    private readonly link: Link,
    private readonly repaint: () => void,
    private readonly now: () => number = Date.now,
  ) {}

  open(task: string): void {
    this.dossier = new Dossier(task);
    this.askedAt = null;
    this.ask();
  }

  close(): void {
    this.dossier = null;
  }

  /**
   * Called whenever the panel is drawn: asks when it is time.
   *
   * @param mark - changes whenever the row does in a way that its details tell of
   */
  tick(status: Status, mark: string): void {
    if (!this.dossier || this.link.life !== "live") return;
    const now = this.now();
    if (this.askedAt !== null && now - this.askedAt < LOST_MS) return;
    const wait = mark !== this.mark ? CHANGED_MS : ENDED.has(status) ? ENDED_MS : AT_WORK_MS;
    if (now - this.answeredAt < wait) return;
    this.mark = mark;
    this.ask();
  }

  private ask(): void {
    const { dossier } = this;
    if (!dossier) return;
    this.askedAt = this.now();
    const { task, seen, lastLine } = dossier;
    void this.link.request({ verb: "details", task, seen, after: lastLine }).then((reply) => {
      if (this.dossier !== dossier) return;
      this.askedAt = null;
      this.answeredAt = this.now();
      if (reply.error === null && reply.body) dossier.take(reply.body as Details);
      else dossier.error = reply.error ?? "";
      this.repaint();
      setTimeout(this.repaint, CHANGED_MS + 10);
    });
  }
}
