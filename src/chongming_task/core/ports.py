"""What the engine needs of the outside, each a contract: clock, executor, store.

Implementations live at the edges and know nothing of each other; a third party can bring its own and prove it with the
contract suites in ``chongming_task.testing``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from chongming_task.core.coordination import BucketLeases, ChangeFeed, CommandQueue, DeploymentMeta, OwnerLeases
from chongming_task.core.effects import StopReason
from chongming_task.core.output import OutputBatch, OutputMode
from chongming_task.core.policies import RetryPolicy
from chongming_task.core.query import Scan, TaskQuery
from chongming_task.core.records import AttemptRecord, OutputLine, Progress, TaskSnapshot, Transition
from chongming_task.core.results import ResultPolicy, StrictJson
from chongming_task.core.states import TaskStatus
from chongming_task.core.triggers import Ended, Held, Started
from chongming_task.errors import ConcurrencyConflict

__all__ = [
    "AttemptRequest",
    "Clock",
    "CommandAnswer",
    "Deliver",
    "Emitted",
    "ExecutionHandle",
    "Executor",
    "Obstructed",
    "OutputSource",
    "OutputWritten",
    "ProgressReported",
    "Report",
    "Row",
    "TaskStore",
    "Touch",
    "UpstreamResults",
    "Write",
]


class Clock(Protocol):
    """Time, so that it can be injected."""

    def now(self) -> datetime:
        """The wall clock: an aware UTC datetime."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""
        ...


class UpstreamResults(Protocol):
    """What a node of a pipeline is handed of those before it. Read in the worker; crosses to other processes."""

    def __getitem__(self, name: str, /) -> Any:
        """The result of a node.

        Raises:
            UnknownInput: When it is not one that this node waits for.
        """
        ...

    def fill(self, value: Any) -> Any:
        """``value`` with results in the places that stand for them."""
        ...

    def outcomes(self) -> Iterable[Any]:
        """As the records hold them, pointers among them."""
        ...

    def replaced(self, new: Callable[[Any], Any]) -> UpstreamResults:
        """The same with ``new`` of every outcome in its place."""
        ...


class AttemptRequest(NamedTuple):
    """Everything a worker needs for one attempt. It holds no lock, queue or token, so it can cross to a process."""

    task_id: str
    name: str
    attempt: int
    target: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})
    takes_context: bool = False  # the target's first parameter is the TaskContext
    retry: RetryPolicy = RetryPolicy()  # tells which exceptions are worth another attempt
    limit_seconds: float | None = None  # per attempt, for ctx.deadline
    pipeline_run_id: str | None = None
    results: ResultPolicy = StrictJson()  # what becomes of the return value
    artifacts: str | None = None  # the folder that holds every attempt's; None: the default one
    output: OutputMode = OutputMode.OWN  # what becomes of what it writes
    input: Mapping[str, Any] | None = None  # what ctx.input holds
    upstream: UpstreamResults | None = None  # results of upstream nodes by name, for the arguments and ctx.upstream
    origin: Any = None  # what a tracer has noted at submission; stays in this process
    tags: frozenset[str] = frozenset()  # of the record, for executors whose workers are not all alike


class ProgressReported(NamedTuple):
    """The worker has news worth a look before the next regular one."""

    attempt: int


class Emitted(NamedTuple):
    """The task said something of its own."""

    attempt: int
    kind: str
    payload: Any


class OutputSource(Protocol):
    """What a worker has written and nobody has taken yet. Bounded: the oldest gives way, and is counted."""

    def take(self) -> OutputBatch | None:
        """What was written since the last time; None when there is nothing. Quick, and never runs user code.

        After None or a final batch the source delivers ``OutputWritten`` again when there is more; before, whoever
        takes comes back by itself.
        """
        ...


class OutputWritten(NamedTuple):
    """The worker has written something. Told once; how often the rest is taken is up to whoever takes."""

    attempt: int
    source: OutputSource


Report = Started | Held | Ended | ProgressReported | Emitted | OutputWritten
Deliver = Callable[[Report], None]
"""Hands a worker's report to the engine. Callable from any thread, never blocks, never raises."""


class ExecutionHandle(Protocol):
    """The engine's hold on one running attempt. No method blocks."""

    @property
    def running(self) -> bool:
        """Whether the worker still runs user code. The truth, also after the engine gave it up."""
        ...

    @property
    def killable(self) -> bool:
        """Whether :meth:`kill` can end it."""
        ...

    @property
    def worker(self) -> str | None:
        """What people call its worker, once that is known and where it is more than a part of this machine."""
        ...

    @property
    def last_checkpoint(self) -> float | None:
        """Monotonic time of its last checkpoint, or of the end of the nap it takes at one; None before the first."""
        ...

    @property
    def progress(self) -> Progress | None:
        """What it last reported, without ``updated_at``."""
        ...

    @property
    def error(self) -> BaseException | None:
        """What ended it, for ``handle.result()``; None while it runs, and where the object is in another process."""
        ...

    def stop(self, reason: StopReason) -> None:
        """Raise TaskCancelled in it at its next checkpoint, and at every one after that."""
        ...

    def pause(self, request: int) -> bool:
        """Hold it at its next checkpoint; it then delivers ``Held(attempt, request)``.

        Returns:
            False when this worker cannot be paused, whatever it does.
        """
        ...

    def resume(self) -> None:
        """Let it go on; also withdraws a pause that has not come true."""
        ...

    def kill(self, reason: StopReason) -> None:
        """End it by force; it then delivers ``Ended`` with a failure of that kind. Only when ``killable``."""
        ...


class Executor(Protocol):
    """Runs attempts.

    One whose workers do not share this process's memory says so with an attribute ``shares_memory = False``; one that
    cannot take attempts at times is :class:`Obstructed` as well.
    """

    @property
    def name(self) -> str:
        """What snapshots call it, such as ``"thread"``."""
        ...

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse at submission what could never run here.

        Raises:
            ConfigurationError: Naming what is wrong and what to do.
        """
        ...

    def launch(self, request: AttemptRequest, deliver: Deliver) -> ExecutionHandle:
        """Run one attempt on a worker. Called on the engine thread: must return at once and never run user code.

        The worker delivers, in this order: ``Started`` just before user code, any number of ``Held`` and others, and
        exactly one ``Ended``, whatever happens. An attempt stopped before it began delivers ``Ended`` alone. What it
        wrote last is delivered before ``Ended``.
        """
        ...

    def close(self) -> None:
        """Let idle workers go. Running ones end when their tasks do."""
        ...


@runtime_checkable
class Obstructed(Protocol):
    """An executor that cannot launch anything at times, such as one whose cluster is out of reach.

    Meanwhile records wait in the queue, and say why. What is launched at the very moment when the way closes is the
    executor's own matter.
    """

    @property
    def obstacle(self) -> str | None:
        """Why nothing can be launched now, for whoever waits; None: nothing is in the way."""
        ...

    def when_clear(self, tell: Callable[[], None]) -> None:
        """Have ``tell`` called whenever an obstacle is gone, from any thread."""
        ...


class CommandAnswer(NamedTuple):
    """A command that a write carries out: completed with it, in the same transaction."""

    command_id: str
    owner: str  # who holds it
    at: datetime
    outcome: Any = None  # JSON


class Write(NamedTuple):
    """One record's change within a commit: all of it is stored, or nothing."""

    snapshot: TaskSnapshot
    expect_version: int | None  # what the store must hold; None: the record must be new
    transitions: tuple[Transition, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()  # opened or closed; a later one replaces the earlier of that number
    clear_attempts: bool = False  # forget those from before, and what they wrote, first
    answers: tuple[CommandAnswer, ...] = ()  # as complete_command, but never without the rest; nor when the write loses
    expect_owner: str | None = None  # whose record it must still be in the store; None: anybody's


class Touch(NamedTuple):
    """Frequent news of a record, beside its version. A field that is None is left as it is."""

    task_id: str
    progress: Progress | None = None
    heartbeat_at: datetime | None = None
    abandoned: bool | None = None
    note: tuple[int, str] | None = None  # (attempt, what became known too late to count)
    owner: str | None = None  # whose record it must still be, else it is ignored; None: anybody's


Row = Sequence[Any]
"""One row of a table in plain values, in the order of its record's fields: times are microseconds since 1970 UTC, enums
their text, booleans 0 and 1, structured values JSON text; None is None. ``stores.codec`` makes them of records."""


class TaskStore(CommandQueue, OwnerLeases, BucketLeases, ChangeFeed, DeploymentMeta, Protocol):
    """Persists records. Every method may be called from any thread; see also ``core.coordination``.

    A store returns equal values for what was written, in the same types; keeps the audit trail append-only; and raises
    :class:`~chongming_task.errors.StoreError` when it cannot do its work.
    """

    @property
    def durable(self) -> bool:
        """Whether what is committed survives the process."""
        ...

    def commit(self, writes: Sequence[Write]) -> Sequence[ConcurrencyConflict]:
        """Store all writes in one transaction, in order.

        Returns:
            Those that lost their race, for the version or the owner, and were left out; the others are stored.

        Raises:
            StoreError: When it cannot be done, as with a transition whose version the trail holds already. Then nothing
                of the transaction is stored, unless it is the answer that was lost: a second try is told by conflicts.
        """
        ...

    def touch(self, touches: Sequence[Touch]) -> None:
        """Store frequent news. Never moves a version; unknown ids are ignored."""
        ...

    def append_output(self, lines: Sequence[OutputLine], owner: str | None = None) -> None:
        """Store lines that tasks wrote, in one transaction.

        With an ``owner``, lines of records that are somebody else's by now are ignored.

        Of each record the newest ``OUTPUT_LINES`` lines and ``OUTPUT_CHARACTERS`` characters are kept, see
        ``core.output``; what goes leaves a gap in ``seq``. Lines of unknown records are ignored, and so is a line
        whose ``seq`` is not above that of the record's newest: so the same lines can be appended again after a
        failure. A write with ``clear_attempts`` forgets the record's lines, and ``prune`` drops them with the record.
        """
        ...

    def output(self, task_id: str, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """The lines of a record whose ``seq`` is above ``after``, in order; with a limit, the newest that many."""
        ...

    def get(self, task_id: str) -> TaskSnapshot | None:
        """The record, or None."""
        ...

    def query(self, query: TaskQuery) -> list[TaskSnapshot]:
        """The records that match, oldest first; with a limit, the newest that many."""
        ...

    def counts(self, pipeline_run_id: str | None = None) -> dict[TaskStatus, int]:
        """How many records are in each status; statuses without any are left out."""
        ...

    def transitions(self, task_id: str, since_version: int = 0) -> list[Transition]:
        """The audit trail of a record after that version, in order."""
        ...

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """The attempts of a record, first to last."""
        ...

    def scan(self, *wanted: Scan) -> list[list[Row]]:
        """Rows of many records at once, a list for each of ``wanted``: what a history is made of.

        All are read as they stood at one moment, and no writer waits for it. Only what a query wants is loaded. Its
        conditions are those on the records that the rows belong to; ``since``, ``until`` and ``limit`` are about the
        rows: a task's ``created_at``, an attempt's ``started_at``, ``at`` of the others. Oldest first: tasks
        in the order of creation, transitions in that of the feed, attempts by their start, lines by their time, and
        what is of one moment by ``task_id`` and number; with a limit, the newest that many.
        """
        ...

    def prune(self, keep_terminal: int) -> int:
        """Drop the oldest ended records but that many, with all that belongs to them. Returns how many went.

        Commands for records that are not there, which nobody will ever carry out, go as well. Leases stay.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections. Idempotent."""
        ...
