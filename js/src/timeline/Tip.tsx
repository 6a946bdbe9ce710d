/** What the pointer is on, beside it, in the browser's top layer: no scrolling box cuts it off. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import { Icon } from "../view/Icon.tsx";
import { say } from "../words/say.ts";
import type { Pointed, TimelineSession } from "./session.ts";
import { tellBar, tellSeveral } from "./tells.ts";

export function Tip({ session, pointed }: { session: TimelineSession; pointed: Pointed }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = element.current;
    if (!own) return;
    if (!own.matches(":popover-open")) own.showPopover();
    place(own, pointed);
  });
  const { bars } = pointed.piece;
  const [bar] = bars;
  const { title, status, lines } =
    bars.length === 1 && bar ? tellBar(session.table, bar, session.cutBefore(bar)) : tellSeveral(session.table, bars);
  const look = status === null ? null : STATUS_LOOKS[status];
  return (
    <div ref={element} popover="manual" class="cmt-tip" role="tooltip" data-testid="cmt-tip">
      <b>{title}</b>
      {look && (
        <span class={`cmt-status cmt-tone-${look.tone}`}>
          <Icon name={look.glyph} />
          {say(look.word)}
        </span>
      )}
      {lines.map((line) => (
        <span key={line} class="cmt-tip-line">
          {line}
        </span>
      ))}
    </div>
  );
}

/** Under the lane, above it where there is no room, and never out of the window. */
function place(tip: HTMLElement, { x, top, bottom }: Pointed): void {
  const { offsetWidth, offsetHeight } = tip;
  const under = bottom + 4 + offsetHeight <= window.innerHeight;
  tip.style.top = `${under ? bottom + 2 : Math.max(top - offsetHeight - 2, 2)}px`;
  tip.style.left = `${Math.min(Math.max(x - 16, 4), Math.max(window.innerWidth - offsetWidth - 4, 4))}px`;
}
