/** Filters by text in names, tags and ids. */

import { say } from "../words/say.ts";

interface Filtered {
  text: string;
  filterText(text: string): void;
}

export function FilterBox({ session }: { session: Filtered }) {
  return (
    <input
      type="search"
      class="cmt-search"
      data-testid="cmt-search"
      placeholder={say("Filter by name or tag")}
      aria-label={say("Filter by name or tag")}
      spellcheck={false}
      value={session.text}
      onInput={(event) => session.filterText(event.currentTarget.value)}
    />
  );
}
