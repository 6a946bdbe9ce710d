"""How records stand whose controller is gone, as somebody sees them who changes nothing. Pure.

Nobody has said yet what became of them, so the store still holds what was true of a process that is not there.
"""

from __future__ import annotations

from typing import Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus

__all__ = ["UNSURE", "as_it_stands"]

S = TaskStatus

UNSURE = frozenset({S.STARTING, S.RUNNING, S.PAUSING, S.PAUSED, S.STOPPING})
"""What a record may be stored as that is lost."""


def as_it_stands(task: TaskSnapshot, *, watched: bool) -> TaskSnapshot:
    """A record, without what has gone with its process.

    One that held a worker is lost, which is what ``reconcile`` will make of it; one that did not says why it never
    begins.

    Args:
        task: As it is stored.
        watched: Whether its controller lives.
    """
    if watched:
        return task
    if task.holds_worker:
        return task.evolve(_lost(task))
    if not task.is_terminal:
        return task.evolve(_stuck(task))
    return task.evolve({"abandoned": False}) if task.abandoned else task  # the worker went with its process


def _lost(task: TaskSnapshot) -> dict[str, Any]:
    reported = None if task.progress is None else task.progress.updated_at
    signs = [each for each in (task.last_heartbeat_at, reported, task.started_at) if each is not None]
    said = f"its controller is gone, and nobody has reconciled this record yet ({task.owner or 'unknown'})"
    return {
        "status": S.LOST,
        "live": False,
        "abandoned": False,
        "requested_action": None,
        "grace_until": None,
        "failure": Failure(FailureKind.LOST, said),
        "ended_at": max(signs, default=None),  # it was alive then
    }


def _stuck(task: TaskSnapshot) -> dict[str, Any]:
    said = f"nobody will start it: its controller is gone ({task.owner or 'unknown'})"
    if task.failure is not None:  # of its last attempt, which it waits to repeat
        return {"retry_at": None, "failure": Failure(task.failure.kind, f"{said}; before: {task.failure.message}")}
    return {"retry_at": None, "progress": Progress(message=said)}
