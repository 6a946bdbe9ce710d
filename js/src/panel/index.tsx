/** The panel's entry point: what anywidget calls with a model and an element. */

import { render } from "preact";
import type { WidgetModel } from "../wire/link.ts";
import { languageOf, speak } from "../words/say.ts";
import { listenToKeys } from "./keyboard.ts";
import { Panel } from "./Panel.tsx";
import { PanelSession } from "./session.ts";

interface RenderProps {
  model: WidgetModel & { get(name: "language"): string | null | undefined };
  el: HTMLElement;
}

/** Running clocks and countdowns move once a second. */
const TICK_MS = 1000;

export default {
  render({ model, el }: RenderProps): () => void {
    speak(languageOf(model.get("language"), navigator.languages));
    const lifetime = new AbortController();
    const { signal } = lifetime;
    let frame = 0;
    const draw = () => {
      frame = 0;
      if (signal.aborted) return;
      render(<Panel session={session} />, el);
      session.tick();
    };
    const repaint = () => {
      if (frame === 0 && !signal.aborted) frame = requestAnimationFrame(draw);
    };
    const session = new PanelSession(model, signal, repaint);
    listenToKeys(el, session, signal);
    const timer = setInterval(repaint, TICK_MS);
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      cancelAnimationFrame(frame);
      render(null, el);
    });
    draw();
    return () => lifetime.abort();
  },
};
