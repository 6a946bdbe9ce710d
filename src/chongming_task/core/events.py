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
    """What they have in common."""

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
    """A record was accepted."""

    snapshot: TaskSnapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskStatusChanged(Event):
    """A record moved along one edge."""

    from_status: TaskStatus
    to_status: TaskStatus
    trigger: str
    actor: str
    reason: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptStarted(Event):
    """A worker began with user code."""

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptEnded(Event):
    """An attempt is over; how the record goes on was told just before."""

    attempt: int
    status: TaskStatus  # how it ended: FAILED also when a retry follows
    seconds: float | None  # on the monotonic clock, pauses included; None: nobody has watched it to its end
    paused_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptFailed(AttemptEnded):
    """An attempt ended without success; a retry may follow."""

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgressUpdated(Event):
    """A task came further; throttled, the last one always comes."""

    droppable = True

    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskHeartbeat(Event):
    """A task passed a checkpoint since the last look, ``at`` that moment; told every five seconds at most."""

    droppable = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskOutput(Event):
    """A task wrote a line to its standard output or error."""

    droppable = True

    attempt: int
    seq: int  # among the record's lines; a gap tells how many were left out
    stream: str  # "stdout" | "stderr"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskLogLine(Event):
    """A task logged a line."""

    droppable = True

    attempt: int
    seq: int  # among the record's lines, as in TaskOutput
    level: int  # as logging counts: 20 is INFO
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskEmitted(Event):
    """A task said something of its own, by ``ctx.emit``."""

    kind: str
    payload: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineRunStatusChanged(Event):
    """A pipeline run, folded from its nodes, changed; ``task_id`` holds the run's id, as ``pipeline_run_id`` does."""

    from_status: str
    to_status: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdminOverride(Event):
    """An operator set a status by hand."""

    from_status: TaskStatus
    to_status: TaskStatus
    actor: str
    reason: str
