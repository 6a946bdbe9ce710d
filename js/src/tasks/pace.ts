/** How fast things go: tasks ended per second, and each task's own progress. */

/** How many of the latest endings the rate is taken from, and how old they may be. */
const ENDINGS_KEPT = 60;
const ENDINGS_MAX_AGE_MS = 10 * 60_000;
/** Fewer say nothing about a pace. */
const ENDINGS_NEEDED = 4;

/** When the latest tasks ended, oldest first. */
export class Endings {
  private times: number[] = [];

  clear(): void {
    this.times = [];
  }

  add(time: number | null): void {
    const { times } = this;
    const oldest = times[0];
    if (time === null || (times.length >= ENDINGS_KEPT && oldest !== undefined && time <= oldest)) return;
    let place = times.length;
    while (place > 0 && (times[place - 1] ?? 0) > time) place -= 1;
    times.splice(place, 0, time);
    if (times.length > ENDINGS_KEPT) times.shift();
  }

  /** Tasks per second, or null while too few have ended lately. It sinks while nothing ends. */
  rate(now: number): number | null {
    const recent = this.times.filter((time) => now - time <= ENDINGS_MAX_AGE_MS);
    const [first] = recent;
    if (recent.length < ENDINGS_NEEDED || first === undefined) return null;
    return ((recent.length - 1) * 1000) / Math.max(now - first, 1000);
  }
}

interface Speed {
  done: number;
  at: number;
  /** Units per second; null until two reports are known. */
  rate: number | null;
}

/** Weight of the newest stretch: the speed follows a change within a handful of reports, and does not flicker. */
const NEWEST = 0.3;

/** How fast each running task's own progress moves. */
export class Speeds {
  private readonly known = new Map<number, Speed>();

  clear(): void {
    this.known.clear();
  }

  observe(row: number, done: number | null, at: number | null, started: number | null): void {
    if (done === null || at === null) {
      this.known.delete(row);
      return;
    }
    const before = this.known.get(row);
    if (!before || done < before.done) {
      const rate = started !== null && at > started ? (done * 1000) / (at - started) : null;
      this.known.set(row, { done, at, rate });
    } else if (at > before.at) {
      const newest = ((done - before.done) * 1000) / (at - before.at);
      const rate = before.rate === null ? newest : before.rate + NEWEST * (newest - before.rate);
      this.known.set(row, { done, at, rate });
    }
  }

  /** Units per second, or null while unknown. */
  rate(row: number): number | null {
    const rate = this.known.get(row)?.rate ?? null;
    return rate !== null && rate > 0 ? rate : null;
  }
}
