/** Numbers and times as people read them. Pure. */

import { say } from "./words/say.ts";

const integers = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function count(value: number): string {
  return integers.format(value);
}

/** A quantity in some unit: whole numbers from 100 on, one decimal below. */
export function quantity(value: number): string {
  return rounded(value, 100);
}

function rounded(value: number, wholeFrom: number): string {
  return (Math.abs(value) >= wholeFrom || Number.isInteger(value) ? integers : oneDecimal).format(value);
}

/**
 * 0.4 s, 0:12, 1:02, 1:02:03, 3 d 4 h.
 *
 * @param counting - whether it still grows: tenths of a second would only flicker then
 */
export function elapsed(ms: number, counting = false): string {
  const seconds = Math.floor(Math.max(ms, 0) / 1000);
  if (seconds < 10) return counting || ms <= 0 ? `${seconds} s` : tenths(ms);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const two = (value: number) => String(value).padStart(2, "0");
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${minutes}:${two(seconds % 60)}`;
}

function tenths(ms: number): string {
  return ms < 100 ? "<0.1 s" : `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
}

/** 9 s, 4 min, 2 h 10 min: as coarse as a guess deserves. */
export function roughly(ms: number): string {
  const seconds = Math.ceil(Math.max(ms, 0) / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} d`;
}

/** Per second, or per minute or hour where that reads better. */
export function rate(perSecond: number, unit = ""): string {
  const what = unit ? ` ${unit}` : "";
  if (perSecond >= 1) return `${rounded(perSecond, 10)}${what}/s`;
  if (perSecond * 60 >= 1) return `${rounded(perSecond * 60, 10)}${what}/min`;
  return `${rounded(perSecond * 3600, 10)}${what}/h`;
}

/** Rounded down: 100 % means all of it. */
export function percent(fraction: number): string {
  return `${Math.floor(fraction * 100 + 1e-9)}%`;
}

/** The time of day in the reader's zone; with the date when it was not today. */
export function clockTime(unixMs: number, now = Date.now()): string {
  const date = new Date(unixMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const sameDay = new Date(now).toDateString() === date.toDateString();
  return sameDay ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** The same to the second: 12:03:04. */
export function clockSeconds(unixMs: number, now = Date.now()): string {
  return `${clockTime(unixMs, now)}:${String(new Date(unixMs).getSeconds()).padStart(2, "0")}`;
}

/** just now, 12 s ago, or the time of day. */
export function ago(unixMs: number, now: number): string {
  const seconds = Math.floor((now - unixMs) / 1000);
  if (seconds < 3) return say("just now");
  if (seconds < 60) return say("{time} ago", { time: `${seconds} s` });
  if (seconds < 3600) return say("{time} ago", { time: `${Math.floor(seconds / 60)} min` });
  return say("at {time}", { time: clockTime(unixMs, now) });
}
