"""What it costs to keep records: beside the bare pool in the same run, and as the store fills. Read the ratios.

make bench ARGS="-k stores -s"      prints the ratios
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from chongming_task import Controller, MemoryTaskStore, PostgresTaskStore, SqliteTaskStore, StoreWarning, task
from chongming_task.core.ports import TaskStore, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus as S

TASKS = 3_000
SLOTS = 8
ROUNDS = 5
warnings.simplefilter("ignore", StoreWarning)


@task
def no_op() -> None:
    """Return."""


def through_a_pool() -> None:
    """Submit all to the standard library's pool, then wait for every result."""
    with ThreadPoolExecutor(SLOTS) as pool:
        for future in [pool.submit(no_op) for _ in range(TASKS)]:
            future.result()


def through(store: TaskStore) -> Callable[[], None]:
    """The same, durably."""

    def run() -> None:
        controller = Controller(max_parallel=SLOTS, store=store)
        try:
            for handle in [controller.submit(no_op) for _ in range(TASKS)]:
                handle.result()
        finally:
            controller.close(close_store=False)

    return run


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@contextmanager
def sqlite_store(**options: bool) -> Iterator[SqliteTaskStore]:
    """A store in a new file."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteTaskStore(Path(folder, "runs.db"), **options)
        yield store
        store.close()


def compare(what: str, store: TaskStore) -> None:
    """Print what a durable no-op task costs, beside the pool and beside memory."""
    durable, memory = through(store), through(MemoryTaskStore())
    durable(), memory(), through_a_pool()
    pairs = [(seconds(durable), seconds(memory), seconds(through_a_pool)) for _ in range(ROUNDS)]
    ours, plain, bare = (min(column) / TASKS * 1e6 for column in zip(*pairs, strict=True))
    print(f"\n{what}: {ours:.0f} µs a task at best; memory {plain:.0f}, pool {bare:.0f}: {ours / bare:.1f} × the pool")


def bench_stores_sqlite_ratio(benchmark):
    """A no-op task through SQLite with eight slots, beside a thread pool. The aim: at most ten times."""
    with sqlite_store() as store:
        compare("SQLite / ThreadPoolExecutor", store)
        benchmark.pedantic(through(store), rounds=2)


def bench_stores_sqlite_full_sync(benchmark):
    """The same, waiting for the disk at every commit."""
    with sqlite_store(full_sync=True) as store:
        compare("SQLite, full_sync / ThreadPoolExecutor", store)
        benchmark.pedantic(through(store), rounds=2)


@pytest.mark.postgres
def bench_stores_postgres_ratio(benchmark, postgres_dsn):
    """The same through a server on this machine (without fsync)."""
    store = PostgresTaskStore(postgres_dsn)
    compare("PostgreSQL / ThreadPoolExecutor", store)
    benchmark.pedantic(through(store), rounds=2)
    store.close()


def histories(start: int, number: int) -> list[list[Write]]:
    """The commits of records from birth to end, 50 records at a time."""
    now = datetime.now(UTC)
    commits: list[list[Write]] = []
    for first in range(start, start + number, 50):
        born, ended = [], []
        for task_id in (f"{n:020d}" for n in range(first, first + 50)):
            queued = TaskSnapshot(task_id, "bench", now, status=S.QUEUED, status_version=1, queued_at=now)
            born.append(Write(queued, None, (edge(task_id, 1, S.PENDING, S.QUEUED, now),)))
            over = queued._replace(status=S.SUCCEEDED, status_version=2, ended_at=now, attempt=1)
            attempt = AttemptRecord(task_id, 1, S.SUCCEEDED, now, now, 0.1)
            ended.append(Write(over, 1, (edge(task_id, 2, S.QUEUED, S.SUCCEEDED, now),), (attempt,)))
        commits += [born, ended]
    return commits


def edge(task_id: str, version: int, source: S, target: S, at: datetime) -> Transition:
    """A step; which one makes no difference to its cost."""
    return Transition(task_id, version, source, target, "bench", "bench", None, at)


def fill(store: TaskStore, start: int, number: int) -> float:
    """Microseconds a record."""
    commits = histories(start, number)
    return seconds(lambda: [store.commit(writes) for writes in commits]) / number * 1e6


def bench_stores_sqlite_stays_flat(benchmark):
    """Writing, reading one and reading the newest, with 1 000 and with 100 000 rows."""
    with sqlite_store() as store:
        fill(store, 0, 1_000)
        costs = []
        numbers = count(1_000_000, 1_000)
        for rows in (1_000, 100_000):
            if rows > 1_000:
                fill(store, 1_000, rows - 1_000)
            write = min(fill(store, next(numbers), 500) for _ in range(5))
            get = min(seconds(lambda: store.get(f"{500:020d}")) for _ in range(50)) * 1e6
            newest = min(seconds(lambda: store.query(TaskQuery(limit=50))) for _ in range(20)) * 1e6
            counts = min(seconds(store.counts) for _ in range(5)) * 1e6
            costs.append((write, get, newest, counts))
        for name, few, many in zip(("write a record", "get", "newest 50", "counts"), *costs, strict=True):
            print(f"\n{name}: {few:.0f} µs with 1 000 rows, {many:.0f} µs with 100 000: {many / few:.2f} ×")
        benchmark(store.get, f"{500:020d}")
