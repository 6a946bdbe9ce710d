"""The kernel's side of a drawer: a controller whose tasks have a past."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.details import details_of
from chongming_task.notebook.inbound import DetailsRequest, parse
from tests.notebook.sample_tasks import one_of_each

S = TaskStatus

TRACEBACK = """Traceback (most recent call last):
  File "/home/ana/etl/parse.py", line 41, in parse
    rows = list(read(path, header=HEADER))
  File "/home/ana/etl/reader.py", line 12, in read
    raise ValueError(f"bad header in {path}: expected {expected!r}, got {found!r}")
ValueError: bad header in part 3: expected 'id,when,amount', got 'id;when;amount'
"""


def at(second: float) -> datetime:
    """A moment of a day in the past."""
    return datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC) + timedelta(seconds=second)


@dataclass
class Past:
    """As much of a controller as a drawer asks."""

    task: TaskSnapshot
    tries: list[AttemptRecord] = field(default_factory=list)
    trail: list[Transition] = field(default_factory=list)
    lines: list[OutputLine] = field(default_factory=list)
    full: list[str] = field(default_factory=list)
    others: dict[str, TaskSnapshot] = field(default_factory=dict)

    def get(self, task_id: str) -> TaskSnapshot:
        """The record."""
        return self.others.get(task_id, self.task)

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """Its tries."""
        return self.tries

    def transitions(self, task_id: str) -> list[Transition]:
        """Its trail."""
        return self.trail

    def output(self, task_id: str, *, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """Its lines."""
        return [line for line in self.lines if line.seq > after][-(limit or 0) :]

    def waiting_for(self, task_id: str) -> list[str]:
        """The full limits."""
        return self.full

    def write(self, *texts: str, stream: str = "stdout", gap: int = 0) -> None:
        """Prints lines; before them, ``gap`` were lost."""
        for text in texts:
            seq = (self.lines[-1].seq if self.lines else 0) + 1 + gap
            gap = 0
            self.lines.append(OutputLine(self.task.task_id, self.task.attempt, seq, stream, text, at(seq)))


def failed_past() -> Past:
    """The task ``parse xml/``, which failed for the third time."""
    task = next(each for each in one_of_each(datetime.now(UTC)) if each.name == "parse xml/")
    failure = Failure(
        FailureKind.EXCEPTION,
        "bad header in part 3: expected 'id,when,amount', got 'id;when;amount'",
        traceback=TRACEBACK,
        exception_type="builtins.ValueError",
    )
    task = task._replace(
        spec_name="etl.parse",
        owner="etl-1:4711:1764502000:1",
        pid=4712,
        executor="process",
        inputs={"args": ["xml"], "kwargs": {"strict": True}},
        failure=failure,
    )
    past = Past(task)
    past.tries = [
        AttemptRecord(
            task.task_id, n, S.FAILED, at(n * 20), at(n * 20 + 5), 5.2, 1.5 if n == 2 else 0.0, failure, pid=4709 + n
        )
        for n in (1, 2, 3)
    ]
    steps = [S.PENDING, S.QUEUED, S.STARTING, S.RUNNING, S.RETRY_WAIT, S.STARTING, S.RUNNING, S.FAILED]
    triggers = ["user:start", "engine:dispatch", "worker:started", "retry:scheduled", "retry:due", "worker:started"]
    past.trail = [
        Transition(
            task.task_id, n + 1, before, after, trigger, "engine", "ValueError: bad header" if n > 5 else None, at(n)
        )
        for n, (before, after, trigger) in enumerate(
            zip(steps[:-1], steps[1:], [*triggers, "retry:exhausted"], strict=True)
        )
    ]
    past.write("reading part 1", "reading part 2", "12,000 rows in 3.1 s")
    past.write("warning: 3 rows without a date", stream="stderr")
    past.write("reading part 3", gap=120)
    return past


def answer_details(view: Any, past: Past, number: int = 0) -> dict[str, Any]:
    """Answers the view's request for details of that number; returns the request."""
    view.page.wait_for_function("n => window.sent.filter(m => m.verb === 'details').length > n", arg=number)
    request: dict[str, Any] = [m for m in view.sent() if m["verb"] == "details"][number]
    message = parse(request, {past.task.task_id})
    assert isinstance(message, DetailsRequest)
    body = details_of(past, message.task, seen=message.seen, after=message.after)
    view.deliver({"kind": "answer", "id": request["id"], "ok": True, "error": None, "results": [], "body": body})
    return request
