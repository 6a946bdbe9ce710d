/** The verbs of the whole run: through the run where this kernel leads it, else node by node. */

import { ENDED } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import { type Plan, planForRows } from "../view/steering.ts";
import { tasks } from "../view/words.ts";
import type { RunStanding, RunVerb, Verb } from "../wire/protocol.ts";
import { say } from "../words/say.ts";

/** A plan for the run as a whole: no single row is asked. */
export interface RunPlan extends Plan {
  whole: RunVerb;
}

export function isForRun(plan: Plan): plan is RunPlan {
  return "whole" in plan;
}

/** What the buttons of the head offer, in their order. */
export function offers(run: RunStanding, table: TaskTable): RunVerb[] {
  const open = unended(table);
  const found: RunVerb[] = [];
  if (open > 0 && run.status !== "stopping") {
    found.push(run.status === null ? pausedRows(table) : run.paused ? "resume" : "pause", "stop");
  }
  if (broken(table) > 0) found.push("retry_failed");
  return found;
}

function pausedRows(table: TaskTable): RunVerb {
  const { counts } = table;
  return (counts.paused ?? 0) > 0 && !counts.running && !counts.starting ? "resume" : "pause";
}

/** How many have not ended, by the kernel's counts. */
export function unended(table: TaskTable): number {
  return table.total() - [...ENDED].reduce((sum, status) => sum + (table.counts[status] ?? 0), 0);
}

/** How many failed or were lost. */
export function broken(table: TaskTable): number {
  return (table.counts.failed ?? 0) + (table.counts.lost ?? 0);
}

const ALONE: Record<RunVerb, Verb> = { pause: "pause", resume: "resume", stop: "stop", retry_failed: "retry" };

export function planForRun(run: RunStanding, table: TaskTable, whole: RunVerb): Plan {
  const verb = ALONE[whole];
  if (run.status === null) {
    const rows = Array.from({ length: table.size }, (_, row) => row).filter((row) => table.columns.id[row] !== "");
    const fit = verb === "retry" ? rows.filter((row) => ["failed", "lost"].includes(table.status(row))) : rows;
    return planForRows(table, fit, verb);
  }
  const question =
    whole === "stop" ? say("Stop the whole run? Not ended yet: {tasks}.", { tasks: tasks(unended(table)) }) : null;
  const plan: RunPlan = { whole, verb, asks: [], acts: 1, exceptions: [], question };
  return plan;
}
