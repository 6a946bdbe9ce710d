/** Every change of the status, newest first: when, from and to, by what, by whom, why. */

import { clockSeconds } from "../format.ts";
import { say } from "../words/say.ts";
import type { Dossier } from "./dossier.ts";
import { Sheet, StatusWord } from "./Sheet.tsx";

export function History({ dossier }: { dossier: Dossier }) {
  if (dossier.history.length === 0) return <p class="cmt-quiet">{say("Nothing has happened yet.")}</p>;
  const titles = [say("when"), say("from → to"), say("trigger"), say("by whom"), say("reason")];
  return (
    <Sheet titles={titles} label={say("History")} left={dossier.historyCut}>
      {[...dossier.history].reverse().map((step) => (
        <tr key={step.version}>
          <td class="cmt-number">{clockSeconds(step.at)}</td>
          <td>
            <StatusWord status={step.from} /> → <StatusWord status={step.to} />
          </td>
          <td class="cmt-code">{step.trigger}</td>
          <td>{step.actor}</td>
          <td class="cmt-say">{step.reason}</td>
        </tr>
      ))}
    </Sheet>
  );
}
