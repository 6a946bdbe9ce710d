/** What the bars mean, how many there are, and the buttons that move the view. */

import { count } from "../format.ts";
import { GROUPS, STATUS_LOOKS } from "../tasks/statuses.ts";
import { FilterBox } from "../view/FilterBox.tsx";
import { Icon } from "../view/Icon.tsx";
import { say } from "../words/say.ts";
import type { TimelineSession } from "./session.ts";
import { attemptsText } from "./tells.ts";

export function Tools({ session }: { session: TimelineSession }) {
  const { mode } = session.viewport;
  return (
    <div class="cmt-tools">
      <Legend session={session} />
      <FilterBox session={session} />
      <span class="cmt-moves">
        <button
          type="button"
          class="cmt-button cmt-sign"
          data-testid="cmt-zoom-out"
          aria-label={say("Zoom out")}
          title={say("Zoom out")}
          onClick={() => session.zoom(-1)}
        >
          −
        </button>
        <button
          type="button"
          class="cmt-button cmt-sign"
          data-testid="cmt-zoom-in"
          aria-label={say("Zoom in")}
          title={say("Zoom in")}
          onClick={() => session.zoom(1)}
        >
          +
        </button>
        <button
          type="button"
          class="cmt-button"
          data-testid="cmt-fit"
          aria-pressed={mode === "fit"}
          title={say("Show all attempts")}
          onClick={() => session.fit()}
        >
          {say("Fit")}
        </button>
        <button
          type="button"
          class="cmt-button"
          data-testid="cmt-follow"
          aria-pressed={mode === "follow"}
          title={say("Keep the present in sight")}
          onClick={() => session.follow()}
        >
          {say("Follow")}
        </button>
      </span>
    </div>
  );
}

/** Attempts by their groups: glyph, word and number, as they look in the bars. */
function Legend({ session }: { session: TimelineSession }) {
  const { size, counts, paused } = session.chart.facts;
  const groups = GROUPS.map((group) => ({
    ...group,
    number: group.statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0),
  })).filter(({ number }) => number > 0);
  return (
    <span class="cmt-legend" data-testid="cmt-legend">
      <span>{attemptsText(size)}</span>
      {groups.map(({ key, label, tone, statuses, number }) => (
        <span key={key} class={`cmt-key cmt-tone-${tone}`}>
          <Icon name={STATUS_LOOKS[statuses[0] ?? "pending"].glyph} />
          {say(label)} {count(number)}
        </span>
      ))}
      {paused && (
        <span class="cmt-key cmt-tone-amber" data-testid="cmt-hatch">
          <i class="cmt-hatch" />
          {say("pauses")}
        </span>
      )}
    </span>
  );
}
