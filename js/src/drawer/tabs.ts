/** The pages of the drawer. */

export const TABS = ["overview", "attempts", "history", "output", "error"] as const;
export type Tab = (typeof TABS)[number];

/** The tab that an arrow key leads to; undefined for other keys. */
export function tabAfter(tab: Tab, key: string): Tab | undefined {
  const here = TABS.indexOf(tab);
  const places: Record<string, number> = {
    ArrowRight: (here + 1) % TABS.length,
    ArrowLeft: (here + TABS.length - 1) % TABS.length,
    Home: 0,
    End: TABS.length - 1,
  };
  return TABS[places[key] ?? -1];
}
