"""A record as the engine holds it: what is published, what is in the making, and what supervises it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from chongming_task.core.failures import FailureKind
from chongming_task.core.limits import AttemptWatch
from chongming_task.core.output import OutputMode
from chongming_task.core.policies import TaskPolicy
from chongming_task.core.ports import CommandAnswer, ExecutionHandle, OutputSource, UpstreamResults
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.results import ResultPolicy, StrictJson
from chongming_task.core.triggers import Timer
from chongming_task.runtime.waiters import Awaited, Waiter

if TYPE_CHECKING:
    from chongming_task.core.hooks import Hooks
    from chongming_task.runtime.live_run import LiveRun

__all__ = ["LiveTask", "NoWork", "Work"]


class NoWork(NamedTuple):
    """Of a record that cannot be run in this process."""

    why: str  # and what to do, in words


class Work(NamedTuple):
    """What to run: the recipe of a record, kept in memory only."""

    target: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})
    takes_context: bool = False
    results: ResultPolicy = StrictJson()  # what becomes of the return value
    artifacts: str | None = None  # the folder that holds every attempt's; None: the default one
    output: OutputMode = OutputMode.OWN  # what becomes of what it writes
    input: Mapping[str, Any] | None = None  # for ctx.input
    upstream: UpstreamResults | None = None  # of nodes before it
    origin: Any = None  # what a tracer has noted at submission


@dataclass(slots=True, eq=False, weakref_slot=True)
class LiveTask(Awaited[TaskSnapshot]):
    """One record in this process. Only the engine thread writes it; anybody may read ``snapshot``."""

    snapshot: TaskSnapshot  # published: stored already, or as good as the store lets it be
    work: Work | NoWork
    policy: TaskPolicy
    needs: tuple[Hashable, ...] = ()  # the limits it takes a slot of
    age: int = 0  # order of submission
    # in the making, this tick (tuples: a run of 100 000 records would hold three empty lists for each)
    draft: TaskSnapshot = field(init=False)
    stored_version: int | None = None  # what the store holds; None: nothing yet
    transitions: tuple[Transition, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    clear_attempts: bool = False
    answers: tuple[CommandAnswer, ...] = ()  # commands that the change carries out
    touched: bool = False
    changed: bool = False  # in this tick
    # supervision
    execution: ExecutionHandle | None = None
    watch: AttemptWatch | None = None
    overrun: FailureKind | None = None  # the limit it was told about
    timers: frozenset[Timer] = frozenset()
    epoch: int = 0  # how often it was reset: attempts are counted anew, and reports of earlier ones must not mix in
    given_up: dict[tuple[int, int], ExecutionHandle] = field(default_factory=dict)  # may still run; by epoch, attempt
    error: BaseException | None = None  # what ended the last attempt, for result()
    traceback: TracebackType | None = None  # where it came from; every raise of it would add frames of its own
    writers: dict[OutputSource, int] = field(default_factory=dict)  # wrote lately; with their attempts
    output_seq: int = 0  # lines written so far, those that were left out included
    waiters: list[Waiter[TaskSnapshot]] = field(default_factory=list)
    hooks: tuple[Hooks[TaskSnapshot], ...] = ()  # its task's, then its pipeline's
    member: tuple[LiveRun, int] | None = None  # the pipeline run it belongs to, and which of its nodes

    def __post_init__(self) -> None:
        self.draft = self.snapshot

    @property
    def shown(self) -> TaskSnapshot:
        """The record as it is published."""
        return self.snapshot

    def show(self) -> None:
        """Publish the draft; whoever waits for it is still to be woken."""
        self.snapshot = self.draft
        self.changed = self.touched = False
