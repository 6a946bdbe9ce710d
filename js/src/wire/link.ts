/** The line to the kernel, and the only file that touches the anywidget model. */

import { say } from "../words/say.ts";
import {
  type AnswerMessage,
  IDS_PER_MESSAGE,
  type KernelMessage,
  type PatchMessage,
  type ResetMessage,
  type SavedTable,
  type TaskResult,
  type Verb,
  type VerbArgs,
  type ViewMessage,
  type ViewRequest,
} from "./protocol.ts";

/** The part of an anywidget model that a view uses. */
export interface WidgetModel {
  get(name: "saved"): Partial<SavedTable> | null | undefined;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event: string, callback: (...args: never[]) => void): void;
  send(content: ViewMessage): void;
}

/** `connecting` until the first reset, `gone` when the kernel stopped answering. */
export type Life = "connecting" | "live" | "gone";

/** What a view does with the news. */
export interface LinkListener {
  /** False: the patch did not follow on what is known, ask for all of it. */
  patch(message: PatchMessage): boolean;
  reset(message: ResetMessage): void;
  saved(table: SavedTable): void;
  lifeChanged(life: Life): void;
}

/** A reply to one `ask`, put together from as many messages as it took. */
export interface Reply {
  error: string | null;
  results: TaskResult[];
  body?: unknown;
}

/** The kernel pings every ten seconds, also while it runs a cell: after three silent rounds we call. */
const SILENCE_MS = 35_000;
/** How long a call may stay unanswered, and everything silent, before the kernel counts as gone: over one ping. */
const PATIENCE_MS = 12_000;
/** How often a kernel that does not answer is called again. */
const RECALL_MS = 30_000;

interface Waiting {
  resolve(reply: Reply): void;
}

/** The trait is an empty object until the kernel has saved a table. */
function isTable(saved: Partial<SavedTable> | null | undefined): saved is SavedTable {
  return saved?.feed !== undefined;
}

export class Link {
  life: Life = "connecting";
  /** When a kernel in step with this view was last heard; null before the first reset. */
  confirmedAt: number | null = null;
  private lastHeard: number;
  private calledAt: number | null = null;
  private serial = 0;
  private readonly prefix = Math.random().toString(36).slice(2, 10);
  private readonly waiting = new Map<string, Waiting>();

  constructor(
    private readonly model: WidgetModel,
    private readonly listener: LinkListener,
    signal: AbortSignal,
    private readonly now: () => number = Date.now,
  ) {
    this.lastHeard = now();
    const onMessage = (message: KernelMessage) => this.receive(message);
    const onSaved = () => this.onSaved();
    const onCommChange = () => this.doubt();
    model.on("msg:custom", onMessage);
    model.on("change:saved", onSaved);
    model.on("comm_live_update", onCommChange);
    const timer = setInterval(() => this.checkLife(), 1000);
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      model.off("msg:custom", onMessage);
      model.off("change:saved", onSaved);
      model.off("comm_live_update", onCommChange);
    });
  }

  /** Shows what the widget was saved with, then asks the kernel for the present. */
  open(): void {
    this.showSaved();
    this.call("hello");
  }

  /** Sends a verb for tasks; resolves when the kernel has answered for all of them. */
  async ask(verb: Verb, ids: readonly string[], args: VerbArgs): Promise<Reply> {
    const parts: Promise<Reply>[] = [];
    for (let start = 0; start < ids.length; start += IDS_PER_MESSAGE) {
      parts.push(this.askPart(verb, ids.slice(start, start + IDS_PER_MESSAGE), args));
    }
    const replies = await Promise.all(parts);
    return {
      error: replies.find((reply) => reply.error !== null)?.error ?? null,
      results: replies.flatMap((reply) => reply.results),
    };
  }

  private askPart(verb: Verb, ids: string[], args: VerbArgs): Promise<Reply> {
    const id = this.nextId();
    return new Promise((resolve) => {
      this.waiting.set(id, { resolve });
      this.post({ id, verb, ids, args });
    });
  }

  /** Asks for something that has an answer of its own. */
  request(content: ViewRequest): Promise<Reply> {
    const id = this.nextId();
    return new Promise((resolve) => {
      this.waiting.set(id, { resolve });
      this.post({ id, ...content });
    });
  }

  private receive(message: KernelMessage): void {
    this.hear();
    if (message.kind === "reset") {
      this.calledAt = null;
      this.listener.reset(message);
      this.become("live");
    } else if (message.kind === "patch") {
      // Before the first reset there is nothing to patch; the call for it is on its way.
      if (this.life === "live" && !this.listener.patch(message)) this.call("resync");
    } else if (message.kind === "ping") {
      this.post({ id: this.nextId(), verb: "pong" });
    } else if (message.kind === "answer") {
      this.settle(message);
    } else if (message.kind === "answers") {
      for (const answer of message.answers) this.settle(answer);
    }
    if (this.life === "live") this.confirmedAt = this.lastHeard;
  }

  private settle(answer: AnswerMessage): void {
    const { error, results, body } = answer;
    this.waiting.get(answer.id)?.resolve({ error: answer.ok ? null : error, results, body });
    this.waiting.delete(answer.id);
  }

  /** Whatever comes is a sign of life. */
  private hear(): void {
    this.lastHeard = this.now();
    if (this.life !== "gone") return;
    this.become("connecting");
    this.call("hello");
  }

  /** A kernel that is busy with a cell cannot answer a call, but goes on saving the table. */
  private onSaved(): void {
    this.hear();
    if (this.life !== "live") this.showSaved();
  }

  /** The front end says that the line was cut, or is new: silence need not be waited for. */
  private doubt(): void {
    this.lastHeard = this.now() - SILENCE_MS;
    this.calledAt = null;
    this.call("hello");
  }

  private showSaved(): void {
    const saved = this.model.get("saved");
    if (isTable(saved)) this.listener.saved(saved);
  }

  /** Asks for a reset, once at a time. */
  private call(verb: "hello" | "resync"): void {
    const now = this.now();
    if (this.calledAt !== null && now - this.calledAt < PATIENCE_MS) return;
    this.calledAt = now;
    if (!this.post({ id: this.nextId(), verb })) this.lose();
  }

  private checkLife(): void {
    const now = this.now();
    const silent = now - this.lastHeard;
    const unanswered = this.calledAt === null ? null : now - this.calledAt;
    const suspect = this.life !== "live" || silent >= SILENCE_MS;
    if (unanswered === null) {
      if (suspect) this.call("hello");
    } else if (this.life !== "gone" && suspect && unanswered >= PATIENCE_MS && silent >= PATIENCE_MS) {
      this.lose();
    } else if (unanswered >= RECALL_MS) {
      this.call("hello");
    }
  }

  private lose(): void {
    for (const { resolve } of this.waiting.values()) {
      resolve({ error: say("the kernel is gone and did not answer"), results: [] });
    }
    this.waiting.clear();
    this.become("gone");
  }

  private become(life: Life): void {
    if (life === this.life) return;
    this.life = life;
    this.listener.lifeChanged(life);
  }

  private nextId(): string {
    this.serial += 1;
    return `${this.prefix}-${this.serial}`;
  }

  /** False when the front end has no line to send on: it was closed with its kernel, and sending throws. */
  private post(message: ViewMessage): boolean {
    try {
      this.model.send(message);
      return true;
    } catch {
      return false;
    }
  }
}
