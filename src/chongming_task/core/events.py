"""What subscribers see: past-tense facts, frozen, each with an id.

The id of a fact that is stored is derived from it, so a subscriber that is told twice can tell: two events are equal
when their ids are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from chongming_task.core.failures import Failure
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus

__all__ = [
    "AdminOverride",
    "AttemptEnded",
    "AttemptFailed",
    "AttemptStarted",
    "Event",
    "PipelineRunStatusChanged",
    "ProgressUpdated",
    "TaskCreated",
    "TaskEmitted",
    "TaskHeartbeat",
    "TaskLogLine",
    "TaskOutput",
    "TaskStatusChanged",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Event:
    """What they have in common.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([type(event).__name__ for event in controller.events(handle)][:3])
        ['TaskCreated', 'TaskStatusChanged', 'TaskStatusChanged']
    """

    droppable: ClassVar[bool] = False  # may be left out for a subscriber that is behind: newer ones say more

    event_id: str
    at: datetime
    task_id: str
    pipeline_run_id: str | None = None  # the run that the record is a node of
    tags: frozenset[str] = frozenset()  # of the record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.event_id == other.event_id

    def __hash__(self) -> int:
        return hash(self.event_id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskCreated(Event):
    """A record was accepted.

    Example:
        >>> from chongming_task import Controller, TaskCreated
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([event.snapshot.name for event in controller.events(handle, types=[TaskCreated])])
        ['pow']
    """

    snapshot: TaskSnapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskStatusChanged(Event):
    """A record moved along one edge.

    Example:
        >>> from chongming_task import Controller, TaskStatusChanged
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([event.to_status.value for event in controller.events(handle, types=[TaskStatusChanged])])
        ['queued', 'starting', 'running', 'succeeded']
    """

    from_status: TaskStatus
    to_status: TaskStatus
    trigger: str
    actor: str
    reason: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptStarted(Event):
    """A worker began with user code.

    Example:
        >>> from chongming_task import Controller, AttemptStarted
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([event.attempt for event in controller.events(handle, types=[AttemptStarted])])
        [1]
    """

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptEnded(Event):
    """An attempt is over; how the record goes on was told just before.

    Example:
        >>> from chongming_task import Controller, AttemptEnded
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([event.status.value for event in controller.events(handle, types=[AttemptEnded])])
        ['succeeded']
    """

    attempt: int
    status: TaskStatus  # how it ended: FAILED also when a retry follows
    seconds: float | None  # on the monotonic clock, pauses included; None: nobody has watched it to its end
    paused_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptFailed(AttemptEnded):
    """An attempt ended without success; a retry may follow.

    Example:
        >>> from chongming_task import Controller, AttemptFailed
        >>> with Controller() as controller:
        ...     handle = controller.submit(int, "ten")
        ...     _ = handle.wait(timeout=10)
        ...     print([event.failure.message for event in controller.events(handle, types=[AttemptFailed])])
        ["invalid literal for int() with base 10: 'ten'"]
    """

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgressUpdated(Event):
    """A task came further; throttled, the last one always comes.

    Example:
        >>> from chongming_task import Controller, ProgressUpdated
        >>> with Controller() as controller:
        ...     handle = controller.submit(lambda ctx: ctx.progress(3, total=3))
        ...     _ = handle.wait(timeout=10)
        ...     print([event.progress.done for event in controller.events(handle, types=[ProgressUpdated])])
        [3]
    """

    droppable = True

    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskHeartbeat(Event):
    """A task passed a checkpoint since the last look, ``at`` that moment; told every five seconds at most.

    Example:
        >>> from chongming_task import Controller, TaskHeartbeat
        >>> with Controller() as controller:
        ...     watching = controller.watch(lambda event: print(event.at), types=[TaskHeartbeat])
        ...     watching.close()
    """

    droppable = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskOutput(Event):
    """A task wrote a line to its standard output or error.

    Example:
        >>> from chongming_task import Controller, TaskOutput
        >>> with Controller(echo=False) as controller:
        ...     handle = controller.submit(print, "hello")
        ...     _ = handle.wait(timeout=10)
        ...     print([event.text for event in controller.events(handle, types=[TaskOutput])])
        ['hello']
    """

    droppable = True

    attempt: int
    seq: int  # among the record's lines; a gap tells how many were left out
    stream: str  # "stdout" | "stderr"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskLogLine(Event):
    """A task logged a line.

    Example:
        >>> from chongming_task import Controller, TaskLogLine
        >>> with Controller(echo=False) as controller:
        ...     handle = controller.submit(lambda ctx: ctx.log.info("loaded", rows=3))
        ...     _ = handle.wait(timeout=10)
        ...     print([(event.level, event.text) for event in controller.events(handle, types=[TaskLogLine])])
        [(20, 'loaded rows=3')]
    """

    droppable = True

    attempt: int
    seq: int  # among the record's lines, as in TaskOutput
    level: int  # as logging counts: 20 is INFO
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskEmitted(Event):
    """A task said something of its own, by ``ctx.emit``.

    Example:
        >>> from queue import SimpleQueue
        >>> from chongming_task import Controller, TaskEmitted
        >>> heard = SimpleQueue()
        >>> with Controller() as controller:
        ...     _ = controller.watch(heard.put, types=[TaskEmitted])
        ...     _ = controller.submit(lambda ctx: ctx.emit("row", {"id": 7}))
        ...     heard.get(timeout=10).payload
        {'id': 7}
    """

    kind: str
    payload: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineRunStatusChanged(Event):
    """A pipeline run, folded from its nodes, changed; ``task_id`` holds the run's id, as ``pipeline_run_id`` does.

    Example:
        >>> from queue import SimpleQueue
        >>> from chongming_task import Controller, Pipeline, PipelineRunStatusChanged
        >>> pipeline = Pipeline("sums")
        >>> _ = pipeline.add(sum, [1, 2])
        >>> heard = SimpleQueue()
        >>> with Controller() as controller:
        ...     _ = controller.watch(heard.put, types=[PipelineRunStatusChanged])
        ...     _ = pipeline.submit(controller)
        ...     print(heard.get(timeout=10).from_status)
        pending
    """

    from_status: str
    to_status: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdminOverride(Event):
    """An operator set a status by hand.

    Example:
        >>> from chongming_task import AdminOverride, Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10, start=False)
        ...     _ = handle.force_transition("skipped", reason="done by hand", actor="ann")
        ...     print([(event.actor, event.reason) for event in controller.events(handle, types=[AdminOverride])])
        [('ann', 'done by hand')]
    """

    from_status: TaskStatus
    to_status: TaskStatus
    actor: str
    reason: str
