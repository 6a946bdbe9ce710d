"""What the page on the wire takes from ``js/src/wire/protocol.ts``: declarations, as they are written there."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

__all__ = ["details", "from_kernel", "from_view"]

PROTOCOL = Path(__file__).parents[2] / "js" / "src" / "wire" / "protocol.ts"
_DECLARATION = re.compile(
    r"^(?:/\*\*(?:(?!\*/).)*\*/\n)?(?:export )?(?:interface (?P<interface>\w+)[^{]*\{.*?^\}|type (?P<type>\w+) =.*?;)$",
    re.MULTILINE | re.DOTALL,
)
_FROM_KERNEL = (
    "Counts Block GraphPayload RunStanding RunState TableState ResetMessage PatchMessage PingMessage TaskResult "
    "AnswerMessage AnswersMessage KernelMessage SavedTable"
)
_DETAILS = "Attempt Step OutputLine FailureDetails Waits PastAttempt Past Details"
_FROM_VIEW = "VerbArgs ViewMessage ViewRequest"


def _declarations(names: str) -> str:
    text = PROTOCOL.read_text(encoding="utf-8")
    found = {each["interface"] or each["type"]: each[0] for each in _DECLARATION.finditer(text)}
    return "```ts\n" + "\n\n".join(found[name] for name in names.split()) + "\n```\n"


from_kernel = partial(_declarations, _FROM_KERNEL)
details = partial(_declarations, _DETAILS)
from_view = partial(_declarations, _FROM_VIEW)
