"""A message from the browser, checked. Pure, never raises: whatever comes gives a request or a refusal.

A view may say hello, resync and pong, and may send five verbs for tasks it was shown. Whoever can reach the kernel's
comms can run code as well: the checks are there so that a broken or outdated view does no harm, and so that no message
ends in a traceback.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeGuard

from chongming_task.core.states import Verb
from chongming_task.notebook.rows import VIEW_VERBS

__all__ = ["Refusal", "Signal", "SignalMessage", "VerbRequest", "parse"]

MAX_IDS: Final = 5000
MAX_ID_CHARS: Final = 64

ARGS: Final[Mapping[Verb, frozenset[str]]] = {Verb.RETRY: frozenset({"force"}), Verb.STOP: frozenset({"graceful"})}
"""The arguments a view may give, all of them booleans."""


class Signal(StrEnum):
    """What a view says about itself."""

    HELLO = "hello"  # it has just been displayed: send everything
    RESYNC = "resync"  # it missed a message: send everything
    PONG = "pong"  # it is there


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
class Refusal:
    """A message that makes no sense."""

    id: str | None  # None: not even an id could be read, so there is nobody to answer
    error: str


def parse(content: object, tasks: Container[str]) -> SignalMessage | VerbRequest | Refusal:
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
    if not (isinstance(verb, str) and verb in VIEW_VERBS):
        return Refusal(request_id, f"verb is one of {', '.join(VIEW_VERBS)}")
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


def _is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS
