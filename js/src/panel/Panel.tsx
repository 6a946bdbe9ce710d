/** The whole panel, top to bottom. Drawn anew, as a whole, whenever something changed: only differences reach the DOM. */

import { Doubt } from "../view/Doubt.tsx";
import { FilterBox } from "../view/FilterBox.tsx";
import { Foot } from "../view/Foot.tsx";
import { Menu } from "../view/Menu.tsx";
import { SegmentBar } from "../view/SegmentBar.tsx";
import { Summary } from "../view/Summary.tsx";
import { EMPTY, LOADING, NOTHING_MATCHES } from "../view/words.ts";
import { say, spoken } from "../words/say.ts";
import { Chips } from "./Chips.tsx";
import { Grid } from "./Grid.tsx";
import { Selection } from "./Selection.tsx";
import type { PanelSession } from "./session.ts";

export function Panel({ session }: { session: PanelSession }) {
  const { table, life } = session;
  const name = table.title || say("Tasks");
  return (
    <section
      class="cmt-view cmt-panel"
      data-testid="cmt-panel"
      data-life={life}
      lang={spoken()}
      aria-label={say("Tasks of {name}", { name })}
    >
      <header class="cmt-head">
        <Summary name={name} table={table} />
        <SegmentBar table={table} />
        <div class="cmt-filters">
          <Chips session={session} />
          <FilterBox session={session} />
        </div>
      </header>
      <Doubt session={session} />
      {table.total() === 0 ? (
        <p class="cmt-empty" data-testid="cmt-empty">
          {life === "connecting" && session.asOf === null ? say(LOADING) : say(EMPTY)}
        </p>
      ) : session.rows().length === 0 && table.behind === 0 ? (
        <NoMatch session={session} />
      ) : (
        <Grid session={session} />
      )}
      <Foot session={session}>{session.selected.size > 0 && <Selection session={session} />}</Foot>
      {session.menu.row !== null && <Menu session={session} row={session.menu.row} />}
    </section>
  );
}

function NoMatch({ session }: { session: PanelSession }) {
  return (
    <p class="cmt-empty" data-testid="cmt-no-match">
      {say(NOTHING_MATCHES)}{" "}
      <button type="button" class="cmt-link" onClick={() => session.clearFilters()}>
        {say("Clear the filters")}
      </button>
    </p>
  );
}
