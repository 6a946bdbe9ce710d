/** Why rows in sight have not begun: asked of the kernel now and then, for as long as there are such rows. */

import type { Link } from "../wire/link.ts";
import type { Status, Waits } from "../wire/protocol.ts";
import { say } from "../words/say.ts";

/** How long after an answer the next question goes out. */
const AGAIN_MS = 2000;
/** An answer that has not come by then was lost on its way. */
const LOST_MS = 20_000;
/** The kernel refuses longer lists. */
const MOST = 60;

/** Where a task may wait for something else than its turn. */
export const MAY_WAIT: ReadonlySet<Status> = new Set<Status>(["queued", "blocked"]);

/** "waits for tag db (4/4)", "after extract and 2 more". */
export function waitsText(waits: Waits): string {
  if ("limits" in waits) return say("waits for {what}", { what: waits.limits.join(", ") });
  const what = waits.after.join(", ");
  return waits.more > 0
    ? say("after {what} and {more} more", { what, more: waits.more })
    : say("after {what}", { what });
}

export class Waiting {
  private known: Record<string, Waits | null> = {};
  private askedAt: number | null = null;
  private answeredAt = 0;

  constructor(
    private readonly link: Link,
    private readonly repaint: () => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** Why a task waits, as far as that is known; empty: for its turn. */
  text(task: string): string {
    const waits = this.known[task];
    return waits ? waitsText(waits) : "";
  }

  /** Called whenever the panel is drawn: asks when it is time. */
  tick(tasks: readonly string[]): void {
    if (tasks.length === 0 || this.link.life !== "live") return;
    const now = this.now();
    if (this.askedAt !== null && now - this.askedAt < LOST_MS) return;
    const news = tasks.some((task) => !(task in this.known));
    if (now - this.answeredAt < (news ? AGAIN_MS / 4 : AGAIN_MS)) return;
    this.ask(tasks.slice(0, MOST), now);
  }

  private ask(ids: string[], at: number): void {
    this.askedAt = at;
    void this.link.request({ verb: "waits", ids }).then((reply) => {
      if (this.askedAt !== at) return;
      this.askedAt = null;
      this.answeredAt = this.now();
      const unknown = Object.fromEntries(ids.map((id) => [id, null]));
      this.known = { ...unknown, ...((reply.body as Record<string, Waits | null> | undefined) ?? {}) };
      this.repaint();
    });
  }
}
