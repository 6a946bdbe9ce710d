"""A process that does nothing but write histories into a store, as quickly as it can, until it is killed.

    python store_writer.py runs.db name

Prints the id of every record whose end it was told is stored.
"""

from __future__ import annotations

import sys
import warnings
from datetime import UTC, datetime
from itertools import count

warnings.simplefilter("ignore")

from chongming_task import SqliteTaskStore  # noqa: E402
from chongming_task.core.ports import Touch, Write  # noqa: E402
from chongming_task.core.records import (  # noqa: E402
    AttemptRecord,
    OutputLine,
    Progress,
    TaskSnapshot,
    Transition,
)
from chongming_task.core.states import TaskStatus as S  # noqa: E402

TRIGGERS = {S.QUEUED: "user:start", S.STARTING: "scheduler:dispatch", S.RUNNING: "worker:started"}


def step(task: TaskSnapshot, target: S, at: datetime, **changes: object) -> tuple[TaskSnapshot, Transition]:
    """One legal step of a record."""
    version = task.status_version + 1
    edge = Transition(
        task.task_id, version, task.status, target, TRIGGERS.get(target, "worker:returned"), "engine", None, at
    )
    return task._replace(status=target, status_version=version, **changes), edge


def main(path: str, name: str) -> None:
    store = SqliteTaskStore(path)
    for batch in count():
        now = datetime.now(UTC)
        ids = [f"{name}-{batch}-{n}" for n in range(5)]
        tasks = [TaskSnapshot(task_id, "story", now, tags=frozenset({name})) for task_id in ids]
        queued = [step(task, S.QUEUED, now, queued_at=now) for task in tasks]
        running = []
        conflicts = list(store.commit([Write(task, None, (edge,)) for task, edge in queued]))
        for task, _ in queued:
            one, first = step(task, S.STARTING, now, attempt=1, live=True)
            two, second = step(one, S.RUNNING, now, started_at=now)
            running.append((two, Write(two, 1, (first, second), (AttemptRecord(two.task_id, 1, S.RUNNING, now),))))
        conflicts += store.commit([write for _, write in running])
        store.append_output([OutputLine(task_id, 1, n, "stdout", "x" * 200, now) for task_id in ids for n in (1, 2, 3)])
        store.touch([Touch(task_id, Progress(1, 2, updated_at=now), now) for task_id in ids])
        ends = []
        for task, _ in running:
            over, edge = step(task, S.SUCCEEDED, now, ended_at=now, live=False, outcome=batch)
            attempt = AttemptRecord(over.task_id, 1, S.SUCCEEDED, now, now, 0.1)
            ends.append(Write(over, 3, (edge,), (attempt,)))
        conflicts += store.commit(ends)
        assert not conflicts, conflicts
        print("\n".join(ids), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
