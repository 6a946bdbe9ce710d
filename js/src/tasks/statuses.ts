/** How each status looks and is called: the table of the design, as data. */

import type { Status } from "../wire/protocol.ts";

export type Tone = "grey" | "blue" | "amber" | "green" | "red" | "purple";

/** A shape beside the word. They are drawn, not written: fonts lack some of the signs, or make coloured pictures of them. */
export type Glyph =
  | "ring"
  | "dashes"
  | "quarter"
  | "disc"
  | "half"
  | "bars"
  | "again"
  | "square"
  | "check"
  | "cross"
  | "question"
  | "barred"
  | "over";

export interface StatusLook {
  glyph: Glyph;
  tone: Tone;
  word: string;
}

export const STATUS_LOOKS: Record<Status, StatusLook> = {
  pending: { glyph: "ring", tone: "grey", word: "pending" },
  blocked: { glyph: "dashes", tone: "grey", word: "blocked" },
  queued: { glyph: "ring", tone: "grey", word: "queued" },
  starting: { glyph: "quarter", tone: "blue", word: "starting" },
  running: { glyph: "disc", tone: "blue", word: "running" },
  pausing: { glyph: "half", tone: "amber", word: "pausing…" },
  paused: { glyph: "bars", tone: "amber", word: "paused" },
  retry_wait: { glyph: "again", tone: "amber", word: "retries soon" },
  stopping: { glyph: "square", tone: "amber", word: "stopping…" },
  succeeded: { glyph: "check", tone: "green", word: "done" },
  failed: { glyph: "cross", tone: "red", word: "failed" },
  stopped: { glyph: "square", tone: "grey", word: "stopped" },
  cancelled: { glyph: "barred", tone: "grey", word: "cancelled" },
  skipped: { glyph: "over", tone: "grey", word: "skipped" },
  lost: { glyph: "question", tone: "purple", word: "lost" },
};

/** What a chip filters by and a segment of the bar stands for, in the order both are drawn. */
export interface StatusGroup {
  key: string;
  label: string;
  tone: Tone;
  statuses: readonly Status[];
}

export const GROUPS: readonly StatusGroup[] = [
  { key: "done", label: "Done", tone: "green", statuses: ["succeeded"] },
  { key: "failed", label: "Failed", tone: "red", statuses: ["failed"] },
  { key: "lost", label: "Lost", tone: "purple", statuses: ["lost"] },
  { key: "stopped", label: "Stopped", tone: "grey", statuses: ["stopped", "cancelled", "skipped"] },
  { key: "running", label: "Running", tone: "blue", statuses: ["running", "starting", "pausing", "stopping"] },
  { key: "paused", label: "Paused", tone: "amber", statuses: ["paused"] },
  { key: "retrying", label: "Retrying", tone: "amber", statuses: ["retry_wait"] },
  { key: "queued", label: "Queued", tone: "grey", statuses: ["queued", "blocked", "pending"] },
];

/** The order of the chips: what needs a look first. */
export const CHIP_ORDER = ["running", "paused", "retrying", "failed", "lost", "queued", "done", "stopped"] as const;

/** Where a task's attempt may be at work, so that its clock runs. */
export const ACTIVE: ReadonlySet<Status> = new Set<Status>(["starting", "running", "pausing", "stopping"]);

/** Nothing more happens by itself. */
export const ENDED: ReadonlySet<Status> = new Set<Status>([
  "succeeded",
  "failed",
  "stopped",
  "cancelled",
  "skipped",
  "lost",
]);
