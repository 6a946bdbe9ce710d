/** What is known of one task: a list of tabs and the page that is chosen. */

import type { ComponentChild } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { say } from "../words/say.ts";
import { Attempts } from "./Attempts.tsx";
import type { Dossier } from "./dossier.ts";
import type { DrawerSession } from "./drawer_session.ts";
import { ErrorPage } from "./ErrorPage.tsx";
import { History } from "./History.tsx";
import { Output } from "./Output.tsx";
import { Overview } from "./Overview.tsx";
import { TABS, type Tab } from "./tabs.ts";

interface DrawerProps {
  drawer: DrawerSession;
  row: number;
  dossier: Dossier;
}

export function Drawer({ drawer, row, dossier }: DrawerProps) {
  const name = drawer.view.table.columns.name[row] ?? "";
  return (
    <section class="cmt-drawer" id={drawer.id} data-testid="cmt-drawer" aria-label={say("Details of {name}", { name })}>
      <Tabs drawer={drawer} dossier={dossier} />
      <div
        class="cmt-page"
        role="tabpanel"
        id={`${drawer.id}-page`}
        aria-labelledby={`${drawer.id}-${drawer.tab}`}
        data-testid={`cmt-page-${drawer.tab}`}
      >
        {dossier.error !== null && <p class="cmt-drawer-error">{dossier.error || say("no answer")}</p>}
        {dossier.known ? page(drawer, row, dossier) : <p class="cmt-quiet">{say("Waiting for the kernel…")}</p>}
      </div>
    </section>
  );
}

function page(drawer: DrawerSession, row: number, dossier: Dossier): ComponentChild {
  switch (drawer.tab) {
    case "attempts":
      return <Attempts dossier={dossier} />;
    case "history":
      return <History dossier={dossier} />;
    case "output":
      return <Output drawer={drawer} dossier={dossier} />;
    case "error":
      return <ErrorPage drawer={drawer} dossier={dossier} />;
    default:
      return <Overview drawer={drawer} row={row} dossier={dossier} />;
  }
}

function Tabs({ drawer, dossier }: { drawer: DrawerSession; dossier: Dossier }) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!drawer.focusWanted) return;
    drawer.focusWanted = false;
    list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus();
  });
  return (
    <div class="cmt-tabs">
      <div ref={list} class="cmt-tablist" role="tablist" aria-label={say("Details")}>
        {TABS.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            class="cmt-tab"
            id={`${drawer.id}-${tab}`}
            data-testid={`cmt-tab-${tab}`}
            aria-selected={drawer.tab === tab}
            aria-controls={`${drawer.id}-page`}
            tabIndex={drawer.tab === tab ? 0 : -1}
            onClick={() => drawer.showTab(tab)}
          >
            {label(tab, dossier)}
          </button>
        ))}
      </div>
      <button
        type="button"
        class="cmt-act"
        data-testid="cmt-drawer-close"
        aria-label={say("Close the details")}
        title={say("Close the details")}
        onClick={() => drawer.close()}
      >
        ✕
      </button>
    </div>
  );
}

function label(tab: Tab, dossier: Dossier): string {
  const words: Record<Tab, string> = {
    overview: say("Overview"),
    attempts: say("Attempts"),
    history: say("History"),
    output: say("Output"),
    error: say("Error"),
  };
  const counts: Partial<Record<Tab, number>> = {
    attempts: dossier.attempts.length + dossier.attemptsCut,
    history: dossier.history.length + dossier.historyCut,
  };
  return counts[tab] ? `${words[tab]} ${counts[tab]}` : words[tab];
}
