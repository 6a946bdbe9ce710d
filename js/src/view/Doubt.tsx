/** Said above what is shown when it may not be true any more: the kernel does not answer, or its store has trouble. */

import { clockTime } from "../format.ts";
import { say } from "../words/say.ts";
import type { ViewSession } from "./session.ts";

export function Doubt({ session }: { session: ViewSession }) {
  const { life, table } = session;
  if (life === "gone") return <Line testId="cmt-gone" text={gone(session.asOf)} />;
  if (table.trouble === null) return null;
  return <Line testId="cmt-trouble" text={say("This may be behind: {why}", { why: table.trouble })} />;
}

function Line({ testId, text }: { testId: string; text: string }) {
  return (
    <p class="cmt-doubt" role="status" data-testid={testId} title={text}>
      {text}
    </p>
  );
}

function gone(asOf: number | null): string {
  return asOf === null ? say("Kernel gone") : say("Kernel gone: last known state, {when}", { when: clockTime(asOf) });
}
