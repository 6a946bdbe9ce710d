/** A small table with a header, and a word about what was left out. */

import type { ComponentChildren } from "preact";
import { count } from "../format.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import { Icon } from "../view/Icon.tsx";
import type { Status } from "../wire/protocol.ts";
import { say } from "../words/say.ts";

interface SheetProps {
  titles: readonly string[];
  label: string;
  /** How many older rows are not shown. */
  left: number;
  children: ComponentChildren;
}

export function Sheet({ titles, label, left, children }: SheetProps) {
  return (
    <>
      <table class="cmt-sheet" aria-label={label}>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {left > 0 && <p class="cmt-quiet">{say("{count} earlier ones are not shown", { count: count(left) })}</p>}
    </>
  );
}

/** The glyph and the word of a status, in its tone. */
export function StatusWord({ status }: { status: Status }) {
  const look = STATUS_LOOKS[status];
  return (
    <span class={`cmt-status-word cmt-tone-${look.tone}`}>
      <Icon name={look.glyph} />
      {say(look.word)}
    </span>
  );
}
