/** What the panel says, in one place: sentences are data or small functions of data. */

import { count } from "../format.ts";
import type { Verb } from "../wire/protocol.ts";
import { say } from "../words/say.ts";

export const VERB_LABELS: Record<Verb, string> = {
  pause: "Pause",
  resume: "Resume",
  stop: "Stop",
  retry: "Retry",
  cancel: "Cancel",
  skip: "Skip",
  reset: "Reset",
};

export const PAST: Record<Verb, string> = {
  pause: "paused|past",
  resume: "resumed|past",
  stop: "stopped|past",
  retry: "retried|past",
  cancel: "cancelled|past",
  skip: "skipped|past",
  reset: "reset|past",
};

export const EMPTY = "No tasks yet. controller.submit(my_task) starts one.";
export const LOADING = "Waiting for the kernel…";
export const NOTHING_MATCHES = "No task matches.";
export const WAITING = "waiting for the kernel";
export const KERNEL_GONE = "the kernel is gone";

export function tasks(number: number): string {
  return number === 1 ? say("1 task") : say("{count} tasks", { count: count(number) });
}

/** "3 cannot be stopped." */
export function cannotBe(verb: Verb, number: number): string {
  return number === 0 ? "" : say("{count} cannot be {done}.", { count: count(number), done: say(PAST[verb]) });
}
