/** The menu itself, in the browser's top layer: no scrolling box cuts it off. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { say } from "../words/say.ts";
import type { ViewSession } from "./session.ts";

export function Menu({ session, row }: { session: ViewSession; row: number }) {
  const { menu } = session;
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = element.current;
    if (!own || !menu.anchor) return;
    own.showPopover();
    place(own, menu.anchor.getBoundingClientRect());
    own.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
    const end = new AbortController();
    const { anchor } = menu;
    const outside = (event: Event) => {
      const target = event.target as Node;
      if (!own.contains(target) && !anchor.contains(target)) menu.close(false);
    };
    window.addEventListener("pointerdown", outside, { capture: true, signal: end.signal });
    window.addEventListener("scroll", outside, { capture: true, signal: end.signal });
    return () => end.abort();
  }, [row]);
  const name = session.table.columns.name[row] ?? "";
  return (
    <div
      ref={element}
      popover="manual"
      class="cmt-menu"
      role="menu"
      aria-label={say("More for {name}", { name })}
      data-testid="cmt-menu"
    >
      {menu.items(row).map((item) => (
        <button
          key={item.key}
          type="button"
          role="menuitem"
          class="cmt-item"
          data-testid={`cmt-item-${item.key}`}
          aria-disabled={item.reason !== null}
          title={item.reason ?? undefined}
          tabIndex={-1}
          onClick={() => menu.choose(item)}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}

/** Under the button, its right edges in line; above it where there is no room below. */
function place(menu: HTMLElement, anchor: DOMRect): void {
  const { offsetWidth, offsetHeight } = menu;
  const below = anchor.bottom + 2;
  const top = below + offsetHeight > window.innerHeight ? anchor.top - offsetHeight - 2 : below;
  menu.style.top = `${Math.max(top, 2)}px`;
  menu.style.left = `${Math.max(anchor.right - offsetWidth, 2)}px`;
}
