"""A message from the browser, checked. Pure, never raises: whatever comes gives a request or a refusal.

A view may say hello, resync and pong, send verbs for tasks it was shown, ask for their details, waits and pasts, and
set a status by hand. Whoever can reach the kernel's
comms can run code as well: the checks are there so that a broken or outdated view does no harm, and so that no message
ends in a traceback.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeGuard

from chongming_task.core.states import TaskStatus, Verb
from chongming_task.notebook.rows import VIEW_VERBS

__all__ = [
    "DetailsRequest",
    "ForceRequest",
    "Message",
    "PastRequest",
    "Refusal",
    "RunRequest",
    "RunVerb",
    "Signal",
    "SignalMessage",
    "VerbRequest",
    "WaitsRequest",
    "parse",
]

MAX_IDS: Final = 5000
MAX_ID_CHARS: Final = 64
MAX_WAITS: Final = 60  # rows in sight
MAX_PASTS: Final = 100
MAX_REASON_CHARS: Final = 2000
MAX_LINE: Final = 2**53  # the largest whole number that every browser can say

DETAILS: Final = "details"
WAITS: Final = "waits"
PAST: Final = "past"
FORCE: Final = "force_transition"
RUN: Final = "run"

ARGS: Final[Mapping[Verb, frozenset[str]]] = {
    Verb.RETRY: frozenset({"force"}),
    Verb.RESET: frozenset({"force"}),
    Verb.STOP: frozenset({"graceful"}),
}
"""The arguments a view may give, all of them booleans."""


class Signal(StrEnum):
    """What a view says about itself."""

    HELLO = "hello"  # it has just been displayed: send everything
    RESYNC = "resync"  # it missed a message: send everything
    PONG = "pong"  # it is there


class RunVerb(StrEnum):
    """What the run that a view shows may be asked as a whole."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    RETRY_FAILED = "retry_failed"


@dataclass(frozen=True, slots=True)
class SignalMessage:
    """A view speaks of itself."""

    signal: Signal


@dataclass(frozen=True, slots=True)
class VerbRequest:
    """A verb for tasks."""

    id: str  # the view's own; the answer carries it
    verb: Verb
    known: tuple[str, ...]  # tasks that were shown
    unknown: tuple[str, ...]  # anything else that was named
    args: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class DetailsRequest:
    """The drawer of a task is open."""

    id: str
    task: str
    seen: str  # stands for what the view was told last
    after: int  # the last line it has


@dataclass(frozen=True, slots=True)
class WaitsRequest:
    """Why have these not begun?"""

    id: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PastRequest:
    """When were these tried, and paused?"""

    id: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForceRequest:
    """A status is set by hand."""

    id: str
    task: str
    to: TaskStatus
    reason: str


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A verb for the run as a whole."""

    id: str
    verb: RunVerb


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that makes no sense."""

    id: str | None  # None: not even an id could be read, so there is nobody to answer
    error: str


Message = (
    SignalMessage | VerbRequest | DetailsRequest | WaitsRequest | PastRequest | ForceRequest | RunRequest | Refusal
)


def parse(content: object, tasks: Container[str]) -> Message:
    """Reads one custom message.

    Args:
        content: What the browser sent, as decoded from JSON.
        tasks: The ids the view was shown.
    """
    if not isinstance(content, Mapping):
        return Refusal(None, "a message is an object")
    request_id = content.get("id")
    if not _is_id(request_id):
        return Refusal(None, f"id is a string of 1 to {MAX_ID_CHARS} characters")
    verb = content.get("verb")
    if isinstance(verb, str) and verb in set(Signal):
        return SignalMessage(Signal(verb))
    if verb in (DETAILS, FORCE):
        return _parse_one(request_id, verb, content, tasks)
    if verb in (WAITS, PAST):
        return _parse_several(request_id, verb, content, tasks)
    if verb == RUN:
        return _parse_run(request_id, content)
    if not (isinstance(verb, str) and verb in VIEW_VERBS):
        return Refusal(request_id, f"verb is one of {', '.join((*VIEW_VERBS, DETAILS, WAITS, PAST, FORCE, RUN))}")
    return _parse_verb(request_id, Verb(verb), content, tasks)


def _parse_verb(
    request_id: str, verb: Verb, content: Mapping[str, Any], tasks: Container[str]
) -> VerbRequest | Refusal:
    ids = content.get("ids")
    if not isinstance(ids, list) or not 0 < len(ids) <= MAX_IDS or not all(_is_id(item) for item in ids):
        return Refusal(request_id, f"ids is a list of 1 to {MAX_IDS} task ids")
    args = content.get("args", {})
    allowed = ARGS.get(verb, frozenset())
    if not isinstance(args, Mapping) or not set(args) <= allowed:
        return Refusal(request_id, f"args of {verb} may hold: {', '.join(sorted(allowed)) or 'nothing'}")
    if not all(isinstance(value, bool) for value in args.values()):
        return Refusal(request_id, "args are true or false")
    unique = tuple(dict.fromkeys(ids))
    return VerbRequest(
        id=request_id,
        verb=verb,
        known=tuple(item for item in unique if item in tasks),
        unknown=tuple(item for item in unique if item not in tasks),
        args=dict(args),
    )


def _parse_one(
    request_id: str, verb: str, content: Mapping[str, Any], tasks: Container[str]
) -> DetailsRequest | ForceRequest | Refusal:
    task = content.get("task")
    if not _is_id(task) or task not in tasks:
        return Refusal(request_id, "no such task in this view")
    if verb == FORCE:
        return _parse_force(request_id, task, content)
    seen, after = content.get("seen", ""), content.get("after", 0)
    if not isinstance(seen, str) or len(seen) > MAX_ID_CHARS:
        return Refusal(request_id, f"seen is a string of at most {MAX_ID_CHARS} characters")
    if type(after) is not int or not 0 <= after <= MAX_LINE:
        return Refusal(request_id, "after is the number of a line")
    return DetailsRequest(request_id, task, seen, after)


def _parse_force(request_id: str, task: str, content: Mapping[str, Any]) -> ForceRequest | Refusal:
    to, reason = content.get("to"), content.get("reason")
    if not isinstance(to, str) or to not in set(TaskStatus):
        return Refusal(request_id, f"to is one of {', '.join(TaskStatus)}")
    if not isinstance(reason, str) or not reason.strip() or len(reason) > MAX_REASON_CHARS:
        return Refusal(request_id, f"reason is a text of 1 to {MAX_REASON_CHARS} characters")
    return ForceRequest(request_id, task, TaskStatus(to), reason.strip())


def _parse_several(
    request_id: str, verb: str, content: Mapping[str, Any], tasks: Container[str]
) -> WaitsRequest | PastRequest | Refusal:
    ids = content.get("ids")
    kind, most = (WaitsRequest, MAX_WAITS) if verb == WAITS else (PastRequest, MAX_PASTS)
    if not isinstance(ids, list) or len(ids) > most or not all(_is_id(item) for item in ids):
        return Refusal(request_id, f"ids is a list of at most {most} task ids")
    return kind(request_id, tuple(item for item in dict.fromkeys(ids) if item in tasks))


def _parse_run(request_id: str, content: Mapping[str, Any]) -> RunRequest | Refusal:
    wanted = content.get("do")
    if not isinstance(wanted, str) or wanted not in set(RunVerb):
        return Refusal(request_id, f"do is one of {', '.join(RunVerb)}")
    return RunRequest(request_id, RunVerb(wanted))


def _is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS
