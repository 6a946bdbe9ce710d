/** What anywidget calls with a model and an element, the same for every view. */

import { type ComponentType, render } from "preact";
import type { WidgetModel } from "../wire/link.ts";
import { languageOf, speak } from "../words/say.ts";
import { listenToKeys } from "./keys.ts";
import type { ViewSession } from "./session.ts";

export interface RenderProps<M extends WidgetModel = WidgetModel> {
  model: M & { get(name: "language"): string | null | undefined };
  el: HTMLElement;
}

/** Running clocks and countdowns move once a second. */
const TICK_MS = 1000;

/** One kind of view. */
interface Kind<S extends ViewSession, M extends WidgetModel> {
  begin(model: M, signal: AbortSignal, repaint: () => void): S;
  View: ComponentType<{ session: S }>;
}

/** The `render` of a view: draws it whenever something changed, and once a second, until the front end drops it. */
export function mounting<S extends ViewSession, M extends WidgetModel = WidgetModel>({ begin, View }: Kind<S, M>) {
  return ({ model, el }: RenderProps<M>): (() => void) => {
    speak(languageOf(model.get("language"), navigator.languages));
    const lifetime = new AbortController();
    const { signal } = lifetime;
    let frame = 0;
    const draw = () => {
      frame = 0;
      if (signal.aborted) return;
      render(<View session={session} />, el);
      session.tick();
    };
    const repaint = () => {
      if (frame === 0 && !signal.aborted) frame = requestAnimationFrame(draw);
    };
    const session = begin(model, signal, repaint);
    session.link.open();
    listenToKeys(el, session, signal);
    const timer = setInterval(repaint, TICK_MS);
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      cancelAnimationFrame(frame);
      render(null, el);
    });
    draw();
    return () => lifetime.abort();
  };
}
