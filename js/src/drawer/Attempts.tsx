/** The tries, newest first. */

import { clockSeconds, elapsed } from "../format.ts";
import { STATUS_LOOKS } from "../tasks/statuses.ts";
import type { Attempt } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import type { Dossier } from "./dossier.ts";
import { Sheet, StatusWord } from "./Sheet.tsx";

export function Attempts({ dossier }: { dossier: Dossier }) {
  if (dossier.attempts.length === 0) return <p class="cmt-quiet">{say("No attempt yet.")}</p>;
  const titles = [say("try"), say("status"), say("started"), say("took"), say("process"), say("what happened")];
  return (
    <Sheet titles={titles} label={say("Attempts")} left={dossier.attemptsCut}>
      {[...dossier.attempts].reverse().map((attempt) => (
        <tr key={attempt.attempt}>
          <td class="cmt-number">{attempt.attempt}</td>
          <td class={`cmt-tone-${STATUS_LOOKS[attempt.status].tone}`}>
            <StatusWord status={attempt.status} />
          </td>
          <td class="cmt-number">{attempt.started === null ? "" : clockSeconds(attempt.started)}</td>
          <td class="cmt-number">{took(attempt)}</td>
          <td class="cmt-number">{attempt.pid ?? ""}</td>
          <td class="cmt-say">{[attempt.failure, attempt.note].filter(Boolean).join(" · ")}</td>
        </tr>
      ))}
    </Sheet>
  );
}

/** "0:24", "0:24, paused 4.0 s". */
export function took(attempt: Attempt): string {
  if (attempt.seconds === null) return "";
  const whole = elapsed(attempt.seconds * 1000);
  return attempt.paused > 0
    ? say("{time}, paused {pause}", { time: whole, pause: elapsed(attempt.paused * 1000) })
    : whole;
}
