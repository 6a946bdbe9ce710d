/**
 * Keys pressed in a view, taken before JupyterLab sees them: in its command mode "d d" deletes a cell, whatever else
 * has the focus. Chords with Ctrl, Alt or Cmd stay the front end's, but for those that the view takes.
 */

import { tabAfter } from "../drawer/tabs.ts";
import type { ViewSession } from "./session.ts";

export function listenToKeys(root: HTMLElement, session: ViewSession, signal: AbortSignal): void {
  window.addEventListener(
    "keydown",
    (event) => {
      const [target] = event.composedPath();
      if (!(target instanceof HTMLElement || target instanceof SVGElement) || !root.contains(target)) return;
      if (event.ctrlKey || event.metaKey || event.altKey) {
        if (!session.takesChord(event, target)) return;
      } else if (!takesKey(event.key, target, session)) {
        event.stopPropagation(); // the browser still does with it what it always does: typing, Tab, Enter on a button
        return;
      }
      event.stopPropagation();
      event.preventDefault();
    },
    { capture: true, signal },
  );
}

/** Escape takes back; arrows walk in the menu and change the drawer's page; the rest is the view's own. */
function takesKey(key: string, target: Element, session: ViewSession): boolean {
  if (target.closest(".cmt-menu")) return session.menu.key(key, target);
  if (key === "Escape") return takesEscape(target, session);
  if (target.closest(".cmt-drawer")) return target.matches("[role=tab]") && changesTab(key, target, session);
  return session.takesKey(key, target);
}

function takesEscape(target: Element, session: ViewSession): boolean {
  if (session.question !== null) session.answerQuestion(false);
  else if (target.matches(".cmt-output-search") && session.drawer.search) session.drawer.searchOutput("");
  else if (target.closest(".cmt-by-hand")) session.drawer.endByHand();
  else if (target.closest(".cmt-drawer")) session.drawer.close();
  else return session.takesKey("Escape", target);
  return true;
}

/** The page that is chosen has the keyboard: it is the only tab that Tab reaches. */
function changesTab(key: string, target: Element, session: ViewSession): boolean {
  const tab = tabAfter(session.drawer.tab, key);
  if (tab === undefined) return false;
  session.drawer.showTab(tab);
  target.parentElement?.querySelector<HTMLElement>(`[data-testid="cmt-tab-${tab}"]`)?.focus();
  return true;
}
