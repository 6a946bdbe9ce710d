/** The drawing: boxes over lines, moved and zoomed as one. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../format.ts";
import { say } from "../words/say.ts";
import { COLOURS_ONLY, NAMES_ONLY } from "./camera.ts";
import { useDragging } from "./dragging.ts";
import { Lines } from "./Lines.tsx";
import type { PipelineSession } from "./session.ts";
import { UnitBox } from "./UnitBox.tsx";

export function Canvas({ session, name }: { session: PipelineSession; name: string }) {
  const { drawing, viewport } = session;
  const { folded, layout } = drawing;
  const element = useRef<HTMLDivElement>(null);
  viewport.take(layout, layout.boxes[session.centre()]);
  useDragging(element, viewport);
  useLayoutEffect(() => {
    const own = element.current;
    if (!own) return;
    const watching = new ResizeObserver(() => viewport.resize(own.clientWidth));
    watching.observe(own);
    viewport.resize(own.clientWidth);
    return () => watching.disconnect();
  }, [viewport]);
  const { camera } = viewport;
  const far = camera.scale < COLOURS_ONLY ? "cmt-colours" : camera.scale < NAMES_ONLY ? "cmt-names" : "";
  const path = session.lit ? (session.criticalPath()?.nodes ?? []) : [];
  const lit = new Set(path.map((node) => folded.unitOf[node] ?? -1));
  const reachable = drawing.numberOf(session.currentUnit) ?? 0;
  return (
    <div
      ref={element}
      class={`cmt-canvas ${far}`}
      data-testid="cmt-canvas"
      role="group"
      aria-label={say("Graph of {name}, {count} boxes; arrow keys walk, + and − zoom, 0 shows all of it", {
        name,
        count: count(folded.units.length),
      })}
      style={{ height: `${viewport.view.height}px` }}
    >
      <div
        class="cmt-world"
        style={{
          width: `${layout.width}px`,
          height: `${layout.height}px`,
          transform: `translate(${camera.x}px, ${camera.y}px) scale(${camera.scale})`,
        }}
      >
        <Lines session={session} lit={lit} />
        {folded.units.map((unit, number) => {
          const box = layout.boxes[number];
          return (
            box && (
              <UnitBox
                key={unit.key}
                session={session}
                unit={unit}
                box={box}
                lit={lit.has(number)}
                reachable={number === reachable}
              />
            )
          );
        })}
      </div>
    </div>
  );
}
