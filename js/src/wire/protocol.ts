/**
 * What kernel and browser say to each other. Mirrors src/chongming_task/notebook/{rows,feed,inbound,details}.py; a Python test
 * holds the names of STATUSES, VERBS and ROW_DEFAULTS equal on both sides.
 */

/** Every status, in the order of the Python enum. */
export const STATUSES = [
  "pending",
  "blocked",
  "queued",
  "starting",
  "running",
  "pausing",
  "paused",
  "retry_wait",
  "stopping",
  "succeeded",
  "failed",
  "stopped",
  "cancelled",
  "skipped",
  "lost",
] as const;
export type Status = (typeof STATUSES)[number];

/** The verbs a view may send for tasks. */
export const VERBS = ["pause", "resume", "stop", "retry", "cancel", "skip", "reset"] as const;
export type Verb = (typeof VERBS)[number];

/** What a run may be asked as a whole. */
export const RUN_VERBS = ["pause", "resume", "stop", "retry_failed"] as const;
export type RunVerb = (typeof RUN_VERBS)[number];

/** Those that may be sent for many tasks at once. */
export const BULK_VERBS = ["pause", "resume", "stop", "retry", "cancel"] as const satisfies readonly Verb[];

export type Asked = "stop" | "cancel" | "pause";

/** What a verb meets: it acts, has nothing to do, or is refused. */
export type Outcome = "a" | "n" | "r";

/** One line of the kernel's verb table: the rules that hold for a row in this situation. */
export interface SituationPayload {
  status: Status;
  /** Paused only: does the task still hold its worker? */
  held: boolean | null;
  /** Place in the default order; lower comes first. */
  rank: number;
  /** One outcome letter a verb, in the order of VERBS. */
  rules: string;
}

/**
 * One task as the browser knows it, and the value of every field that was not sent. Times are milliseconds since the
 * feed's start (negative: before it).
 */
export interface Row {
  id: string;
  name: string;
  tags: readonly string[];
  created: number | null;
  tries_max: number;
  situation: number;
  asked: Asked | null;
  attempt: number;
  queued: number | null;
  started: number | null;
  ended: number | null;
  retry_at: number | null;
  grace_until: number | null;
  done: number | null;
  total: number | null;
  unit: string | null;
  note: string | null;
  progress_at: number | null;
  failure: string | null;
  abandoned: boolean;
  /** Its name in its pipeline. */
  node: string | null;
  /** Moves whenever its attempts and pauses do, where they are more than this row tells; 0: it tells all. */
  past: number;
  /** A status was set by hand: then the times here may be of something else than an attempt. */
  by_hand: boolean;
}

export const ROW_DEFAULTS: Row = {
  id: "",
  name: "",
  tags: [],
  created: null,
  tries_max: 1,
  situation: 0,
  asked: null,
  attempt: 0,
  queued: null,
  started: null,
  ended: null,
  retry_at: null,
  grace_until: null,
  done: null,
  total: null,
  unit: null,
  note: null,
  progress_at: null,
  failure: null,
  abandoned: false,
  node: null,
  past: 0,
  by_hand: false,
};

export type Columns = { [K in keyof Row]: Row[K][] };

/** Rows that changed in the same columns. A `whole` block starts its rows from ROW_DEFAULTS. */
export interface Block {
  whole?: boolean;
  rows: number[];
  cols: Partial<Columns>;
}

export type Counts = Partial<Record<Status, number>>;

/** The graph of a run: its nodes by number, as many as are told of. */
export interface GraphPayload {
  names: string[];
  /** From, to, from, to, … */
  edges: number[];
  /** The nodes that are maps and have tasks. */
  maps: number[];
  /** How many more there are. */
  nodes_left: number;
  edges_left: number;
}

export type RunStatus =
  | "pending"
  | "running"
  | "paused"
  | "stopping"
  | "succeeded"
  | "failed"
  | "stopped"
  | "cancelled";

/** How a run as a whole stands. Without a status another process leads it, and its nodes are steered one by one. */
export interface RunStanding {
  status: RunStatus | null;
  /** It was asked to pause. */
  paused: boolean;
}

/** What is told beside the rows of a run. */
export interface RunState {
  graph?: GraphPayload;
  /** Of each map that changed, by its number: how many of its tasks are in each status. */
  maps?: Record<string, Counts>;
  run?: RunStanding;
}

/** What is true of the whole table, at the kernel's time `at` (milliseconds since the feed's start). */
interface TableState extends RunState {
  at: number;
  counts: Counts;
  /** Rows the view has not been told yet: a large table arrives in pages. */
  behind: number;
  /** Why the rows may be behind what is true; null: they are not. */
  trouble?: string | null;
  blocks: Block[];
}

/** Starts a view anew. Rows of the same feed keep their numbers. */
export interface ResetMessage extends TableState {
  kind: "reset";
  feed: string;
  seq: number;
  title: string;
  /** The feed's start in Unix milliseconds, on the kernel's clock. */
  epoch: number;
  situations: SituationPayload[];
}

/** What changed since the message before it: `seq` counts without gaps. */
export interface PatchMessage extends Partial<TableState> {
  kind: "patch";
  seq: number;
  at: number;
  blocks: Block[];
}

export interface PingMessage {
  kind: "ping";
}

/** What became of one task a verb was sent for. */
export interface TaskResult {
  task: string;
  ok: boolean;
  /** False when the task already was as asked. */
  acted: boolean;
  error: string | null;
}

/** The answer to one request: per task, or one error for the whole. */
export interface AnswerMessage {
  kind: "answer";
  id: string;
  ok: boolean;
  error: string | null;
  results: TaskResult[];
  /** What was asked for: Details, or why tasks wait by their ids. */
  body?: unknown;
}

/** Short answers that waited for their turn, the oldest first. */
export interface AnswersMessage {
  kind: "answers";
  answers: AnswerMessage[];
}

/** One try of a task. Times are Unix milliseconds, here and in all details. */
export interface Attempt {
  attempt: number;
  status: Status;
  started: number | null;
  ended: number | null;
  seconds: number | null;
  paused: number;
  failure: string | null;
  pid: number | null;
  owner: string | null;
  note: string | null;
}

/** One change of a status. */
export interface Step {
  version: number;
  at: number;
  from: Status;
  to: Status;
  trigger: string;
  actor: string;
  reason: string | null;
}

/** Number, attempt, stream, level, time and text of a line of output. */
export type OutputLine = [number, number, string, number | null, number, string];

export interface FailureDetails {
  title: string;
  exit_code: number | null;
  traceback: string | null;
}

/** Why a task has not begun: limits that are full, or tasks it comes after. */
export type Waits = { limits: string[] } | { after: string[]; more: number };

/** Attempt, start, end and status of a try, in the feed's milliseconds; without an end it is under way. */
export type PastAttempt = [number, number, number | null, Status];

/** What the kernel tells of a task's tries beyond its row. As new as `version`, the row's `past`, or newer. */
export interface Past {
  version: number;
  attempts: PastAttempt[];
  /** When it was paused in place: from, to; null: it still is. */
  paused: [number, number | null][];
  /** How many older attempts are left out. */
  cut: number;
}

/** What the kernel tells of one task. All but the first four are left out when the view has seen them. */
export interface Details {
  seen: string;
  waits: Waits | null;
  heard: number | null;
  lines: OutputLine[];
  overview?: Record<string, string | number | boolean>;
  attempts?: Attempt[];
  attempts_cut?: number;
  history?: Step[];
  history_cut?: number;
  failure?: FailureDetails | null;
}

export type KernelMessage = ResetMessage | PatchMessage | PingMessage | AnswerMessage | AnswersMessage;

/** The widget's saved state: the last known table, cut to its first rows. `saved_at` is Unix milliseconds. */
export interface SavedTable extends Omit<ResetMessage, "kind" | "seq"> {
  saved_at: number;
}

export interface VerbArgs {
  force?: boolean;
  graceful?: boolean;
}

/** What a view sends. `hello` and `resync` are answered by a reset, `pong` by nothing. */
export type ViewMessage =
  | { id: string; verb: "hello" | "resync" | "pong" }
  | { id: string; verb: Verb; ids: string[]; args: VerbArgs }
  | ({ id: string } & ViewRequest);

/** What is asked beside verbs: answered by a body. */
export type ViewRequest =
  | { verb: "details"; task: string; seen: string; after: number }
  | { verb: "waits"; ids: string[] }
  | { verb: "past"; ids: string[] }
  | { verb: "run"; do: RunVerb }
  | { verb: "force_transition"; task: string; to: Status; reason: string };

/** The kernel refuses longer lists; larger selections go in several messages. */
export const IDS_PER_MESSAGE = 5000;
/** The same of pasts. */
export const PASTS_PER_MESSAGE = 100;
