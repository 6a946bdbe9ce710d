/** From a click to what is sent, and from the answers to one line that says what happened. Pure. */

import { count } from "../format.ts";
import { refusal } from "../tasks/situations.ts";
import { statusText } from "../tasks/status_text.ts";
import type { TaskTable } from "../tasks/table.ts";
import type { TaskResult, Verb, VerbArgs } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { cannotBe, tasks, VERB_LABELS } from "./words.ts";

/** Rows that are asked together, with the same arguments. */
export interface Ask {
  rows: number[];
  args: VerbArgs;
}

/** What a verb would do to some rows. */
export interface Plan {
  verb: Verb;
  asks: Ask[];
  /** How many rows are asked. */
  acts: number;
  /** Why nothing or not everything is asked; empty when all is. */
  exceptions: string[];
  /** The question to put first; null: just do it. */
  question: string | null;
}

/** The plan for one row's button. `atOnce`: a stop that does not wait for the grace window. */
export function planForRow(table: TaskTable, row: number, verb: Verb, atOnce = false): Plan {
  const name = table.columns.name[row] ?? "";
  const one = (args: VerbArgs, question: string | null): Plan => ({
    verb,
    asks: [{ rows: [row], args }],
    acts: 1,
    exceptions: [],
    question,
  });
  if (atOnce) {
    return one(
      { graceful: false },
      say("Stop {name} at once? A worker that does not answer is given up, and the task is shown as lost.", { name }),
    );
  }
  if (verb === "reset") return resetPlan(table, row, name, one);
  if (verb !== "retry") return one({}, null);
  if (table.columns.abandoned[row]) {
    return one({ force: true }, say("{name} still runs in the background. Run a second copy beside it?", { name }));
  }
  return one(triesUsed(table, row) ? { force: true } : {}, null);
}

/** A reset is asked first: it forgets. */
function resetPlan(table: TaskTable, row: number, name: string, one: (args: VerbArgs, question: string) => Plan): Plan {
  const forgets = say("Reset {name}? It goes back to pending, and its attempts are forgotten; the history stays.", {
    name,
  });
  if (!table.columns.abandoned[row]) return one({}, forgets);
  return one({ force: true }, `${forgets} ${say("A worker of it still runs in the background.")}`);
}

/** The plan for a selection: what the verb table refuses is left out and counted. */
export function planForRows(table: TaskTable, rows: Iterable<number>, verb: Verb): Plan {
  const plain: number[] = [];
  const spent: number[] = [];
  let refused = 0;
  let doubled = 0;
  for (const row of rows) {
    if (refusal(table.situation(row), verb) !== null) refused += 1;
    else if (verb === "retry" && table.columns.abandoned[row]) doubled += 1;
    else if (verb === "retry" && triesUsed(table, row)) spent.push(row);
    else plain.push(row);
  }
  const acts = plain.length + spent.length;
  const exceptions = [cannotBe(verb, refused)];
  if (doubled > 0)
    exceptions.push(
      say(doubled === 1 ? "{count} still runs in the background." : "{count} still run in the background.", {
        count: count(doubled),
      }),
    );
  if (spent.length > 0) {
    exceptions.push(
      say(
        spent.length === 1 ? "{count} used all tries and gets one more." : "{count} used all tries and get one more.",
        { count: count(spent.length) },
      ),
    );
  }
  return {
    verb,
    asks: [
      { rows: plain, args: {} },
      { rows: spent, args: { force: true } },
    ].filter((ask) => ask.rows.length > 0),
    acts,
    exceptions: exceptions.filter((text) => text !== ""),
    question: say("{verb} {tasks}?", { verb: say(VERB_LABELS[verb]), tasks: tasks(acts) }),
  };
}

function triesUsed(table: TaskTable, row: number): boolean {
  return (table.columns.attempt[row] ?? 0) >= (table.columns.tries_max[row] ?? 1);
}

export interface Notice {
  text: string;
  bad: boolean;
}

/** "9 stopping, 3 refused". One refused task says its reason; one that did as asked says nothing: its row shows it. */
export function noticeOf(table: TaskTable, results: readonly TaskResult[]): Notice | null {
  const refused = results.filter((result) => !result.ok);
  const [first] = refused;
  if (results.length === 1) return first ? { text: first.error ?? say("refused"), bad: true } : null;
  const became = new Map<string, number>();
  for (const result of results) {
    if (!result.ok) continue;
    const row = table.rowOf(result.task);
    const word = becameWord(table, row, result.acted);
    became.set(word, (became.get(word) ?? 0) + 1);
  }
  const parts = [...became].map(([word, number]) => `${count(number)} ${word}`);
  if (first)
    parts.push(
      say("{count} refused ({why})", { count: count(refused.length), why: first.error ?? say("no reason given") }),
    );
  return { text: parts.join(", "), bad: refused.length > 0 };
}

function becameWord(table: TaskTable, row: number | undefined, acted: boolean): string {
  if (row === undefined) return say("done");
  const word = wordOf(table, row);
  return acted ? word : say("already {word}", { word });
}

/** The word a row's status goes by now, what it is asked to become included. */
function wordOf(table: TaskTable, row: number): string {
  return statusText(table, row).replace("…", "");
}
