"""Records in every situation a verb can meet, built field by field: the rules under test have no part in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from chongming_task.core.policies import ExponentialBackoff, FixedBackoff, RetryPolicy, TaskPolicy, Timeout
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.rules import Step, step
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.core.triggers import Now, Trigger

__all__ = ["CREATED", "NOW", "POLICY", "SITUATIONS", "FixedBackoff", "apply", "policy", "record"]

S = TaskStatus
CREATED = datetime(2030, 1, 1, tzinfo=UTC)
NOW = CREATED + timedelta(hours=1)
STARTED = CREATED + timedelta(minutes=30)

_WAITS: dict[str, Any] = {}
_HOLDS: dict[str, Any] = {"live": True, "attempt": 1, "started_at": STARTED}
_RAN: dict[str, Any] = {"attempt": 1, "started_at": STARTED}
_ENDED: dict[str, Any] = {**_RAN, "ended_at": STARTED + timedelta(minutes=5)}

SITUATIONS: dict[str, tuple[TaskStatus, dict[str, Any]]] = {
    "PENDING": (S.PENDING, _WAITS),
    "BLOCKED": (S.BLOCKED, _WAITS),
    "QUEUED": (S.QUEUED, {"queued_at": CREATED}),
    "STARTING": (S.STARTING, _HOLDS),
    "RUNNING": (S.RUNNING, _HOLDS),
    "PAUSING": (S.PAUSING, {**_HOLDS, "requested_action": RequestedAction.PAUSE}),
    "PAUSED P°": (S.PAUSED, {"queued_at": CREATED}),
    "PAUSED P•": (S.PAUSED, _HOLDS),
    "RETRY_WAIT": (S.RETRY_WAIT, {**_RAN, "retry_at": NOW + timedelta(seconds=30)}),
    "STOPPING": (S.STOPPING, {**_HOLDS, "requested_action": RequestedAction.STOP}),
    "SUCCEEDED": (S.SUCCEEDED, _ENDED),
    "FAILED": (S.FAILED, _ENDED),
    "STOPPED": (S.STOPPED, _ENDED),
    "CANCELLED": (S.CANCELLED, _ENDED),
    "SKIPPED": (S.SKIPPED, {"ended_at": STARTED}),
    "LOST": (S.LOST, _ENDED),
}
"""The sixteen rows of the verb table: ``P°`` was paused before its start, ``P•`` in place."""


def record(situation: str, **changes: Any) -> TaskSnapshot:
    """A record in a situation, three attempts allowed, with version 7."""
    status, fields = SITUATIONS[situation]
    blank = TaskSnapshot("t1", "demo", CREATED, executor="manual", owner="me")
    return blank._replace(**{"status": status, "status_version": 7, "max_attempts": 3, **fields, **changes})


def policy(backoff: Any = "none", **timeout: float) -> TaskPolicy:
    """A policy; attempts are counted on the record."""
    return TaskPolicy(RetryPolicy(max_attempts=3, backoff=backoff), Timeout(**timeout))


POLICY = policy(ExponentialBackoff(base=8, factor=2, jitter="full"), start=10, per_attempt=60, idle=20, grace=5)


def apply(task: TaskSnapshot, trigger: Trigger, *, chance: float = 1.0, policy: TaskPolicy = POLICY) -> Step:
    """One step at ``NOW``."""
    return step(task, trigger, Now(NOW, chance), policy)
