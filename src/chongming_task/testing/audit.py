"""The oracle of every test that has a store: what it holds must be a history that can have happened."""

from __future__ import annotations

from collections.abc import Iterable

from chongming_task.core.ports import TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.states import OCCUPIED, TERMINAL, TaskStatus, edge_exists

__all__ = ["AuditError", "check_audit"]

S = TaskStatus
_ASKED = frozenset({S.PAUSING, S.STOPPING})  # on the way to what somebody wants


class AuditError(AssertionError):
    """The store holds something that cannot have happened; names the record and every fault found.

    Example:
        >>> from chongming_task import MemoryTaskStore
        >>> try:
        ...     check_audit(MemoryTaskStore())
        ... except AuditError as error:
        ...     print(error)  # it would name each record and what is wrong with it
        0
    """


def check_audit(store: TaskStore, *, settled: bool = False) -> int:
    """Check every record of a store against its own trail and attempts.

    Args:
        store: The store.
        settled: Also demand that nothing is under way: every record has ended, waits or is paused.

    Returns:
        How many records were checked.

    Raises:
        AuditError: With all faults found.

    Example:
        >>> from chongming_task import Controller, MemoryTaskStore
        >>> store = MemoryTaskStore()
        >>> with Controller(store) as controller:
        ...     _ = controller.submit(pow, 2, 10).wait(timeout=10)
        ...     print(check_audit(store, settled=True))
        1
    """
    faults: list[str] = []
    tasks = store.query(TaskQuery())
    for task in tasks:
        trail, attempts = store.transitions(task.task_id), store.attempts(task.task_id)
        where = f"{task.name} {task.task_id} ({task.status})"
        faults += [f"{where}: {fault}" for fault in _faults(task, trail, attempts, settled)]
    if faults:
        raise AuditError(f"{len(faults)} faults in {len(tasks)} records:\n" + "\n".join(faults[:50]))
    return len(tasks)


def _faults(task: TaskSnapshot, trail: list[Transition], attempts: list[AttemptRecord], settled: bool) -> Iterable[str]:
    yield from _trail_faults(task, trail)
    yield from _snapshot_faults(task)
    yield from _attempt_faults(task, trail, attempts)
    if settled and task.live and task.status is not S.PAUSED:
        yield "is still under way"


def _trail_faults(task: TaskSnapshot, trail: list[Transition]) -> Iterable[str]:
    if [edge.version for edge in trail] != list(range(1, task.status_version + 1)):
        yield f"versions are not 1 to {task.status_version}: {[edge.version for edge in trail]}"
    status = S.PENDING
    overridden = False
    for edge in trail:
        if edge.task_id != task.task_id:
            yield f"version {edge.version} belongs to {edge.task_id}"
        if edge.from_status is not status:
            yield f"version {edge.version} leaves {edge.from_status}, but the record was {status}"
        if not edge_exists(edge.from_status, edge.to_status, edge.trigger):
            yield f"version {edge.version}: no edge {edge.from_status} → {edge.to_status} for {edge.trigger}"
        status = edge.to_status
        overridden = edge.trigger != "user:reset" and (overridden or edge.trigger.startswith("force:"))
    if overridden is not task.overridden:
        yield f"overridden is {task.overridden}, the trail says {overridden}"
    if status is not task.status:
        yield f"the trail ends in {status}"


def _snapshot_faults(task: TaskSnapshot) -> Iterable[str]:
    if not task.overridden:
        if task.status in OCCUPIED and not task.live:
            yield "holds no worker"
        if task.live and task.status not in OCCUPIED | {S.PAUSED}:
            yield "holds a worker"
        if task.status is S.RUNNING and task.started_at is None:
            yield "runs without started_at"
        if task.status is S.SUCCEEDED and task.failure is not None:
            yield f"succeeded with a failure: {task.failure}"
        if task.status in (S.FAILED, S.LOST) and task.failure is None:
            yield "has no failure"
        if (task.status in _ASKED) is not (task.requested_action is not None):
            yield f"is asked to {task.requested_action}"
    if (task.status in TERMINAL) is not (task.ended_at is not None):
        yield f"ended_at is {task.ended_at}"
    if (task.status is S.RETRY_WAIT) is not (task.retry_at is not None):
        yield f"retry_at is {task.retry_at}"
    if task.attempt > task.max_attempts:
        yield f"attempt {task.attempt} of {task.max_attempts}"
    if task.status in TERMINAL and task.requested_action is not None:
        yield f"still asked to {task.requested_action}"


def _attempt_faults(task: TaskSnapshot, trail: list[Transition], attempts: list[AttemptRecord]) -> Iterable[str]:
    if [a.attempt for a in attempts] != list(range(1, task.attempt + 1)):
        yield f"attempts are not 1 to {task.attempt}: {[a.attempt for a in attempts]}"
    reset = max((edge.version for edge in trail if edge.trigger == "user:reset"), default=0)
    starts = sum(edge.to_status is S.STARTING and edge.trigger == "scheduler:dispatch" for edge in trail[reset:])
    if starts != len(attempts):
        yield f"{starts} starts, {len(attempts)} attempts"
    still_live = [a.attempt for a in attempts if a.ended_at is None]
    if still_live != ([task.attempt] if task.live else []):
        yield f"attempts without an end: {still_live}"
    if task.status is S.SUCCEEDED and not task.overridden and [a.status for a in attempts[-1:]] != [S.SUCCEEDED]:
        yield f"succeeded, its last attempt did not: {attempts[-1:]}"
    for attempt in attempts:
        if attempt.task_id != task.task_id:
            yield f"attempt {attempt.attempt} belongs to {attempt.task_id}"
        if (attempt.ended_at is None) is (attempt.status in TERMINAL):
            yield f"attempt {attempt.attempt} is {attempt.status}, its ended_at {attempt.ended_at}"
        if attempt.seconds is not None and (attempt.seconds < 0 or attempt.paused_seconds > attempt.seconds + 1e-6):
            yield f"attempt {attempt.attempt} took {attempt.seconds} s, {attempt.paused_seconds} s of it paused"
