/** A node, or a stack of tasks or nodes. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { count, elapsed } from "../format.ts";
import { GROUPS } from "../tasks/statuses.ts";
import { Icon } from "../view/Icon.tsx";
import { WAITING } from "../view/words.ts";
import type { Counts } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { Unit } from "./fold.ts";
import type { Box } from "./layout.ts";
import type { PipelineSession } from "./session.ts";
import { lookOf, type UnitLook } from "./unit_look.ts";

interface UnitBoxProps {
  session: PipelineSession;
  unit: Unit;
  box: Box;
  lit: boolean;
  /** Whether the Tab key stops here: at one box only. */
  reachable: boolean;
}

export function UnitBox({ session, unit, box, lit, reachable }: UnitBoxProps) {
  const element = useRef<HTMLButtonElement>(null);
  const look = waited(session, unit, lookOf(session.graph, session.table, unit));
  const tone = look.look?.tone ?? "grey";
  const open = session.isOpen(unit);
  useLayoutEffect(() => {
    if (!session.focusWanted || session.openStack !== null || session.currentUnit !== unit.key) return;
    session.focusWanted = false;
    element.current?.focus({ preventScroll: true });
  });
  const classes = [
    "cmt-unit",
    `cmt-tone-${tone}`,
    look.stack && "cmt-stack",
    look.look?.glyph === "dashes" && !look.stack && "cmt-not-yet",
    lit && "cmt-lit",
    open && "cmt-open",
  ];
  return (
    <button
      ref={element}
      type="button"
      class={classes.filter(Boolean).join(" ")}
      data-testid="cmt-unit"
      data-unit={unit.key}
      data-tone={tone}
      aria-label={spokenLook(look)}
      aria-expanded={open}
      title={`${look.name}${look.words ? `: ${look.words}` : ""}`}
      tabIndex={reachable ? 0 : -1}
      style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}
      onFocus={() => {
        session.currentUnit = unit.key;
      }}
      onClick={() => session.open(unit)}
    >
      <span class="cmt-unit-head">
        <span class="cmt-unit-glyph">{look.look && <Icon name={look.look.glyph} />}</span>
        <Name text={look.name} /> {look.stack && <span class="cmt-unit-size">×{count(look.stack.size)}</span>}{" "}
        {look.time !== null && <span class="cmt-unit-time">{elapsed(look.time, look.counting)}</span>}
      </span>{" "}
      {look.stack && <Segments counts={look.stack.counts} size={look.stack.size} />}
      <span class="cmt-unit-foot">
        {look.part !== null && (
          <span class="cmt-meter">
            <span class="cmt-fill" style={{ width: `${look.part * 100}%` }} />
          </span>
        )}
        <span class="cmt-unit-words">{look.words}</span>
      </span>
    </button>
  );
}

/** A click that the kernel has not answered is seen where it was made. */
function waited(session: PipelineSession, unit: Unit, look: UnitLook): UnitLook {
  const row = look.stack ? undefined : session.graph.rowOf(unit.nodes[0] ?? -1);
  if (row === undefined) return look;
  if (session.waitingVerb(row) !== null) return { ...look, part: null, words: say(WAITING) };
  const why = session.table.status(row) === "queued" ? session.waiting.text(session.table.columns.id[row] ?? "") : "";
  return why ? { ...look, words: why } : look;
}

/** What is seen, in the order in which it is, and the status where only a bar shows it. */
function spokenLook({ name, stack, words, part, look, time, counting }: UnitLook): string {
  const size = stack ? `×${count(stack.size)}` : "";
  const took = time === null ? "" : elapsed(time, counting);
  const status = part !== null && look ? say(look.word).replace("…", "") : "";
  return [name, size, took, words, status].filter(Boolean).join(" ");
}

const LONG_NAME = 24;
const NAME_END = 9;

/** A long name gives way in its middle: what tells it from others mostly stands at its end. */
function Name({ text }: { text: string }) {
  const signs = [...text];
  if (signs.length <= LONG_NAME) return <span class="cmt-unit-name">{text}</span>;
  return (
    <span class="cmt-unit-name cmt-long-name">
      <span>{signs.slice(0, -NAME_END).join("")}</span>
      <span>{signs.slice(-NAME_END).join("")}</span>
    </span>
  );
}

/** One bar, a segment a status, for all that a stack holds. */
function Segments({ counts, size }: { counts: Counts; size: number }) {
  const segments = GROUPS.flatMap((group) => group.statuses).filter((status) => counts[status]);
  const known = segments.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  return (
    <span class="cmt-bar">
      {segments.map((status) => (
        <span key={status} class={`cmt-segment cmt-segment-${status}`} style={{ flexGrow: counts[status] }} />
      ))}
      {known < size && <span class="cmt-segment" style={{ flexGrow: size - known }} />}
    </span>
  );
}
