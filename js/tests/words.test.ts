/// <reference types="vite/client" />

import { afterEach, describe, expect, it } from "vitest";
import { TITLES } from "../src/panel/Titles.tsx";
import { EARLIER_WORKER, STILL_RUNNING } from "../src/tasks/row_text.ts";
import { refusal } from "../src/tasks/situations.ts";
import { statusCountdown } from "../src/tasks/status_text.ts";
import { GROUPS, STATUS_LOOKS } from "../src/tasks/statuses.ts";
import * as words from "../src/view/words.ts";
import { VERBS } from "../src/wire/protocol.ts";
import { CHINESE } from "../src/words/chinese.ts";
import { languageOf, say, speak } from "../src/words/say.ts";
import { tableOf } from "./samples.ts";

afterEach(() => speak("en"));

const SOURCES = import.meta.glob<string>("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

/** The literal sentences of every `say(...)` in the sources. */
function literals(): string[] {
  return Object.values(SOURCES).flatMap((text) => {
    const calls = [...text.matchAll(/\b(?:say|inWords)\(((?:"[^"]*"|[^")])*?)(?:,\s*\{|\))/g)].map(
      (match) => match[1] ?? "",
    );
    return calls.flatMap((call) => [...call.matchAll(/"([^"]{2,})"/g)].map((match) => match[1] ?? ""));
  });
}

describe("the Chinese catalogue", () => {
  it("has every sentence that is said, and no other", () => {
    const chosen = [
      ...Object.values(STATUS_LOOKS).map((look) => look.word),
      ...GROUPS.map((group) => group.label),
      ...TITLES.flatMap((title) => [title.label, title.hint ?? title.label]),
      ...Object.values(words.VERB_LABELS),
      ...Object.values(words.PAST),
      ...VERBS,
      ...[words.EMPTY, words.LOADING, words.NOTHING_MATCHES, words.WAITING, words.KERNEL_GONE],
      ...[EARLIER_WORKER, STILL_RUNNING, "Stop at once"],
    ];
    const said = [...literals(), ...chosen];
    expect(said.length).toBeGreaterThan(120);
    expect([...new Set(said)].filter((text) => !(text in CHINESE))).toEqual([]);
    expect(Object.keys(CHINESE).filter((text) => !said.includes(text))).toEqual([]);
  });

  it("fills in what the English does", () => {
    const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
    for (const [english, chinese] of Object.entries(CHINESE))
      expect([english, names(chinese)]).toEqual([english, names(english)]);
  });
});

describe("say", () => {
  it("speaks English, without what tells two meanings apart", () => {
    expect(say("{count} selected", { count: 3 })).toBe("3 selected");
    expect(say("stopped|past")).toBe("stopped");
  });

  it("never takes a value for a sentence", () => {
    expect(say("Select {name}", { name: "{name} $& {count}" })).toBe("Select {name} $& {count}");
  });

  it("speaks Chinese when asked to, also of statuses and refusals", () => {
    speak("zh");
    const table = tableOf([{ status: "running" }, { status: "stopping", grace_until: 106_000 }]);
    expect(statusCountdown(table, 0, 100_000)).toBe("运行中");
    expect(statusCountdown(table, 1, 100_000)).toBe("停止中 6 s");
    expect(refusal(table.situation(0), "skip")).toBe("无法跳过：运行中");
    expect(words.cannotBe("stop", 3)).toBe("3 个无法停止。");
  });
});

describe("the language", () => {
  it("is what the widget asks for, else the browser's", () => {
    expect(languageOf("zh", ["en-US"])).toBe("zh");
    expect(languageOf("en", ["zh-CN"])).toBe("en");
    expect(languageOf("", ["zh-CN", "en"])).toBe("zh");
    expect(languageOf(undefined, ["de-DE", "zh-CN"])).toBe("en");
    expect(languageOf(undefined, [])).toBe("en");
  });
});
