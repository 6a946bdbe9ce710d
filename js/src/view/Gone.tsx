/** Said above what was last known, when the kernel does not answer any more. */

import { clockTime } from "../format.ts";
import { say } from "../words/say.ts";
import type { ViewSession } from "./session.ts";

export function Gone({ session }: { session: ViewSession }) {
  const text =
    session.asOf === null
      ? say("Kernel gone")
      : say("Kernel gone: last known state, {when}", { when: clockTime(session.asOf) });
  return (
    <p class="cmt-gone" role="status" data-testid="cmt-gone">
      {text}
    </p>
  );
}
