/** The kernel's verb table, as the browser asks it. No rule of its own stands here. */

import { type Outcome, type SituationPayload, type Status, VERBS, type Verb } from "../wire/protocol.ts";
import { say } from "../words/say.ts";
import { STATUS_LOOKS } from "./statuses.ts";

export interface Situation {
  status: Status;
  held: boolean | null;
  rank: number;
  outcomes: Record<Verb, Outcome>;
}

/** Stands in until the table has come: nothing may be done. */
export const UNKNOWN_SITUATION: Situation = readSituation({
  status: "pending",
  held: null,
  rank: 9,
  rules: "r".repeat(VERBS.length),
});

export function readSituation(payload: SituationPayload): Situation {
  const outcomes = Object.fromEntries(
    VERBS.map((verb, index) => [verb, (payload.rules[index] ?? "r") as Outcome]),
  ) as Record<Verb, Outcome>;
  return { status: payload.status, held: payload.held, rank: payload.rank, outcomes };
}

/** Null when the verb would act; else why not, as a tooltip says it. */
export function refusal(situation: Situation, verb: Verb): string | null {
  const outcome = situation.outcomes[verb];
  if (outcome === "a") return null;
  const word = say(STATUS_LOOKS[situation.status].word).replace("…", "");
  if (outcome === "n") return say("nothing to {verb}: {word}", { verb: say(verb), word });
  return say("cannot {verb}: {word}", { verb: say(verb), word });
}
