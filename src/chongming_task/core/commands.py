"""What travels in a command from one process to another: a caller's verb as JSON, and its outcome as JSON.

A command names a verb and nothing that could be run; what is not understood is refused, with a word to whoever sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from chongming_task.core.policies import LARGEST_SECONDS
from chongming_task.core.query import status_of
from chongming_task.core.records import Command
from chongming_task.core.states import TaskStatus, Verb
from chongming_task.core.text import MESSAGE_LIMIT, clean
from chongming_task.core.triggers import Asked, Forced
from chongming_task.errors import ConfigurationError, TaskError

__all__ = ["command_of", "done", "refused", "trigger_of"]

_FORCE = "force_transition"  # beside the verbs
_OPTIONS: Mapping[str, type] = {"force": bool, "graceful": bool, "window": float}


def command_of(command_id: str, task_id: str, trigger: Asked | Forced, at: datetime) -> Command:
    """The command that carries a verb."""
    if isinstance(trigger, Forced):
        args: dict[str, Any] = {"to": trigger.to.value, "reason": trigger.reason}
        return Command(command_id, task_id, _FORCE, args, trigger.actor, at)
    args = {name: getattr(trigger, name) for name in _OPTIONS} | {"reason": trigger.reason}
    return Command(command_id, task_id, trigger.verb.value, args, trigger.actor, at)


def trigger_of(command: Command) -> Asked | Forced:
    """The verb that a command carries. Options that are left out have their defaults.

    Raises:
        ConfigurationError: For a verb or an option that is not known, or has a value that cannot be meant.
    """
    args = dict(command.args)
    reason = args.pop("reason", None)
    if not isinstance(reason, str | None):
        raise ConfigurationError(f"a reason must be text, got {reason!r:.100}")
    # Cleaned again: who wrote it may know of no such rule.
    actor, reason = clean(str(command.actor), MESSAGE_LIMIT), None if reason is None else clean(reason, MESSAGE_LIMIT)
    if command.verb == _FORCE:
        return Forced(status_of(args.get("to", "")), actor, reason or "")
    try:
        verb = Verb(command.verb)
    except ValueError:
        raise ConfigurationError(f"{command.verb!r:.100} is no verb; the verbs are {', '.join(Verb)}") from None
    for name, value in args.items():
        if name not in _OPTIONS or not _fits(value, _OPTIONS[name]):
            raise ConfigurationError(f"the command's {name:.50}={value!r:.100} cannot be meant")
    return Asked(verb, actor, reason, **args)


def _fits(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST_SECONDS


def done(status: TaskStatus, *, acted: bool) -> dict[str, Any]:
    """The outcome of a command that was accepted.

    Args:
        status: Where it has left the record.
        acted: Whether it changed anything.
    """
    return {"ok": True, "acted": acted, "status": status.value}


def refused(error: TaskError) -> dict[str, Any]:
    """The outcome of a command that was refused."""
    return {"ok": False, "error": type(error).__name__, "message": str(error)}
