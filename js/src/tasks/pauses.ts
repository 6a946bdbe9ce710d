/** Since when tasks have been paused, as far as this view has seen it: the kernel's records hold no paused time. */

interface Seen {
  /** Whose pauses these are: the attempt that started then. */
  started: number | null;
  /** When the pause that holds now was seen to begin; null: it holds, but began unseen. Undefined: none holds. */
  since: number | null | undefined;
}

export class Pauses {
  private readonly seen = new Map<number, Seen>();

  clear(): void {
    this.seen.clear();
  }

  /**
   * Takes in how a row stands.
   *
   * @param at - the feed's time when it changed to that; null when it may have stood like that for long
   */
  observe(row: number, paused: boolean, started: number | null, at: number | null): void {
    const known = this.seen.get(row);
    const before = known?.started === started ? known : undefined;
    if (!paused && before === undefined) this.seen.delete(row);
    else if (!paused) this.seen.set(row, { started, since: undefined });
    else if (before?.since === undefined) this.seen.set(row, { started, since: at });
  }

  /** When the pause that holds now began; null when that was not seen. */
  since(row: number): number | null {
    return this.seen.get(row)?.since ?? null;
  }

  /** Whether this attempt is, or was, paused. */
  any(row: number): boolean {
    return this.seen.has(row);
  }
}
