/** Asks the kernel for what rows do not tell of themselves: earlier attempts and pauses. */

import type { Link } from "../wire/link.ts";
import { PASTS_PER_MESSAGE, type Past } from "../wire/protocol.ts";

/** How long after an answer the next question goes out, and after one that was an error. */
const AGAIN_MS = 150;
const AFTER_ERROR_MS = 3000;
/** How long after an answer the same task is asked for again. */
const SAME_AGAIN_MS = 1000;
/** An answer that has not come by then was lost on its way; a busy kernel may still give it. */
const LOST_MS = 20_000;
/** Stands for a task that is no more: there is nothing to ask for. */
const NOTHING: Past = { version: Number.POSITIVE_INFINITY, attempts: [], paused: [], cut: 0 };

export class Pasts {
  private readonly known = new Map<string, Past>();
  private readonly answeredAt = new Map<string, number>();
  private askedAt: number | null = null;
  private notBefore = 0;

  constructor(
    private readonly link: Link,
    /** Called with the tasks that were answered for. */
    private readonly answered: (tasks: readonly string[]) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** Another feed counts its times from elsewhere. */
  clear(): void {
    this.known.clear();
    this.answeredAt.clear();
  }

  /** What was told of a task, however old. */
  of(task: string): Past | undefined {
    return this.known.get(task);
  }

  /** Whether what is known is as new as a row says that there is. */
  isFresh(task: string, version: number): boolean {
    return version === 0 || (this.known.get(task)?.version ?? 0) >= version;
  }

  /** Whether a task may be asked for: one that changes all the time is not asked for all the time. */
  isDue(task: string): boolean {
    return this.now() - (this.answeredAt.get(task) ?? Number.NEGATIVE_INFINITY) >= SAME_AGAIN_MS;
  }

  /** How many milliseconds until a question may be sent; called again then. */
  tick(tasks: readonly string[]): number | null {
    if (tasks.length === 0 || this.link.life !== "live") return null;
    const now = this.now();
    if (this.askedAt !== null && now - this.askedAt < LOST_MS) return null;
    if (now < this.notBefore) return this.notBefore - now;
    this.ask(tasks.slice(0, PASTS_PER_MESSAGE), now);
    return null;
  }

  private ask(ids: string[], at: number): void {
    this.askedAt = at;
    void this.link.request({ verb: "past", ids }).then((reply) => {
      if (this.askedAt === at) this.askedAt = null;
      this.notBefore = this.now() + (reply.error === null ? AGAIN_MS : AFTER_ERROR_MS);
      const told = Object.entries((reply.body as Record<string, Past | null> | undefined) ?? {});
      for (const [id, past] of told) this.take(id, past ?? NOTHING);
      this.answered(told.map(([id]) => id));
    });
  }

  /** Answers may come late, after newer ones. */
  private take(id: string, past: Past): void {
    this.answeredAt.set(id, this.now());
    if (past.version >= (this.known.get(id)?.version ?? 0)) this.known.set(id, past);
  }
}
