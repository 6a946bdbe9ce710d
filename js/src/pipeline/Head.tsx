/** How the run stands, and the buttons for all of it; on the right what is seen of the graph. */

import { elapsed } from "../format.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import { Icon, type IconName } from "../view/Icon.tsx";
import { SegmentBar } from "../view/SegmentBar.tsx";
import { figures } from "../view/Summary.tsx";
import { KERNEL_GONE, WAITING } from "../view/words.ts";
import type { RunVerb } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { offers } from "./run_steering.ts";
import type { PipelineSession } from "./session.ts";

interface HeadProps {
  session: PipelineSession;
  name: string;
}

export function Head({ session, name }: HeadProps) {
  const { table } = session;
  return (
    <header class="cmt-head">
      <div class="cmt-summary">
        <span class="cmt-title" title={name}>
          {name}
        </span>
        <RunStatus session={session} />
        <span class="cmt-figures" data-testid="cmt-summary">
          {figures(table).join(" · ")}
        </span>
      </div>
      <SegmentBar table={table} />
      <div class="cmt-run-tools">
        <RunVerbs session={session} />
        <span class="cmt-grow" />
        <CriticalPath session={session} />
        <Zoom session={session} />
      </div>
    </header>
  );
}

/** The run's own status, which only the process that leads it knows. */
function RunStatus({ session }: { session: PipelineSession }) {
  const { status, paused } = session.standing;
  if (status === null) return null;
  const look = STATUS_LOOKS[paused && status === "running" ? "pausing" : status];
  return (
    <span class={`cmt-status cmt-run-status cmt-tone-${look.tone}`} data-testid="cmt-run-status">
      <Icon name={look.glyph} />
      {say(look.word)}
    </span>
  );
}

interface VerbLook {
  icon: IconName;
  label: () => string;
  hint: () => string;
}

const LOOKS: Record<RunVerb, VerbLook> = {
  pause: {
    icon: "bars",
    label: () => say("Pause"),
    hint: () => say("Start nothing more, and hold what runs at its next checkpoint"),
  },
  resume: { icon: "play", label: () => say("Resume"), hint: () => say("Go on with what is paused") },
  stop: { icon: "square", label: () => say("Stop"), hint: () => say("Stop everything that has not ended") },
  retry_failed: {
    icon: "again",
    label: () => say("Retry failed"),
    hint: () => say("Run again what failed or was lost, and what that has blocked"),
  },
};

function RunVerbs({ session }: { session: PipelineSession }) {
  const gone = session.life === "gone";
  return (
    <>
      {offers(session.standing, session.table).map((verb) => {
        const look = LOOKS[verb];
        const asked = session.asking === verb;
        return (
          <button
            key={verb}
            type="button"
            class="cmt-button cmt-run-button"
            data-testid={`cmt-run-${verb}`}
            aria-disabled={gone || session.asking !== null}
            aria-busy={asked}
            title={gone ? say(KERNEL_GONE) : asked ? say(WAITING) : look.hint()}
            onClick={() => session.steer(verb)}
          >
            <Icon name={look.icon} />
            {look.label()}
          </button>
        );
      })}
    </>
  );
}

/** Of a run that has ended: which nodes it had to wait for. */
function CriticalPath({ session }: { session: PipelineSession }) {
  const path = session.criticalPath();
  if (path === null || path.nodes.length < 2) return null;
  return (
    <button
      type="button"
      class="cmt-button cmt-run-button"
      data-testid="cmt-critical"
      aria-pressed={session.lit}
      title={say("The nodes that decided how long the run took")}
      onClick={() => {
        session.lit = !session.lit;
        session.repaint();
      }}
    >
      {say("Critical path")}
      <span class="cmt-soft">{elapsed(path.took)}</span>
    </button>
  );
}

function Zoom({ session }: { session: PipelineSession }) {
  const { viewport, drawing } = session;
  return (
    <span class="cmt-zoom" role="group" aria-label={say("What is seen of the graph")}>
      {drawing.unfolded.size > 0 && (
        <button
          type="button"
          class="cmt-button"
          data-testid="cmt-fold-again"
          title={say("Put what was unfolded into stacks again")}
          onClick={() => session.foldAgain()}
        >
          {say("Fold again")}
        </button>
      )}
      <ZoomButton icon="minus" label={say("Smaller (−)")} act={() => viewport.zoomOut()} />
      <ZoomButton icon="plus" label={say("Larger (+)")} act={() => viewport.zoomIn()} />
      <ZoomButton icon="frame" label={say("Show all of it (0)")} act={() => viewport.fit()} />
    </span>
  );
}

function ZoomButton({ icon, label, act }: { icon: IconName; label: string; act: () => void }) {
  return (
    <button
      type="button"
      class="cmt-act"
      data-testid={`cmt-zoom-${icon}`}
      aria-label={label}
      title={label}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
}
