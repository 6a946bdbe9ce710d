/** What a bar, or a pixel full of them, says of itself. Pure. */

import { clockSeconds, count, elapsed } from "../format.ts";
import { STILL_RUNNING } from "../tasks/row_text.ts";
import { GROUPS, STATUS_LOOKS } from "../tasks/statuses.ts";
import type { TaskTable } from "../tasks/table.ts";
import type { Status } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { Bar } from "./bars.ts";

export interface Told {
  title: string;
  /** Null for several. */
  status: Status | null;
  lines: string[];
}

/** @param cut - how many attempts before those that are shown are not */
export function tellBar(table: TaskTable, bar: Bar, cut = 0): Told {
  const { name, attempt, tries_max, failure, abandoned } = table.columns;
  const last = bar.attempt === attempt[bar.row];
  const tries = Math.max(tries_max[bar.row] ?? 1, attempt[bar.row] ?? 1);
  const lines = [
    tries > 1 ? say("try {number} of {all}", { number: bar.attempt, all: tries }) : "",
    timesOf(table, bar),
  ];
  const stood = stoodStill(bar, table.now());
  if (stood > 0) lines.push(say("paused for {time}", { time: elapsed(stood) }));
  if (bar.ending === "lost") lines.push(say("whether and when it ended is not known"));
  if (bar.ending === "pending") lines.push(say("its end has not been told yet"));
  if (bar.ending === "lost" && last && abandoned[bar.row]) lines.push(say(STILL_RUNNING));
  if (last && bar.ending !== "open") lines.push(failure[bar.row] ?? "");
  if (cut > 0) lines.push(say("{count} earlier ones are not shown", { count: count(cut) }));
  return { title: name[bar.row] ?? "", status: bar.status, lines: lines.filter(Boolean) };
}

/** "12:03:04 – 12:03:28 · 0:24". */
function timesOf(table: TaskTable, bar: Bar): string {
  const from = clock(table, bar.start);
  if (bar.ending === "open") {
    const taken = elapsed(Math.max(table.now() - bar.start, 0), true);
    return `${say("since {time}", { time: from })} · ${taken}`;
  }
  if (bar.ending !== "known") return `${from} – ?`;
  return `${from} – ${clock(table, bar.end, bar.start)} · ${elapsed(bar.end - bar.start)}`;
}

/** With the date, where that is not the day of `beside`; default: of the present. */
function clock(table: TaskTable, time: number, beside = table.now()): string {
  return clockSeconds(table.epoch + time, table.epoch + beside);
}

function stoodStill(bar: Bar, now: number): number {
  return bar.paused.reduce((sum, [from, to]) => sum + Math.max(Math.min(to, now) - from, 0), 0);
}

/** "14 attempts: 12 done, 2 failed". */
export function tellSeveral(table: TaskTable, bars: readonly Bar[]): Told {
  const counts: Partial<Record<Status, number>> = {};
  for (const bar of bars) counts[bar.status] = (counts[bar.status] ?? 0) + 1;
  const first = bars[0]?.start ?? 0;
  const last = bars.at(-1)?.start ?? first;
  const from = clock(table, first);
  const to = clock(table, last, first);
  const sameSecond = clock(table, first, first) === to;
  return {
    title: attemptsText(bars.length),
    status: null,
    lines: [
      countsText(counts),
      sameSecond ? from : `${from} – ${to}`,
      say("too short to tell apart; click to look closer"),
    ],
  };
}

export function attemptsText(number: number): string {
  return number === 1 ? say("1 attempt") : say("{count} attempts", { count: count(number) });
}

/** "12 done, 2 failed". */
export function countsText(counts: Partial<Record<Status, number>>): string {
  return GROUPS.flatMap((group) => group.statuses)
    .filter((status) => (counts[status] ?? 0) > 0)
    .map((status) => `${count(counts[status] ?? 0)} ${say(STATUS_LOOKS[status].word).replace("…", "")}`)
    .join(", ");
}

/** The same as one sentence, for those who hear it. */
export function spokenBar(table: TaskTable, bar: Bar): string {
  const { title, status, lines } = tellBar(table, bar);
  return [title, status ? say(STATUS_LOOKS[status].word).replace("…", "") : "", ...lines].join(", ");
}
