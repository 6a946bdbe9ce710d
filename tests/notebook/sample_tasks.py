"""Snapshots of every kind, and a stand-in for a controller, for tests of the views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import AttemptRecord, OutputLine, Progress, TaskSnapshot, Transition
from chongming_task.core.states import RequestedAction, TaskStatus, Verb

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
S = TaskStatus


def ago(seconds: float, now: datetime = NOW) -> datetime:
    """That many seconds before now."""
    return now - timedelta(seconds=seconds)


def task(number: int, name: str, status: TaskStatus = S.QUEUED, **changes: Any) -> TaskSnapshot:
    """A snapshot with an id made from its number."""
    fields: dict[str, Any] = {"created_at": ago(600), "queued_at": ago(590), **changes}
    return TaskSnapshot(task_id=f"01939e2c-0000-7000-8000-{number:012d}", name=name, status=status, **fields)


def running(number: int, name: str, seconds: float, now: datetime = NOW, **changes: Any) -> TaskSnapshot:
    """A running task that began `seconds` ago."""
    fields = {"status": S.RUNNING, "live": True, "attempt": 1, "max_attempts": 3, "started_at": ago(seconds, now)}
    return task(number, name, **{**fields, **changes})


def ended(
    number: int, name: str, status: TaskStatus, seconds: float, now: datetime = NOW, **changes: Any
) -> TaskSnapshot:
    """A task that ended five seconds after it began, `seconds` ago."""
    fields = {"attempt": 1, "started_at": ago(seconds + 5, now), "ended_at": ago(seconds, now)}
    return task(number, name, status, **{**fields, **changes})


VALUE_ERROR = Failure(
    FailureKind.EXCEPTION,
    "bad header in <b>file</b> 3: expected 'id,when,amount', got 'id;when;amount'\nsecond line",
    traceback="Traceback …",
    exception_type="builtins.ValueError",
)


def one_of_each(now: datetime = NOW) -> list[TaskSnapshot]:
    """A table as it may look in the middle of a run: every status, long names, markup, other scripts."""
    half = Progress(7_200, 10_000, "rows", "reading part 3", ago(1, now))
    some = Progress(41, 100, None, None, ago(1, now))
    return [
        running(1, "parse json/2026-11-30", 24, now, progress=half, tags=frozenset({"parse", "db"})),
        running(2, "parse http/", 12, now, progress=some, status=S.PAUSING, requested_action=RequestedAction.PAUSE),
        running(
            3,
            "parse email/",
            62,
            now,
            max_attempts=1,
            progress=Progress(61, 100, None, None, ago(3, now)),
            status=S.STOPPING,
            requested_action=RequestedAction.STOP,
            grace_until=ago(-6, now),
        ),
        running(
            4,
            "parse audio/",
            31,
            now,
            status=S.STOPPING,
            requested_action=RequestedAction.CANCEL,
            grace_until=ago(-3, now),
        ),
        running(5, "load <img src=x onerror=alert(1)> & <b>bold</b>", 3, now, tags=frozenset({"<i>tag</i>"})),
        running(6, "清洗每日订单数据并写入仓库", 75, now, progress=Progress(1_240, None, "行", None, ago(0, now))),
        running(7, "download/" + "a-very-long-path-segment/" * 6 + "end", 3_700, now, progress=some, attempt=2),
        running(8, "warm up", 0.4, now, status=S.STARTING),
        running(
            9, "held at a checkpoint", 130, now, status=S.PAUSED, progress=Progress(30, 60, None, None, ago(90, now))
        ),
        ended(
            10,
            "parse xml/",
            S.FAILED,
            20,
            now,
            attempt=3,
            max_attempts=3,
            failure=VALUE_ERROR,
            tags=frozenset({"parse"}),
        ),
        ended(
            11,
            "train model",
            S.FAILED,
            40,
            now,
            failure=Failure(FailureKind.TIMEOUT_IDLE, "no checkpoint for 30 s"),
            max_attempts=2,
        ),
        ended(12, "parse idle/", S.LOST, 50, now, abandoned=True, failure=Failure(FailureKind.LOST, "gave up")),
        ended(
            13,
            "fetch remote",
            S.LOST,
            70,
            now,
            failure=Failure(FailureKind.LOST, "its controller ended; what it did is unknown"),
        ),
        task(
            14,
            "flaky upload",
            S.RETRY_WAIT,
            attempt=1,
            max_attempts=3,
            retry_at=ago(-8, now),
            failure=Failure(FailureKind.EXCEPTION, "connection reset", exception_type="builtins.OSError"),
        ),
        task(15, "parse csv/ part 7", S.QUEUED, queued_at=ago(9, now)),
        task(16, "parse csv/ part 8", S.QUEUED, queued_at=ago(8, now)),
        task(17, "summarise", S.BLOCKED),
        task(18, "not started yet", S.PENDING),
        task(19, "held before its start", S.PAUSED),
        ended(20, "parse csv/ part 1", S.SUCCEEDED, 60, now, tags=frozenset({"parse"})),
        ended(21, "parse csv/ part 2", S.SUCCEEDED, 55, now),
        ended(22, "parse csv/ part 3", S.SUCCEEDED, 48, now),
        ended(
            23, "parse csv/ part 4", S.SUCCEEDED, 41, now, progress=Progress(12_000, 12_000, "rows", None, ago(41, now))
        ),
        ended(24, "parse csv/ part 5", S.SUCCEEDED, 33, now),
        ended(25, "parse old/", S.STOPPED, 80, now, failure=Failure(FailureKind.CANCELLED, "stopped by ana")),
        task(
            26,
            "publish",
            S.CANCELLED,
            ended_at=ago(90, now),
            failure=Failure(FailureKind.DEPENDENCY_FAILED, "after parse xml/"),
        ),
        task(
            27,
            "notify",
            S.SKIPPED,
            ended_at=ago(95, now),
            failure=Failure(FailureKind.CONDITION_FALSE, "when= said no"),
        ),
    ]


@dataclass(frozen=True)
class FakeAnswer:
    """As the engine's."""

    task_id: str
    ok: bool = True
    error: Exception | None = None
    acted: bool = True


class FakeHealth(NamedTuple):
    """How a store does."""

    trouble: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it does well."""
        return self.trouble is None

    def __str__(self) -> str:
        return self.trouble or "all is well"


@dataclass
class FakeController:
    """As much of a controller as a panel uses."""

    tasks: list[TaskSnapshot] = field(default_factory=list)
    name: str | None = "nightly-etl"
    taps: list[Callable[[Sequence[TaskSnapshot]], None]] = field(default_factory=list)
    asked: list[tuple[Verb, tuple[str, ...], dict[str, Any]]] = field(default_factory=list)
    refuse: Exception | None = None  # raised by ask, as a closed controller does
    lines: list[OutputLine] = field(default_factory=list)
    health: FakeHealth = field(default_factory=FakeHealth)
    closed: bool = False

    def get(self, task_id: str) -> TaskSnapshot:
        """One task."""
        return next(each for each in self.tasks if each.task_id == task_id)

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """It tells of none."""
        return []

    def transitions(self, task_id: str) -> list[Transition]:
        """It keeps no trail."""
        return []

    def output(self, task_id: str, *, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """The newest lines."""
        return [line for line in self.lines if line.seq > after][-(limit or 0) :]

    def waiting_for(self, task_id: str) -> list[str]:
        """Nothing is full."""
        return []

    def force_transition(self, task_id: str, to: TaskStatus, *, reason: str, actor: str) -> bool:
        """Sets a status."""
        self.change(self.get(task_id)._replace(status=to))
        return True

    def list_tasks(self, *, pipeline_run_id: str | None = None) -> list[TaskSnapshot]:
        """Every task as it stands, or those of a run."""
        return [each for each in self.tasks if pipeline_run_id in (None, each.pipeline_run_id)]

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None]) -> Callable[[], None]:
        """Calls back after every change."""
        self.taps.append(callback)
        return lambda: self.taps.remove(callback)

    def change(self, *tasks: TaskSnapshot) -> None:
        """Commits, as the engine does."""
        changed = {task.task_id: task for task in tasks}
        self.tasks = [changed.pop(old.task_id, old) for old in self.tasks] + list(changed.values())
        for tap in list(self.taps):
            tap(tasks)

    def ask(self, verb: Verb, task_ids: Sequence[str], **options: Any) -> None:
        """Notes what was asked; answers at once."""
        if self.refuse is not None:
            raise self.refuse
        done = options.pop("done")
        self.asked.append((verb, tuple(task_ids), options))
        done([FakeAnswer(task_id) for task_id in task_ids])
