/** The lanes: a canvas that scrolls, what the pointer or the keyboard is on, and the same in words. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { say } from "../words/say.ts";
import { listenToGestures } from "./gestures.ts";
import { AXIS_HEIGHT, LANE_HEIGHT } from "./measures.ts";
import { INKS } from "./palette.ts";
import type { TimelineSession } from "./session.ts";
import { Stage } from "./stage.ts";
import { Tip } from "./Tip.tsx";
import { attemptsText, countsText, spokenBar } from "./tells.ts";

/** More lanes scroll; fewer leave room for those that may come. */
const LANES_IN_SIGHT = 14;
const LANES_AT_LEAST = 4;

export function Plot({ session, name }: { session: TimelineSession; name: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const probes = useRef<HTMLSpanElement>(null);
  const stage = useRef<Stage | null>(null);
  const { chart, bar } = session;
  const lanes = chart.lanes.size;
  useLayoutEffect(() => {
    const end = new AbortController();
    if (scroller.current && canvas.current && probes.current) {
      stage.current = new Stage(session, scroller.current, canvas.current, probes.current, end.signal);
      listenToGestures(session, stage.current, end.signal);
    }
    return () => end.abort();
  }, [session]);
  useLayoutEffect(() => {
    const own = stage.current;
    if (own === null) return;
    if (session.focusWanted) scroller.current?.focus({ preventScroll: true });
    const lane = bar === null ? undefined : chart.lanes.laneOf(bar);
    const walked = session.revealWanted && lane !== undefined;
    session.focusWanted = session.revealWanted = false;
    own.readColors();
    own.paint();
    if (!walked) return;
    own.reveal(lane);
    session.point(own.atBar());
  });
  const shown = Math.min(Math.max(lanes, LANES_AT_LEAST), LANES_IN_SIGHT) + (lanes > LANES_IN_SIGHT ? 0.5 : 0);
  const height = AXIS_HEIGHT + shown * LANE_HEIGHT + 4;
  return (
    <div class="cmt-lanes">
      <div
        ref={scroller}
        class="cmt-plot"
        data-testid="cmt-plot"
        data-lanes={lanes}
        data-bars={chart.facts.size}
        data-mode={session.viewport.mode}
        data-from={session.viewport.span.from}
        data-to={session.viewport.span.to}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: an application takes keys
        tabIndex={0}
        role="application"
        aria-label={`${say("Timeline of {name}", { name })}: ${summaryOf(session)}`}
        aria-description={say(
          "Arrow keys walk from attempt to attempt, Enter opens the task, + and - zoom, 0 fits all.",
        )}
        style={{ height: `${height}px` }}
        onFocus={() => stage.current?.request()}
        onBlur={() => {
          session.point(null);
          stage.current?.request();
        }}
      >
        <canvas ref={canvas} class="cmt-canvas" style={{ height: `${height}px`, marginBottom: `-${height}px` }} />
        <div style={{ height: `${AXIS_HEIGHT + lanes * LANE_HEIGHT + 4}px` }} />
      </div>
      <p class="cmt-hidden" aria-live="polite" data-testid="cmt-spoken">
        {bar === null ? "" : spokenBar(session.table, bar)}
      </p>
      <span ref={probes} class="cmt-hidden" aria-hidden="true">
        {INKS.map((ink) => (
          <i key={ink} style={{ color: `var(--cmt-${ink})` }} />
        ))}
      </span>
      {session.pointed && <Tip session={session} pointed={session.pointed} />}
    </div>
  );
}

/** "484 attempts in 8 lanes: 312 done, 3 failed". */
function summaryOf({ chart }: TimelineSession): string {
  const lanes = chart.lanes.size;
  const where = lanes === 1 ? say("in 1 lane") : say("in {count} lanes", { count: lanes });
  return `${attemptsText(chart.facts.size)} ${where}: ${countsText(chart.facts.counts)}`;
}
