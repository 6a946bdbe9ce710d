"""What is stored of a task: snapshot, attempt, transition, output, commands. Immutable; a change is a new record.

They are named tuples where the rest of the house uses frozen dataclasses: several are made for every task, and a frozen
dataclass of 34 fields takes nine microseconds to make where the tuple takes one.

Times are aware UTC datetimes. Durations are seconds measured on a monotonic clock, so a wall clock that jumps cannot
make one negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

from chongming_task.core.failures import Failure
from chongming_task.core.states import OCCUPIED, REVIVABLE, TERMINAL, RequestedAction, TaskStatus

__all__ = [
    "AttemptRecord",
    "BucketLease",
    "Change",
    "Command",
    "OutputLine",
    "OwnerLease",
    "Progress",
    "TaskSnapshot",
    "Transition",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running task has come, in its own unit.

    Example:
        >>> Progress(done=3, total=12, unit="rows").fraction
        0.25
    """

    done: float | None = None
    total: float | None = None
    unit: str | None = None
    message: str | None = None
    updated_at: datetime | None = None

    @property
    def fraction(self) -> float | None:
        """``done / total`` within 0 and 1; None while either is unknown."""
        if self.done is None or not self.total or self.total < 0:
            return None
        return min(max(self.done / self.total, 0.0), 1.0)

    def says_the_same(self, other: Progress | None) -> bool:
        """Whether ``other`` differs in nothing but the time.

        Args:
            other: What was said before.
        """
        return other is not None and (self.done, self.total, self.unit, self.message) == (
            other.done,
            other.total,
            other.unit,
            other.message,
        )


class AttemptRecord(NamedTuple):
    """One try of a task.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(int, "ten")
        ...     _ = handle.wait(timeout=10)
        ...     print([(attempt.attempt, attempt.status.value) for attempt in handle.attempts])
        [(1, 'failed')]
    """

    task_id: str
    attempt: int  # 1 for the first; a reset starts over
    status: TaskStatus  # how it ended; STARTING or RUNNING while it lives
    started_at: datetime
    ended_at: datetime | None = None
    seconds: float | None = None  # on the monotonic clock, pauses included
    paused_seconds: float = 0.0
    failure: Failure | None = None
    executor: str | None = None
    pid: int | None = None
    owner: str | None = None
    note: str | None = None  # what became known too late to count, such as how an abandoned worker ended


class Transition(NamedTuple):
    """One audited change of status.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([(step.version, step.to_status.value, step.trigger) for step in handle.transitions][-1])
        (4, 'succeeded', 'worker:returned')
    """

    task_id: str
    version: int  # the record's status_version after it; gapless from 1
    from_status: TaskStatus
    to_status: TaskStatus
    trigger: str  # what caused it: "user:stop", "retry:exhausted", "timeout:idle", ...
    actor: str  # who: "user", "engine", "user:panel", an operator's name
    reason: str | None
    at: datetime


class Change(NamedTuple):
    """One step of the feed over all records' trails."""

    cursor: int  # where it stands in the feed: above that of every change committed before
    transition: Transition


class Command(NamedTuple):
    """A verb for a record that another process watches."""

    id: str
    task_id: str
    verb: str  # what the watching process knows, such as "stop"
    args: Mapping[str, Any]  # JSON: graceful, window, force, reason
    actor: str
    created_at: datetime
    lease_owner: str | None = None  # who took it last, and completed it when completed_at is set
    lease_until: datetime | None = None  # until when nobody else may take it
    completed_at: datetime | None = None
    outcome: Any = None  # JSON, as written by whoever completed it


class BucketLease(NamedTuple):
    """Who takes the work of one bucket, and until when."""

    bucket: int
    owner: str
    lease_until: datetime


class OwnerLease(NamedTuple):
    """A controller that watches records, and until when it is taken to live without being asked."""

    owner: str  # what it calls itself
    process: str | None  # "host:pid:start", for whoever shares its process table
    lease_until: datetime
    buckets: tuple[int, ...] | None = None  # whose work it takes; None: all


class OutputLine(NamedTuple):
    """One line that a task wrote or logged.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller(echo=False) as controller:
        ...     handle = controller.submit(print, "hello")
        ...     _ = handle.wait(timeout=10)
        ...     print([(line.seq, line.stream, line.text) for line in handle.output()])
        [(1, 'stdout', 'hello')]
    """

    task_id: str
    attempt: int
    seq: int  # counts the record's lines over all attempts, from 1; a gap tells how many were left out
    stream: str  # "stdout" | "stderr" | "log"
    text: str  # without its line end
    at: datetime  # when it was complete
    level: int | None = None  # of a log record, as logging counts: 20 is INFO


class TaskSnapshot(NamedTuple):
    """One task as it stands. The dimensions are orthogonal: status, attempts, progress, health, result.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     task = handle.snapshot
        >>> task.name, task.status.value, task.attempt, task.outcome
        ('pow', 'succeeded', 1, 1024)
    """

    # identity: set at submission, never changed
    task_id: str
    name: str
    created_at: datetime
    spec_name: str | None = None  # the registered task it was made from
    pipeline_run_id: str | None = None
    node: str | None = None  # its name in the pipeline
    depends_on: tuple[str, ...] = ()  # ids of upstream records
    tags: frozenset[str] = frozenset()
    priority: int = 0  # higher runs first
    bucket: int | None = None
    bucket_key: str | None = None
    executor: str | None = None
    inputs: Any = None  # stored arguments of a restartable task
    # life
    status: TaskStatus = TaskStatus.PENDING
    status_version: int = 0  # +1 with every transition
    requested_action: RequestedAction | None = None  # where it is being asked to go
    overridden: bool = False  # a status was set by hand
    # attempts
    attempt: int = 0  # the current or last one
    max_attempts: int = 1
    live: bool = False  # an attempt holds a worker and its slots
    abandoned: bool = False  # a worker was given up and may still run
    # times
    queued_at: datetime | None = None
    started_at: datetime | None = None  # of the current or last attempt
    ended_at: datetime | None = None
    retry_at: datetime | None = None  # when the back-off ends
    grace_until: datetime | None = None  # when the stop's grace window ends
    last_heartbeat_at: datetime | None = None
    # news
    progress: Progress | None = None
    failure: Failure | None = None
    outcome: Any = None  # the return value, JSON
    # supervision
    owner: str | None = None  # the controller that watches it, or was the last to
    pid: int | None = None  # of the attempt's process, when it has one of its own

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended; only retry, reset or an override lead on."""
        return self.status in TERMINAL

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.status in _AT_REST

    @property
    def holds_worker(self) -> bool:
        """Whether it may be running: what it has done is unknown when its process dies."""
        return self.live or self.status in OCCUPIED

    @property
    def is_revivable(self) -> bool:
        """Whether ``retry`` can lead on from here."""
        return self.status in REVIVABLE

    def __repr__(self) -> str:
        """What differs from a fresh record."""
        blank = self._field_defaults
        said = (f"{k}={v!r}" for k, v in zip(self._fields, self, strict=True) if k not in blank or v != blank[k])
        return f"TaskSnapshot({', '.join(said)})"

    def evolve(self, changes: dict[str, Any]) -> Self:
        """A copy with ``changes`` applied: ``_replace`` at a third of its cost, for the hot path.

        Args:
            changes: Field names and their new values.
        """
        values = list(self)
        for name, value in changes.items():
            values[_POSITIONS[name]] = value
        return tuple.__new__(type(self), values)


_AT_REST = TERMINAL | {TaskStatus.PENDING, TaskStatus.BLOCKED, TaskStatus.PAUSED}
_POSITIONS = {name: index for index, name in enumerate(TaskSnapshot._fields)}
