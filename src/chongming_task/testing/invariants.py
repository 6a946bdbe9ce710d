"""What must hold of a running engine at every moment, beside the audit of its store. The functions yield faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from chongming_task.core.effects import StopReason
from chongming_task.core.ports import TaskStore
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.core.triggers import Timer
from chongming_task.runtime.engine import Engine
from chongming_task.runtime.live import LiveTask
from chongming_task.testing.manual_executor import ManualExecution

__all__ = ["command_faults", "rest_faults", "slot_faults", "word_faults"]

S = TaskStatus


def slot_faults(engine: Engine, slots: int, limits: Mapping[str, int]) -> Iterator[str]:
    """Slots are held by live records, by all of them and by no others, and never more than there are.

    Args:
        engine: Any, between two ticks.
        slots: How many records may hold a worker.
        limits: How many with a tag may.
    """
    live = {task_id: each for task_id, each in engine.tasks.items() if each.draft.live}
    if set(engine.ready.holding) != set(live):
        yield "the slots held are not those of the live records"
    if len(live) > slots:
        yield f"{len(live)} records hold a worker, {slots} may"
    for tag, size in limits.items():
        users = sum(tag in each.draft.tags for each in live.values())
        if users > size:
            yield f"{users} records with tag {tag} hold a worker, {size} may"
    for task_id, each in engine.tasks.items():
        if task_id not in live and each.timers - {Timer.RETRY}:
            yield f"{each.draft.name} has no worker, and its timers: {each.timers}"


def word_faults(
    engine: Engine, running: Sequence[ManualExecution], had: Mapping[ManualExecution, float] | None = None
) -> Iterator[str]:
    """What is told of a record is so: paused is held, ended runs no more, and time is up when it is up.

    Args:
        engine: Any, between two ticks.
        running: Workers whose user code runs.
        had: Seconds that workers have had since they began, pauses left out; None while the engine has not looked.
    """
    alive = Counter(worker.request.task_id for worker in running if not _is_given_up(engine, worker))
    for task_id, live in engine.tasks.items():
        task, worker = live.snapshot, live.execution
        if alive[task_id] > 1:
            yield f"{task.name} has {alive[task_id]} workers at once"
        if alive[task_id] and task.status in TERMINAL and not task.abandoned:
            yield f"{task.name} is told to be {task.status}, and its worker runs"
        if isinstance(worker, ManualExecution):
            if task.status is S.PAUSED and worker.running and worker.held_for is None:
                yield f"{task.name} is told to be paused, and its worker is not held"
            if had is not None:
                yield from _limit_faults(live, worker, had.get(worker, 0.0))


def _is_given_up(engine: Engine, worker: ManualExecution) -> bool:
    live = engine.tasks.get(worker.request.task_id)
    return live is None or worker in live.given_up.values()


def _limit_faults(live: LiveTask, worker: ManualExecution, had: float) -> Iterator[str]:
    limit, told = live.policy.timeout.per_attempt, worker.stop_reason
    if limit is None:
        return
    if told is StopReason.TIMEOUT_ATTEMPT and had < limit:
        yield f"{live.draft.name} is told that its {limit} s are over, and had {had} s"
    if told is None and had >= limit and live.snapshot.status in (S.RUNNING, S.PAUSING):
        yield f"{live.draft.name} had {had} s of {limit} s, and is not told"


def rest_faults(engine: Engine, store: TaskStore) -> Iterator[str]:
    """When everybody has behaved for long enough, everything has ended and nothing is left over."""
    for task_id, live in engine.tasks.items():
        task = live.snapshot
        if task.status not in TERMINAL:
            yield f"{task.name} never ends: it is {task.status}"
        if live.timers:
            yield f"{task.name} has ended and has timers: {live.timers}"
        if task_id not in engine.journal.desynced and store.get(task_id) != task:
            yield f"{task.name} is told otherwise than it is stored"
    if engine.journal.behind:
        yield "the store is up and the journal is behind"


def command_faults(engine: Engine, store: TaskStore) -> Iterator[str]:
    """When everything has come to rest, every command for a record that is watched has its answer."""
    for task_id, live in engine.tasks.items():
        for command in store.commands(task_id):
            if command.completed_at is None or command.outcome is None:
                yield f"{command.verb} of {live.snapshot.name} was never answered"
