/** Sets a status past all rules, with a reason: the way out when a person knows better. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import { STATUSES, type Status } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { DrawerSession } from "./drawer_session.ts";

export function ByHand({ drawer, row }: { drawer: DrawerSession; row: number }) {
  if (drawer.byHand === null) {
    return (
      <button
        type="button"
        class="cmt-button"
        data-testid="cmt-by-hand"
        aria-disabled={drawer.view.life === "gone"}
        onClick={() => drawer.beginByHand(drawer.view.table.status(row))}
      >
        {say("Set status by hand…")}
      </button>
    );
  }
  return <Form drawer={drawer} />;
}

function Form({ drawer }: { drawer: DrawerSession }) {
  const choice = useRef<HTMLSelectElement>(null);
  useLayoutEffect(() => choice.current?.focus(), []);
  const form = drawer.byHand;
  if (form === null) return null;
  const ready = form.reason.trim() !== "";
  return (
    <form
      class="cmt-by-hand"
      data-testid="cmt-by-hand-form"
      onSubmit={(event) => {
        event.preventDefault();
        void drawer.setByHand();
      }}
    >
      <label>
        {say("new status")}
        <select
          ref={choice}
          data-testid="cmt-by-hand-to"
          value={form.to}
          onChange={(event) => drawer.fillByHand({ to: event.currentTarget.value as Status })}
        >
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {say(STATUS_LOOKS[status].word).replace("…", "")}
            </option>
          ))}
        </select>
      </label>
      <label class="cmt-grow">
        {say("reason")}
        <input
          type="text"
          maxLength={2000}
          data-testid="cmt-by-hand-reason"
          value={form.reason}
          placeholder={say("why; kept in the history")}
          onInput={(event) => drawer.fillByHand({ reason: event.currentTarget.value })}
        />
      </label>
      <button
        type="submit"
        class="cmt-button cmt-primary"
        data-testid="cmt-by-hand-set"
        aria-disabled={!ready}
        title={ready ? undefined : say("a reason is needed")}
      >
        {say("Set status")}
      </button>
      <button type="button" class="cmt-button" onClick={() => drawer.endByHand()}>
        {say("Leave as it is")}
      </button>
    </form>
  );
}
