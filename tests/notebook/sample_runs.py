"""Records of pipeline runs as they may look at some moment, for tests of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from tests.notebook.sample_tasks import NOW, VALUE_ERROR, ago

S = TaskStatus
RUN = "nightly-etl:01939e2c-1111-7000-8000-000000000001"


def id_of(node: str) -> str:
    """The id of the record of a node, or of a task of a map."""
    return f"id-{node}"


def record(
    node: str, status: TaskStatus = S.BLOCKED, after: Sequence[str] = (), now: datetime = NOW, **changes: Any
) -> TaskSnapshot:
    """The record of a node."""
    fields: dict[str, Any] = {"created_at": ago(600, now), "pipeline_run_id": RUN, "node": node, **changes}
    return TaskSnapshot(task_id=id_of(node), name=node, status=status, depends_on=tuple(map(id_of, after)), **fields)


def ran(
    node: str, start: float, seconds: float, after: Sequence[str] = (), now: datetime = NOW, **changes: Any
) -> TaskSnapshot:
    """A node that began `start` seconds ago and has taken so many; succeeded unless said otherwise."""
    begun = ago(start, now)
    fields = {"status": S.SUCCEEDED, "attempt": 1, "started_at": begun, "ended_at": begun + timedelta(seconds=seconds)}
    return record(node, after=after, now=now, **{**fields, **changes})


def at_work(node: str, start: float, after: Sequence[str] = (), now: datetime = NOW, **changes: Any) -> TaskSnapshot:
    """A node that has been running for so many seconds."""
    fields = {"status": S.RUNNING, "live": True, "attempt": 1, "started_at": ago(start, now)}
    return record(node, after=after, now=now, **{**fields, **changes})


def map_tasks(node: str, counts: Mapping[TaskStatus, int], now: datetime = NOW) -> list[TaskSnapshot]:
    """The tasks of a map, so many in each status."""
    tasks = []
    for status, count in counts.items():
        for _ in range(count):
            name = f"{node}[{len(tasks)}]"
            changes: dict[str, Any] = {"failure": VALUE_ERROR} if status is S.FAILED else {}
            if status in (S.SUCCEEDED, S.FAILED):
                tasks.append(ran(name, 120 - len(tasks) % 90, 4.2, now=now, status=status, **changes))
            elif status is S.RUNNING:
                some = Progress(40 + len(tasks) % 50, 100, None, None, ago(1, now))
                tasks.append(at_work(name, 9, now=now, progress=some))
            else:
                tasks.append(record(name, status, now=now, queued_at=ago(100, now)))
    return tasks


def blocked(node: str, cause: str, after: Sequence[str], now: datetime = NOW) -> TaskSnapshot:
    """A node that was cancelled for what it waited for."""
    failure = Failure(FailureKind.DEPENDENCY_FAILED, f"upstream {cause!r} failed: bad header in <b>file</b> 3")
    return record(node, S.CANCELLED, after, now, failure=failure, ended_at=ago(30, now))


def half_way(now: datetime = NOW) -> list[TaskSnapshot]:
    """A run in its middle: a map at work with failures, nodes of every kind around it."""
    return [
        ran("extract orders", 300, 42, now=now),
        ran("extract customers", 300, 71, now=now),
        ran("extract <b>prices</b>", 300, 12, now=now, status=S.FAILED, failure=VALUE_ERROR),
        ran("clean", 225, 64, ["extract orders", "extract customers"], now),
        blocked("convert currencies", "extract <b>prices</b>", ["extract <b>prices</b>"], now),
        record("load", S.BLOCKED, ["clean"], now),
        at_work(
            "train forecast",
            95,
            ["clean"],
            now,
            progress=Progress(72, 100, "epochs", "epoch 72", ago(1, now)),
        ),
        at_work("profile", 31, ["clean"], now, progress=Progress(None, None, None, "reading part 3", ago(1, now))),
        record("validate", S.QUEUED, ["clean"], now, queued_at=ago(20, now)),
        record("report", S.BLOCKED, ["load", "train forecast", "profile"], now),
        blocked("price report", "extract <b>prices</b>", ["convert currencies", "load"], now),
        record("发送日报", S.BLOCKED, ["report", "validate"], now),
        *map_tasks("load", {S.SUCCEEDED: 312, S.FAILED: 3, S.RUNNING: 8, S.QUEUED: 157}, now),
    ]


def finished(now: datetime = NOW) -> list[TaskSnapshot]:
    """A run that has succeeded; its longest way leads through "train"."""
    return [
        ran("extract", 200, 20, now=now),
        ran("load", 40, 0.1, ["extract"], now),
        ran("train", 180, 140, ["extract"], now),
        ran("evaluate", 39.9, 9, ["train"], now),
        ran("report", 30.5, 6, ["load", "evaluate"], now),
        *[ran(f"load[{n}]", 178 - n, 5, now=now) for n in range(6)],
    ]


def chain(length: int, now: datetime = NOW) -> list[TaskSnapshot]:
    """Nodes one after the other: the first third has succeeded, one runs."""
    third = length // 3
    tasks = []
    for n in range(length):
        name, after = f"step {n}", [f"step {n - 1}"] if n else []
        if n < third:
            tasks.append(ran(name, 500 - n / 10, 0.1, after, now))
        elif n == third:
            tasks.append(at_work(name, 3, after, now))
        else:
            tasks.append(record(name, after=after, now=now))
    return tasks


def wide(branches: int, length: int, now: datetime = NOW) -> list[TaskSnapshot]:
    """Branches of several steps between one first and one last node; one of them failed."""
    tasks = [ran("begin", 300, 2, now=now)]
    for branch in range(branches):
        for step in range(length):
            name, above = f"part {branch} step {step}", f"part {branch} step {step - 1}" if step else "begin"
            if branch == branches // 2 and step == 1:
                tasks.append(ran(name, 200, 3, [above], now, status=S.FAILED, failure=VALUE_ERROR))
            elif branch == branches // 2 and step > 1:
                tasks.append(blocked(name, f"part {branch} step 1", [above], now))
            else:
                tasks.append(ran(name, 250 - step * 10, 8, [above], now))
    return [*tasks, blocked("end", "part", [f"part {branch} step {length - 1}" for branch in range(branches)], now)]


def tangled(columns: int, rows: int, now: datetime = NOW) -> list[TaskSnapshot]:
    """A graph that no stacks of chains or twins make small: each node waits for three of the column before."""
    tasks = []
    for column in range(columns):
        for row in range(rows):
            after = [f"n{column - 1}.{(row * 7 + k * (column % 5 + 1)) % rows}" for k in range(3)] if column else []
            tasks.append(ran(f"n{column}.{row}", 600 - column * 5, 4, list(dict.fromkeys(after)), now))
    return tasks
