/** The menu behind a row's ⋯: one at a time, at the button that opened it. */

import type { Verb } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { ViewSession } from "./session.ts";
import { VERB_LABELS } from "./words.ts";

export interface MenuItem {
  key: string;
  label: string;
  /** Why it cannot be chosen; null: it can. */
  reason: string | null;
  run(): void;
}

export class MenuSession {
  row: number | null = null;
  /** The button it hangs at. */
  anchor: HTMLElement | null = null;

  constructor(private readonly view: ViewSession) {}

  toggle(row: number, anchor: HTMLElement): void {
    if (this.row === row) this.close();
    else {
      this.row = row;
      this.anchor = anchor;
      this.view.repaint();
    }
  }

  /** @param refocus - whether the keyboard goes back to the button */
  close(refocus = true): void {
    if (this.row === null) return;
    if (refocus) this.anchor?.focus({ preventScroll: true });
    this.row = null;
    this.anchor = null;
    this.view.repaint();
  }

  choose(item: MenuItem): void {
    if (item.reason !== null) {
      this.view.say({ text: item.reason, bad: true });
      return;
    }
    this.close();
    item.run();
  }

  /** Arrows walk, Escape and Tab close; whether the key was for the menu. */
  key(key: string, target: Element): boolean {
    if (key === "Escape" || key === "Tab") {
      this.close();
      return true;
    }
    const items = [...(target.closest(".cmt-menu")?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const here = items.indexOf(target as HTMLElement);
    const places: Record<string, number> = {
      ArrowDown: (here + 1) % items.length,
      ArrowUp: (here + items.length - (here < 0 ? 0 : 1)) % items.length,
      Home: 0,
      End: items.length - 1,
    };
    const item = items[places[key] ?? -1];
    item?.focus();
    return item !== undefined;
  }

  items(row: number): MenuItem[] {
    const { view } = this;
    const { drawer, table } = view;
    const id = table.columns.id[row] ?? "";
    const verb = (name: Verb): MenuItem => ({
      key: name,
      label: say(VERB_LABELS[name]),
      reason: view.refusal(row, name),
      run: () => view.actOnRow(row, name),
    });
    const act = (key: string, label: string, run: () => void, reason: string | null = null): MenuItem => ({
      key,
      label,
      reason,
      run,
    });
    const gone = view.life === "gone" ? say("the kernel is gone") : null;
    return [
      verb("cancel"),
      verb("skip"),
      verb("reset"),
      act("by-hand", say("Set status by hand…"), () => drawer.showByHand(row), gone),
      act("output", say("Show output"), () => drawer.showAt(row, "output")),
      act("copy-id", say("Copy id"), () => void view.copy(id)),
      act("copy-code", say("Copy as code"), () => void view.copy(`controller.handle("${id}")`)),
    ];
  }
}
