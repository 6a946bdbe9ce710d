/** Wheel and pointer on the plot: pan, zoom, point, pick. */

import type { TimelineSession } from "./session.ts";
import type { Stage } from "./stage.ts";

/** A press that moves no further is a click. */
const CLICK_PIXELS = 4;
/** A notch of a wheel zooms by a fifth. */
const WHEEL_ZOOM = 0.002;

export function listenToGestures(session: TimelineSession, stage: Stage, signal: AbortSignal): void {
  const { scroller } = stage;
  let pressed: { x: number; moved: boolean } | null = null;

  const move = (event: PointerEvent) => {
    if (pressed === null) {
      session.point(event.pointerType === "touch" ? null : stage.at(event.clientX, event.clientY));
      return;
    }
    const shift = event.clientX - pressed.x;
    if (!pressed.moved && Math.abs(shift) < CLICK_PIXELS) return;
    if (!pressed.moved) {
      scroller.setPointerCapture(event.pointerId);
      scroller.classList.add("cmt-dragged");
      session.point(null);
    }
    session.viewport.pan(-shift);
    pressed = { x: event.clientX, moved: true };
    stage.request();
  };

  const release = (event: PointerEvent) => {
    const moved = pressed?.moved ?? true;
    pressed = null;
    scroller.classList.remove("cmt-dragged");
    if (moved) session.repaint(); // the buttons show what is in sight
    const found = event.type === "pointerup" && !moved ? stage.at(event.clientX, event.clientY) : null;
    if (found !== null) session.pick(found.piece);
  };

  const wheel = (event: WheelEvent) => {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    const sideways = event.shiftKey ? dx || dy : Math.abs(dx) > Math.abs(dy) ? dx : 0;
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - scroller.getBoundingClientRect().left;
      session.viewport.zoom(Math.exp(-dy * WHEEL_ZOOM * (Math.abs(dy) < 20 ? 4 : 1)), x, session.table.now());
    } else if (sideways !== 0) session.viewport.pan(sideways);
    else return; // lanes scroll
    event.preventDefault();
    session.point(null);
    stage.request();
    session.repaint();
  };

  scroller.addEventListener(
    "pointerdown",
    (event) => {
      const onScrollbar = event.clientX - scroller.getBoundingClientRect().left >= scroller.clientWidth;
      if (event.button === 0 && !onScrollbar) pressed = { x: event.clientX, moved: false };
    },
    { signal },
  );
  scroller.addEventListener("pointermove", move, { signal });
  scroller.addEventListener("pointerup", release, { signal });
  scroller.addEventListener("pointercancel", release, { signal });
  scroller.addEventListener("pointerleave", () => session.point(null), { signal });
  scroller.addEventListener("wheel", wheel, { signal, passive: false });
}
