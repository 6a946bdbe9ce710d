"""What a timeline shows of a task beyond its row: all its attempts, and when they stood still. Reads a controller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from chongming_task.core.records import AttemptRecord, Transition
from chongming_task.core.states import TaskStatus
from chongming_task.errors import TaskError
from chongming_task.notebook.details import TaskReader

__all__ = ["past_of", "stretches"]

ATTEMPTS_SHOWN = 50
STRETCHES_SHOWN = 50  # of a task
ENTRIES_SHOWN = 1500  # of all tasks of one message: about 50 kB


def past_of(source: TaskReader, task_ids: Sequence[str], epoch_ms: int) -> dict[str, Any]:
    """The attempts and pauses of some tasks.

    Args:
        source: The controller.
        task_ids: The tasks.
        epoch_ms: The feed's start in Unix milliseconds; the times count from here, as those of rows do.

    Returns:
        By task id ``{"version": 7, "attempts": [[1, started, ended, "failed"], ...], "paused": [[from, to], ...],
        "cut": 0}``, or None when there is no such task any more. ``version`` is at least as old as what is told;
        ``ended`` and ``to`` are None while they have not come; ``cut`` tells how many older attempts are left out.
        Tasks that do not fit one message are left out: ask for them again.
    """
    told: dict[str, Any] = {}
    room = ENTRIES_SHOWN
    for task_id in task_ids:
        told[task_id] = past = _past(source, task_id, epoch_ms)
        room -= 1 if past is None else len(past["attempts"]) + len(past["paused"])
        if room <= 0:
            break
    return told


def _past(source: TaskReader, task_id: str, epoch_ms: int) -> dict[str, Any] | None:
    def at(time: datetime | None) -> int | None:
        return None if time is None else round(time.timestamp() * 1000) - epoch_ms

    try:
        version = source.get(task_id).status_version  # before the rest: what is told is never older than it
    except TaskError:  # it was pruned
        return None
    attempts = source.attempts(task_id)
    pauses = list(stretches(source.transitions(task_id)))[-STRETCHES_SHOWN:]
    return {
        "version": version,
        "attempts": [_attempt(each, at(each.started_at), at(each.ended_at)) for each in attempts[-ATTEMPTS_SHOWN:]],
        "paused": [[at(begun), at(over)] for begun, over in pauses],
        "cut": max(len(attempts) - ATTEMPTS_SHOWN, 0),
    }


def _attempt(each: AttemptRecord, started: int | None, ended: int | None) -> list[Any]:
    return [each.attempt, started, ended, each.status.value]


def stretches(trail: Sequence[Transition]) -> Iterator[tuple[datetime, datetime | None]]:
    """When a task held its worker and did nothing: from when to when, None while it still does.

    A task that was paused before its start held nothing, and one that was set to paused by hand may have gone on.

    Args:
        trail: Its transitions, in order.
    """
    begun: datetime | None = None
    for each in trail:
        if begun is not None:
            yield begun, each.at
            begun = None
        if each.to_status is TaskStatus.PAUSED and each.from_status is TaskStatus.PAUSING and _came_true(each):
            begun = each.at
    if begun is not None:
        yield begun, None


def _came_true(each: Transition) -> bool:
    return not each.trigger.startswith("force:")
