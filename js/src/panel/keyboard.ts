/**
 * Keys pressed in the panel, taken before JupyterLab sees them: in its command mode "d d" deletes a cell, whatever else
 * has the focus. Chords with Ctrl, Alt or Cmd stay the front end's, but for Ctrl+A on a row.
 */

import { tabAfter } from "../drawer/tabs.ts";
import type { PanelSession } from "./session.ts";
import { ROWS_IN_SIGHT } from "./virtual_rows.ts";

export function listenToKeys(root: HTMLElement, session: PanelSession, signal: AbortSignal): void {
  window.addEventListener(
    "keydown",
    (event) => {
      const [target] = event.composedPath();
      if (!(target instanceof HTMLElement) || !root.contains(target)) return;
      if (event.ctrlKey || event.metaKey || event.altKey) {
        if (!takesChord(event, target, session)) return;
      } else if (!takesKey(event, target, session)) {
        event.stopPropagation(); // the browser still does with it what it always does: typing, Tab, Enter on a button
        return;
      }
      event.stopPropagation();
      event.preventDefault();
    },
    { capture: true, signal },
  );
}

/** Ctrl+A selects all rows. */
function takesChord(event: KeyboardEvent, target: HTMLElement, session: PanelSession): boolean {
  if (event.key.toLowerCase() !== "a" || event.altKey || !target.closest(".cmt-body") || target.closest(".cmt-drawer"))
    return false;
  session.selectAll(true);
  return true;
}

/** Escape takes back; in the table arrows walk, space selects and Enter opens; arrows also change the drawer's page. */
function takesKey(event: KeyboardEvent, target: HTMLElement, session: PanelSession): boolean {
  if (target.closest(".cmt-menu")) return session.menu.key(event.key, target);
  if (event.key === "Escape") return takesEscape(target, session);
  if (target.closest(".cmt-drawer")) return target.matches("[role=tab]") && changesTab(event.key, target, session);
  if (!target.closest(".cmt-body")) return false;
  if (event.key === "Enter" && target.matches(".cmt-row") && session.current !== null) {
    session.drawer.toggle(session.current);
    return true;
  }
  if (event.key === " " && target.matches(".cmt-row") && session.current !== null) {
    session.select(session.current, !session.selected.has(session.current));
    return true;
  }
  return walks(event.key, session);
}

function takesEscape(target: HTMLElement, session: PanelSession): boolean {
  if (session.question !== null) session.answerQuestion(false);
  else if (target.matches(".cmt-output-search") && session.drawer.search) session.drawer.searchOutput("");
  else if (target.closest(".cmt-by-hand")) session.drawer.endByHand();
  else if (target.closest(".cmt-drawer")) session.drawer.close();
  else if (target.matches(".cmt-search")) session.filterText("");
  else if (session.selected.size > 0) session.selectAll(false);
  else return false;
  return true;
}

/** The page that is chosen has the keyboard: it is the only tab that Tab reaches. */
function changesTab(key: string, target: HTMLElement, session: PanelSession): boolean {
  const tab = tabAfter(session.drawer.tab, key);
  if (tab === undefined) return false;
  session.drawer.showTab(tab);
  target.parentElement?.querySelector<HTMLElement>(`[data-testid="cmt-tab-${tab}"]`)?.focus();
  return true;
}

function walks(key: string, session: PanelSession): boolean {
  const rows = session.rows();
  const last = rows.length - 1;
  const here = session.current === null ? -1 : rows.indexOf(session.current);
  const places: Record<string, number> = {
    ArrowDown: Math.min(here + 1, last),
    ArrowUp: Math.max(here - 1, 0),
    PageDown: Math.min(Math.max(here, 0) + ROWS_IN_SIGHT, last),
    PageUp: Math.max(here - ROWS_IN_SIGHT, 0),
    Home: 0,
    End: last,
  };
  const place = places[key];
  if (place === undefined) return false;
  session.moveTo(rows[place]);
  return true;
}
