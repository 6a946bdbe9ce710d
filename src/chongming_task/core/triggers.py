"""What can happen to a record: a caller's verb, a grant of the scheduler, a worker's report, a timer, an operator.

``rules.step`` takes one of these; the text on the transition that follows (``user:stop``, ``timeout:idle``) names it.
They are named tuples: cheap to make, and there are many.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.states import TaskStatus, Verb

__all__ = [
    "Asked",
    "Dispatched",
    "Elapsed",
    "Ended",
    "Forced",
    "Held",
    "Now",
    "Orphaned",
    "Resolved",
    "Started",
    "Timer",
    "Trigger",
]


class Now(NamedTuple):
    """The moment a step is taken at; the rules have no clock and no dice of their own."""

    utc: datetime
    chance: float = 1.0  # a random number in [0, 1), for jitter

    def after(self, seconds: float) -> datetime:
        """The moment ``seconds`` later; the last one there is, for a time beyond the calendar."""
        try:
            return self.utc + timedelta(seconds=seconds)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)


class Timer(StrEnum):
    """What the engine keeps time for, per record."""

    LIMIT = "limit"  # a start, attempt or idle limit
    OVERDUE = "overdue"  # the grace after a limit was overrun
    PAUSE_WINDOW = "pause_window"  # how long a pause may take to come true
    STOP_WINDOW = "stop_window"  # the grace of a stop
    KILL_WINDOW = "kill_window"  # how long a killed worker may take to be gone
    RETRY = "retry"  # the back-off
    PROGRESS = "progress"  # the next look at a worker's progress
    OUTPUT = "output"  # the next look at what workers have written

    __hash__ = str.__hash__  # looked up for every attempt; an Enum hashes in Python


class Asked(NamedTuple):
    """A caller's verb."""

    verb: Verb
    actor: str = "user"
    reason: str | None = None
    force: bool = False  # retry past the attempts, or beside a worker that was given up
    graceful: bool = True  # stop and cancel: with a grace window
    window: float = 10.0  # seconds: grace of a stop, or how long a pause may take
    blocked: bool = False  # start: an upstream record is not done yet


class Dispatched(NamedTuple):
    """The scheduler granted the slots."""


class Started(NamedTuple):
    """The worker of an attempt is about to run user code."""

    attempt: int
    pid: int | None = None


class Held(NamedTuple):
    """The worker of an attempt waits at a checkpoint: the pause came true."""

    attempt: int
    request: int  # the status_version of the PAUSING it answers; an older one is stale


class Ended(NamedTuple):
    """An attempt is over."""

    attempt: int
    outcome: Any = None
    failure: Failure | None = None  # None: it returned
    seconds: float | None = None  # how long it took, pauses included
    paused_seconds: float = 0.0
    retry_after: float | None = None  # seconds, from a caller's own Backoff; None: the rules ask the policy


class Elapsed(NamedTuple):
    """A timer of the record ran out."""

    timer: Timer
    attempt: int
    limit: FailureKind | None = None  # which limit was overrun, for LIMIT and OVERDUE
    killable: bool = False  # whether the executor can end the worker by force
    seconds: float | None = None  # how long the attempt has taken so far
    paused_seconds: float = 0.0
    worker: str | None = None  # what it is called, where that is known


class Resolved(NamedTuple):
    """What the upstream records or the condition of a waiting record decided."""

    to: TaskStatus  # QUEUED, CANCELLED or SKIPPED
    failure: Failure | None = None  # why not, for the last two


class Orphaned(NamedTuple):
    """The controller that watched the record is gone."""

    actor: str
    reason: str
    owner: str | None = None  # that controller


class Forced(NamedTuple):
    """An operator sets a status by hand."""

    to: TaskStatus
    actor: str
    reason: str


Trigger = Asked | Dispatched | Started | Held | Ended | Elapsed | Resolved | Orphaned | Forced
