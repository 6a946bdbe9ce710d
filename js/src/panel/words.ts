/** What the panel says, in one place: sentences are data or small functions of data. */

import { count } from "../format.ts";
import type { Verb } from "../wire/protocol.ts";

export const VERB_LABELS: Record<Verb, string> = {
  pause: "Pause",
  resume: "Resume",
  stop: "Stop",
  retry: "Retry",
  cancel: "Cancel",
  skip: "Skip",
  reset: "Reset",
};

const PAST: Record<Verb, string> = {
  pause: "paused",
  resume: "resumed",
  stop: "stopped",
  retry: "retried",
  cancel: "cancelled",
  skip: "skipped",
  reset: "reset",
};

export const EMPTY = "No tasks yet. controller.submit(my_task) starts one.";
export const LOADING = "Waiting for the kernel…";
export const NOTHING_MATCHES = "No task matches.";
export const WAITING = "waiting for the kernel";
export const KERNEL_GONE = "the kernel is gone";

export function tasks(number: number): string {
  return number === 1 ? "1 task" : `${count(number)} tasks`;
}

/** "3 cannot be stopped." */
export function cannotBe(verb: Verb, number: number): string {
  return number === 0 ? "" : `${count(number)} cannot be ${PAST[verb]}.`;
}
