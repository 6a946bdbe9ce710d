/** Sentences in the reader's language. English stands where it is said; a catalogue holds the others by it. */

import { CHINESE } from "./chinese.ts";

export type Language = "en" | "zh";

// One for the whole module: anywidget loads it anew for every widget, and a widget has one language.
let language: Language = "en";

export function speak(chosen: Language): void {
  language = chosen;
}

export function spoken(): Language {
  return language;
}

/** What the widget asks for, else the browser's first language; English for all that has no catalogue. */
export function languageOf(wanted: string | null | undefined, browser: readonly string[]): Language {
  return (wanted || browser[0] || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
}

/**
 * The sentence, with {names} filled in.
 *
 * @param text - in English; a part after "|" only tells apart what has two meanings: "stopped|past"
 */
export function say(text: string, values: Record<string, string | number> = {}): string {
  const found = (language === "zh" && CHINESE[text]) || text.split("|")[0] || "";
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
