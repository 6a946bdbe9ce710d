/** Moves the drawing with the pointer, and zooms it with Ctrl and the wheel: a plain wheel scrolls the page. */

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { Viewport } from "./viewport.ts";

const WHEEL_STEP = 0.0022;

export function useDragging(canvas: RefObject<HTMLElement | null>, viewport: Viewport): void {
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const end = new AbortController();
    const { signal } = end;
    let held: number | null = null;
    element.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button !== 0 || (event.target as Element).closest("button")) return;
        held = event.pointerId;
        element.setPointerCapture(held);
        element.classList.add("cmt-held");
      },
      { signal },
    );
    element.addEventListener(
      "pointermove",
      (event) => {
        if (event.pointerId === held) viewport.move(event.movementX, event.movementY);
      },
      { signal },
    );
    const letGo = (event: PointerEvent) => {
      if (event.pointerId !== held) return;
      held = null;
      element.classList.remove("cmt-held");
    };
    for (const name of ["pointerup", "pointercancel"] as const) element.addEventListener(name, letGo, { signal });
    element.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey) {
          const frame = element.getBoundingClientRect();
          const at = { x: event.clientX - frame.left, y: event.clientY - frame.top };
          viewport.zoom(Math.exp(-event.deltaY * WHEEL_STEP), at);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          viewport.move(-event.deltaX, 0);
        } else {
          return;
        }
        event.preventDefault();
      },
      { signal, passive: false },
    );
    return () => end.abort();
  }, [canvas, viewport]);
}
