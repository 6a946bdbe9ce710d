/** Where the time axis is marked, in the reader's zone. Pure. */

export interface Tick {
  /** Unix milliseconds. */
  at: number;
  label: string;
  /** A new day begins, so far as the marks tell. */
  day: boolean;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map((count) => count * DAY),
];

/** The shortest step that leaves so much room for a label. */
export function stepFor(msPerPixel: number, gap: number): number {
  return STEPS.find((step) => step >= msPerPixel * gap) ?? 364 * DAY * Math.ceil((msPerPixel * gap) / (364 * DAY));
}

/**
 * The marks between two moments, in Unix milliseconds.
 *
 * @param gap - the least pixels between two marks
 * @param today - any moment of the day whose date goes without saying
 */
export function ticks(from: number, to: number, width: number, gap: number, today: number): Tick[] {
  const step = stepFor((to - from) / width, gap);
  const marks: Tick[] = [];
  let day = dayOf(today);
  for (let at = firstMark(from, step); at <= to; at = nextMark(at, step)) {
    const mine = dayOf(at);
    const news = mine !== day;
    marks.push({ at, label: labelOf(at, step, news), day: news && marks.length > 0 });
    day = mine;
  }
  return marks;
}

/** Round in local time: steps of a day begin at midnight, also where a day has 23 hours. */
function firstMark(from: number, step: number): number {
  if (step < DAY) {
    const zone = new Date(from).getTimezoneOffset() * MINUTE;
    return Math.ceil((from - zone) / step) * step + zone;
  }
  const date = new Date(from);
  const midnight = new Date(date.getFullYear(), date.getMonth(), date.getDate());
  if (midnight.getTime() < from) midnight.setDate(midnight.getDate() + 1);
  const days = Math.round(step / DAY);
  const number = Math.round((midnight.getTime() - midnight.getTimezoneOffset() * MINUTE) / DAY);
  midnight.setDate(midnight.getDate() + ((days - (number % days)) % days));
  return midnight.getTime();
}

function nextMark(at: number, step: number): number {
  if (step < DAY) {
    const next = at + step;
    const turned = new Date(next).getTimezoneOffset() - new Date(at).getTimezoneOffset();
    return step >= HOUR * 2 ? next + turned * MINUTE : next;
  }
  const date = new Date(at);
  date.setDate(date.getDate() + Math.round(step / DAY));
  return date.getTime();
}

function dayOf(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function labelOf(at: number, step: number, dated: boolean): string {
  const date = new Date(at);
  const day = dayOf(at).slice(5);
  if (step >= DAY) return step >= 28 * DAY ? dayOf(at) : day;
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const seconds = step < MINUTE ? `:${two(date.getSeconds())}` : "";
  const digits = step < 10 ? 3 : step < 100 ? 2 : 1;
  const part = step < SECOND ? `.${String(date.getMilliseconds()).padStart(3, "0").slice(0, digits)}` : "";
  return `${dated ? `${day} ` : ""}${minutes}${seconds}${part}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
