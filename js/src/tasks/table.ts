/** The tasks as the browser knows them: columns, filled by resets and patches. No DOM, no model. */

import {
  type Asked,
  type Block,
  type Columns,
  type Counts,
  type PatchMessage,
  type ResetMessage,
  ROW_DEFAULTS,
  type Row,
  type SavedTable,
  type Status,
} from "../wire/protocol.ts";
import { Endings, Speeds } from "./pace.ts";
import { Pauses } from "./pauses.ts";
import { readSituation, type Situation, UNKNOWN_SITUATION } from "./situations.ts";

type Key = keyof Row;
const KEYS = Object.keys(ROW_DEFAULTS) as Key[];

/** A change in one of these may move a row in the default order, or in or out of a filter. */
const ORDERING: ReadonlySet<string> = new Set<Key>(["situation", "name", "tags", "queued", "started", "ended"]);

function emptyColumns(): Columns {
  return Object.fromEntries(KEYS.map((key) => [key, []])) as unknown as Columns;
}

const DIGITS_COMPARED = 16;

function naturalKey(name: string): string {
  return name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(DIGITS_COMPARED, "0"));
}

export class TaskTable {
  title = "";
  /** The start of the feed's clock in Unix milliseconds, as the kernel counts them. */
  epoch = 0;
  counts: Counts = {};
  /** Rows the kernel has not told yet. */
  behind = 0;
  /** Why the rows may be behind what is true, in the kernel's words; null: they are not. */
  trouble: string | null = null;
  size = 0;
  /** Moves when the order or the membership of a filter may have changed. */
  orderVersion = 0;
  columns: Columns = emptyColumns();
  /** What rows sort by for their names: case does not count, and "part 9" comes before "part 10". */
  nameKeys: string[] = [];
  readonly endings = new Endings();
  readonly speeds = new Speeds();
  readonly pauses = new Pauses();
  private numbers = new Map<string, number>();
  private feed: string | null = null;
  private seq = 0;
  private situations: readonly Situation[] = [];
  /** Browser clock minus feed clock; the smallest seen has the least delay in it. */
  private offset = 0;
  private stoppedAt: number | null = null;

  constructor(private readonly clock: () => number = Date.now) {}

  /** Now, in the feed's milliseconds. */
  now(): number {
    return this.stoppedAt ?? this.clock() - this.offset;
  }

  /** Whether this is a last known state: its clocks stand still, and nothing may be foretold from it. */
  get stopped(): boolean {
    return this.stoppedAt !== null;
  }

  /** Stops the clocks at a moment in Unix milliseconds: nobody knows what happened since. */
  stop(unixMs: number): void {
    this.stoppedAt ??= unixMs - this.offset;
  }

  /** The row a task has; undefined while its page has not come. */
  rowOf(taskId: string): number | undefined {
    return this.numbers.get(taskId);
  }

  situation(row: number): Situation {
    return this.situations[this.columns.situation[row] ?? -1] ?? UNKNOWN_SITUATION;
  }

  status(row: number): Status {
    return this.situation(row).status;
  }

  asked(row: number): Asked | null {
    return this.columns.asked[row] ?? null;
  }

  /** When something last happened to a row. */
  activity(row: number): number {
    const { ended, started, queued, created } = this.columns;
    return ended[row] ?? started[row] ?? queued[row] ?? created[row] ?? 0;
  }

  total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  /** Takes the last known table of a saved notebook. */
  load(saved: SavedTable): void {
    this.begin(saved);
    this.seq = 0;
    this.stoppedAt = saved.at;
  }

  reset(message: ResetMessage): void {
    this.begin(message);
    this.seq = message.seq;
    this.offset = this.clock() - message.at;
    this.stoppedAt = null;
  }

  /** False when a message is missing between this one and the last. */
  patch(message: PatchMessage): boolean {
    if (message.seq !== this.seq + 1) return false;
    this.seq = message.seq;
    this.offset = Math.min(this.offset, this.clock() - message.at);
    if (message.counts) this.counts = message.counts;
    if (message.behind !== undefined) this.behind = message.behind;
    if (message.trouble !== undefined) this.trouble = message.trouble;
    this.write(message.blocks, message.at);
    return true;
  }

  /** A reset of the same feed keeps the rows it does not repeat at once: they follow in pages, under the same numbers. */
  private begin(start: Omit<ResetMessage, "kind" | "seq">): void {
    if (start.feed !== this.feed) {
      this.columns = emptyColumns();
      this.nameKeys = [];
      this.numbers = new Map();
      this.pauses.clear();
      this.size = 0;
    }
    this.feed = start.feed;
    this.title = start.title;
    this.epoch = start.epoch;
    this.counts = start.counts;
    this.behind = start.behind;
    this.trouble = start.trouble ?? null;
    this.situations = start.situations.map(readSituation);
    this.endings.clear();
    this.speeds.clear();
    this.orderVersion += 1;
    this.write(start.blocks, null);
  }

  /** `at`: when the blocks that change rows came true; a whole row may have been like that for long. */
  private write(blocks: readonly Block[], at: number | null): void {
    for (const block of blocks) {
      for (const row of block.rows) this.makeRoom(row, block.whole === true);
      for (const key of Object.keys(block.cols) as Key[]) {
        if (!(key in ROW_DEFAULTS)) continue; // a newer kernel may send more than this view shows
        this.writeColumn(key, block.rows, block.cols[key] ?? []);
        if (ORDERING.has(key)) this.orderVersion += 1;
      }
      this.observe(block, block.whole ? null : at);
    }
  }

  private makeRoom(row: number, whole: boolean): void {
    while (this.size <= row) {
      for (const key of KEYS) (this.columns[key] as Row[Key][])[this.size] = ROW_DEFAULTS[key];
      this.size += 1;
      this.orderVersion += 1;
    }
    if (whole) for (const key of KEYS) (this.columns[key] as Row[Key][])[row] = ROW_DEFAULTS[key];
  }

  private writeColumn(key: Key, rows: readonly number[], values: readonly Row[Key][]): void {
    const column = this.columns[key] as Row[Key][];
    rows.forEach((row, index) => {
      column[row] = values[index] ?? ROW_DEFAULTS[key];
    });
  }

  /** Notes by what rows are found and sorted. */
  private index({ rows, cols }: Block): void {
    const { name, id } = this.columns;
    if (cols.name) for (const row of rows) this.nameKeys[row] = naturalKey(name[row] ?? "");
    if (cols.id) for (const row of rows) this.numbers.set(id[row] ?? "", row);
  }

  private observe(block: Block, at: number | null): void {
    this.index(block);
    const { done, progress_at, started } = this.columns;
    for (const row of block.rows) {
      this.pauses.observe(row, this.situation(row).held === true, started[row] ?? null, at);
      if (block.cols.ended && this.status(row) === "succeeded") this.endings.add(this.columns.ended[row] ?? null);
      if (block.cols.done || block.cols.started) {
        this.speeds.observe(row, done[row] ?? null, progress_at[row] ?? null, started[row] ?? null);
      }
    }
  }
}
