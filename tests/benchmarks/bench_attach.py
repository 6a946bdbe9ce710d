"""What it costs to attach to a store of 100 000 records, and to follow it.

Prints the median of each: to attach; the first list; a look when nothing has changed, and when a hundred records have;
beside them what the store itself takes to read everything.

make bench ARGS="-k attach -s"
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from chongming_task import Controller, StoreWarning
from chongming_task.api.attach_following import Course
from chongming_task.core.ports import TaskStore, Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import OwnerLease, Progress, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.clock import SystemClock
from chongming_task.runtime.ownership import this_process
from chongming_task.stores.open import open_store

RECORDS = 100_000
QUEUED, RUNNING = 1_000, 50  # the newest; the others have ended
CHANGES = 100
ROUNDS = 15
BEGAN = datetime.now(UTC) - timedelta(days=1)
S = TaskStatus
warnings.simplefilter("ignore", StoreWarning)

pytestmark = pytest.mark.timeout(600)


def record(number: int) -> TaskSnapshot:
    """One of many, of a controller that lives."""
    left, began = RECORDS - number, BEGAN + timedelta(milliseconds=number)
    status = S.QUEUED if left <= QUEUED else S.RUNNING if left <= QUEUED + RUNNING else S.SUCCEEDED
    return TaskSnapshot(
        f"019aa000-0000-7000-8000-{number:012d}",
        f"load {number % 50}",
        began,
        tags=frozenset({"io", "nightly"} if number % 2 else ()),
        executor="thread",
        status=status,
        status_version=1,
        attempt=0 if status is S.QUEUED else 1,
        live=status is S.RUNNING,
        queued_at=began,
        started_at=None if status is S.QUEUED else began,
        ended_at=began + timedelta(seconds=1) if status is S.SUCCEEDED else None,
        progress=None if status is S.QUEUED else Progress(number % 100, 100, "rows", None, began),
        owner="worker",
    )


def fill(store: TaskStore) -> None:
    """All of them, each with a transition."""
    store.renew_owner(OwnerLease("worker", this_process(), datetime.now(UTC) + timedelta(hours=1)))
    for start in range(0, RECORDS, 5_000):
        tasks = list(map(record, range(start, start + 5_000)))
        store.commit([Write(task, None, (edge(task, S.PENDING),)) for task in tasks])


def edge(task: TaskSnapshot, source: TaskStatus) -> Transition:
    """The step that led there."""
    return Transition(task.task_id, task.status_version, source, task.status, "bench", "engine", None, BEGAN)


def move(store: TaskStore) -> None:
    """A hundred of the queued ones are paused, or queued again."""
    ids = frozenset(f"019aa000-0000-7000-8000-{number:012d}" for number in range(RECORDS - CHANGES, RECORDS))
    writes = []
    for task in store.query(TaskQuery(task_ids=ids)):
        target = S.PAUSED if task.status is S.QUEUED else S.QUEUED
        moved = task.evolve({"status": target, "status_version": task.status_version + 1})
        writes.append(Write(moved, task.status_version, (edge(moved, task.status),)))
    assert not store.commit(writes)


def report(store: TaskStore) -> None:
    """All that run have come further."""
    running = range(RECORDS - QUEUED - RUNNING, RECORDS - QUEUED)
    store.touch([Touch(f"019aa000-0000-7000-8000-{n:012d}", Progress(time.monotonic())) for n in running])


def median_ms(call: Callable[[], object], rounds: int, before: Callable[[], object] = lambda: None) -> float:
    """Of so many rounds, in milliseconds."""
    seconds = []
    for _ in range(rounds):
        before()
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) * 1e3


def measure(benchmark, target: str) -> None:
    """Print the medians; the look with a hundred changes is what the benchmark keeps."""
    with closing(open_store(target)) as writer, closing(open_store(target, read_only=True)) as store:
        fill(writer)
        attach = median_ms(lambda: Controller.attach(target).close(), 5)
        everything = median_ms(lambda: store.query(TaskQuery()), 5)
        with Controller.attach(target) as attached:
            first = median_ms(attached.list_tasks, 5)
        begin = median_ms(lambda: Course(store, SystemClock()), 5)
        course = Course(store, SystemClock())
        course.note(store.query(TaskQuery()))
        course.look()
        idle = median_ms(course.look, ROUNDS)
        touched = median_ms(course.look, ROUNDS, lambda: report(writer))
        found = benchmark.pedantic(course.look, setup=lambda: move(writer), rounds=ROUNDS)
        assert len(found) == CHANGES + RUNNING
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"\n{RECORDS:,} records, {RUNNING} of them running; load {load} on {os.cpu_count()} cores")
    print(f"attach {attach:.1f} ms; first list {first:.0f} ms, of which the store takes {everything:.0f} ms")
    print(f"begin to follow {begin:.1f} ms; a look when nothing has changed {idle:.2f} ms, when all that run have come")
    changed = statistics.median(benchmark.stats.stats.data) * 1e3
    print(f"further {touched:.2f} ms, when {CHANGES} other records have changed {changed:.1f} ms")


def bench_attach_sqlite(benchmark, tmp_path):
    """On a file."""
    measure(benchmark, str(tmp_path / "runs.db"))


@pytest.mark.postgres
def bench_attach_postgres(benchmark, postgres_dsn):
    """On a server on this machine."""
    measure(benchmark, postgres_dsn)
