/** All that is known of the task whose drawer is open, put together from the kernel's answers. No DOM, no model. */

import type { Attempt, Details, FailureDetails, OutputLine, Step, Waits } from "../wire/protocol.ts";

/** The browser keeps so many lines of output; the oldest go. */
export const LINES_KEPT = 2000;

export class Dossier {
  seen = "";
  waits: Waits | null = null;
  /** When its last sign of life came. */
  heard: number | null = null;
  overview: Record<string, string | number | boolean> = {};
  attempts: Attempt[] = [];
  attemptsCut = 0;
  history: Step[] = [];
  historyCut = 0;
  failure: FailureDetails | null = null;
  lines: OutputLine[] = [];
  /** Why the last question was not answered. */
  error: string | null = null;

  constructor(readonly task: string) {}

  /** Whether the first answer has come. */
  get known(): boolean {
    return this.seen !== "";
  }

  /** The number of the last line. */
  get lastLine(): number {
    return this.lines.at(-1)?.[0] ?? 0;
  }

  take(details: Details): void {
    const last = this.lastLine;
    this.error = null;
    this.seen = details.seen;
    this.waits = details.waits;
    this.heard = details.heard;
    if (details.overview) this.overview = details.overview;
    if (details.attempts) this.attempts = details.attempts;
    if (details.history) this.takeHistory(details.history);
    if (details.failure !== undefined) this.failure = details.failure;
    this.attemptsCut = details.attempts_cut ?? this.attemptsCut;
    this.historyCut = details.history_cut ?? this.historyCut;
    const fresh = details.lines.filter(([seq]) => seq > last); // an answer may come twice
    if (fresh.length > 0) this.lines = [...this.lines, ...fresh].slice(-LINES_KEPT);
  }

  /** A reset forgets the output: the kernel has, and sends what came after. */
  private takeHistory(history: Step[]): void {
    const last = this.history.at(-1)?.version ?? Number.POSITIVE_INFINITY;
    if (history.some((step) => step.version > last && step.trigger === "user:reset")) this.lines = [];
    this.history = history;
  }
}

/** A line of output, or how many are missing before the next. */
export type Shown = { line: OutputLine } | { missing: number };

/** The lines that hold a text, in any case; without one, all of them, and where some are missing. */
export function shownLines(lines: readonly OutputLine[], search: string): Shown[] {
  const text = search.trim().toLowerCase();
  if (text) return lines.filter((line) => line[5].toLowerCase().includes(text)).map((line) => ({ line }));
  const shown: Shown[] = [];
  let last = 0;
  for (const line of lines) {
    if (line[0] > last + 1) shown.push({ missing: line[0] - last - 1 });
    shown.push({ line });
    last = line[0];
  }
  return shown;
}

/** The traceback; with the message before it, where it does not hold it. */
export function errorText(failure: FailureDetails): string {
  const trace = failure.traceback?.trimEnd();
  if (!trace) return failure.title;
  return trace.includes(failure.title) ? trace : `${failure.title}\n\n${trace}`;
}
