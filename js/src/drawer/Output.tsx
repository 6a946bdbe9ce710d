/** What the task printed and logged: the newest lines, followed while the reader is at their end, and a search. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { clockSeconds, count } from "../format.ts";
import { say } from "../words/say.ts";
import { type Dossier, type Shown, shownLines } from "./dossier.ts";
import type { DrawerSession } from "./drawer_session.ts";

/** Nearer to the end than this counts as being there. */
const NEAR_PX = 24;

export function Output({ drawer, dossier }: { drawer: DrawerSession; dossier: Dossier }) {
  const shown = shownLines(dossier.lines, drawer.search);
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && following.current) element.scrollTop = element.scrollHeight;
  }, [shown.length, dossier.lastLine]);
  return (
    <div class="cmt-output-page">
      <div class="cmt-tools">
        <input
          type="search"
          class="cmt-search cmt-output-search"
          data-testid="cmt-output-search"
          aria-label={say("Search the output")}
          placeholder={say("search the output")}
          value={drawer.search}
          onInput={(event) => drawer.searchOutput(event.currentTarget.value)}
        />
        <span class="cmt-quiet" role="status">
          {drawer.search.trim() &&
            say("{found} of {all} lines", { found: count(shown.length), all: count(dossier.lines.length) })}
        </span>
      </div>
      <div
        ref={scroller}
        class="cmt-output"
        role="log"
        aria-label={say("Output")}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        tabIndex={0}
        data-testid="cmt-output"
        onScroll={(event) => {
          const element = event.currentTarget;
          following.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
        }}
      >
        {shown.length === 0 && (
          <p class="cmt-quiet">
            {dossier.lines.length > 0 ? say("No line matches.") : say("Nothing printed or logged.")}
          </p>
        )}
        {shown.map((each) => (
          <Line key={"line" in each ? each.line[0] : `gap-${each.missing}`} shown={each} />
        ))}
      </div>
    </div>
  );
}

function Line({ shown }: { shown: Shown }) {
  if (!("line" in shown)) {
    return <div class="cmt-gap">{say("… {count} lines left out …", { count: count(shown.missing) })}</div>;
  }
  const [, attempt, stream, level, at, text] = shown.line;
  const loud = stream === "stderr" || (level ?? 0) >= 30;
  return (
    <div
      class={loud ? "cmt-line cmt-loud" : "cmt-line"}
      title={`${clockSeconds(at)} · ${stream} · ${say("try")} ${attempt}`}
    >
      {text || " "}
    </div>
  );
}
