"""What becomes of a verb for a record of another process: before it is sent, and when it is answered. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chongming_task.api.attach_standing import as_it_stands
from chongming_task.core.records import Command, TaskSnapshot
from chongming_task.core.states import Outcome, rule_for
from chongming_task.core.triggers import Asked, Forced
from chongming_task.core.verbs import refusal
from chongming_task.errors import (
    AttemptsExhausted,
    ConfigurationError,
    ControllerClosed,
    InvalidTransition,
    NotRestartable,
    NotWatched,
    StillRunning,
    StoreError,
    TaskError,
    UnknownTask,
)
from chongming_task.runtime.engine import Answer

__all__ = ["answer_at_once", "outcome_of"]

_REFUSALS: Mapping[str, type[InvalidTransition]] = {
    each.__name__: each for each in (InvalidTransition, AttemptsExhausted, StillRunning)
}
_ERRORS: Mapping[str, type[TaskError]] = {
    each.__name__: each for each in (NotRestartable, UnknownTask, ConfigurationError, ControllerClosed, StoreError)
}


def answer_at_once(task_id: str, task: TaskSnapshot | None, trigger: Asked | Forced, *, watched: bool) -> Answer | None:
    """What can be said of a verb without asking anybody; None when its controller must be asked.

    Args:
        task_id: The record.
        task: As it is stored; None for none.
        trigger: The verb.
        watched: Whether its controller lives.
    """
    if task is None:
        return Answer(task_id, UnknownTask(f"no task {task_id!r:.100} in this store"))
    if isinstance(trigger, Asked):
        no = refusal(task, trigger.verb, force=trigger.force or not watched)
        if no is not None and (watched or task.is_terminal):
            return Answer(task_id, no)
        stands = as_it_stands(task, watched=watched)
        if not watched and rule_for(stands.status, stands.live, trigger.verb).outcome is Outcome.NOOP:
            return Answer(task_id)
    return None if watched else Answer(task_id, _unwatched(task, trigger))


def _unwatched(task: TaskSnapshot, trigger: Asked | Forced) -> NotWatched:
    verb = trigger.verb if isinstance(trigger, Asked) else "set the status of"
    return NotWatched(
        f"cannot {verb} {task.name!r}: nobody watches it, for its controller ({task.owner or 'unknown'}) is gone; "
        "a controller on this store takes it over by reconcile(), or when it is asked the same"
    )


def outcome_of(command: Command, task: TaskSnapshot | None) -> tuple[TaskError | None, bool]:
    """What a controller has answered: what it refused with, and whether it changed anything.

    Args:
        command: As it is stored, completed.
        task: Its record, as it is stored now.
    """
    outcome: Any = command.outcome if isinstance(command.outcome, Mapping) else {}
    if outcome.get("ok"):
        return None, bool(outcome.get("acted"))
    name, said = str(outcome.get("error", "")), str(outcome.get("message", "it was refused"))
    if name in _REFUSALS:
        current = "" if task is None else task.status.value
        return _REFUSALS[name](said, current=current, requested=command.verb), False
    return _ERRORS.get(name, TaskError)(said), False
