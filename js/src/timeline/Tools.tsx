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
        <Tool id="zoom-out" sign="−" hint={say("Zoom out")} onClick={() => session.zoom(-1)} />
        <Tool id="zoom-in" sign="+" hint={say("Zoom in")} onClick={() => session.zoom(1)} />
        <Tool
          id="fit"
          word={say("Fit")}
          hint={say("Show all attempts")}
          pressed={mode === "fit"}
          onClick={() => session.fit()}
        />
        <Tool
          id="follow"
          word={say("Follow")}
          hint={say("Keep the present in sight")}
          pressed={mode === "follow"}
          onClick={() => session.follow()}
        />
      </span>
    </div>
  );
}

interface ToolProps {
  id: string;
  /** A sign says nothing by itself: the hint is its name. */
  sign?: string;
  word?: string;
  hint: string;
  pressed?: boolean;
  onClick(): void;
}

function Tool({ id, sign, word, hint, pressed, onClick }: ToolProps) {
  return (
    <button
      type="button"
      class={sign ? "cmt-button cmt-sign" : "cmt-button"}
      data-testid={`cmt-${id}`}
      aria-label={sign ? hint : undefined}
      aria-pressed={pressed}
      title={hint}
      onClick={onClick}
    >
      {sign ?? word}
    </button>
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
