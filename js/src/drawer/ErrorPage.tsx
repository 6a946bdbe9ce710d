/** How it went wrong: the message and the traceback, to read and to copy. */

import { say } from "../words/say.ts";
import { type Dossier, errorText } from "./dossier.ts";
import type { DrawerSession } from "./drawer_session.ts";

export function ErrorPage({ drawer, dossier }: { drawer: DrawerSession; dossier: Dossier }) {
  const { failure } = dossier;
  if (failure === null) return <p class="cmt-quiet">{say("Nothing went wrong.")}</p>;
  const code = failure.exit_code === null ? "" : say("exit code {code}", { code: failure.exit_code });
  return (
    <div class="cmt-error-page">
      <div class="cmt-tools">
        <button
          type="button"
          class="cmt-button"
          data-testid="cmt-copy-error"
          onClick={() => void drawer.view.copy(errorText(failure))}
        >
          {say("Copy")}
        </button>
        <span class="cmt-quiet">{code}</span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre class="cmt-trace" tabIndex={0} aria-label={say("Error")} role="region" data-testid="cmt-trace">
        {errorText(failure)}
      </pre>
    </div>
  );
}
