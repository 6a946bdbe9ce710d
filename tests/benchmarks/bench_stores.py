"""What it costs to keep records: beside the bare pool in the same run, and as the store fills. Read the ratios.

make bench ARGS="-k stores -s"      prints the ratios
"""

from __future__ import annotations

import statistics
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from chongming_task import Controller, MemoryTaskStore, PostgresTaskStore, SqliteTaskStore, StoreWarning
from chongming_task.core.ports import TaskStore, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus as S
from chongming_task.errors import ConcurrencyConflict
from tests.support.bare import SLOTS, no_op, seconds, through_a_pool

TASKS = 3_000
ROUNDS = 5
POOLS = 6
FEW, MANY = 1_000, 100_000  # rows
warnings.simplefilter("ignore", StoreWarning)


def through(store: TaskStore, tasks: int = TASKS) -> Callable[[], None]:
    """The work of the pool, durably."""

    def run() -> None:
        controller = Controller(max_parallel=SLOTS, store=store)
        try:
            for handle in [controller.submit(no_op) for _ in range(tasks)]:
                handle.result()
        finally:
            controller.close(close_store=False)

    return run


@contextmanager
def sqlite_store(**options: bool) -> Iterator[SqliteTaskStore]:
    """A store in a new file."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteTaskStore(Path(folder, "runs.db"), **options)
        yield store
        store.close()


class Counted:
    """Counts a store's transactions of records."""

    def __init__(self, store: TaskStore) -> None:
        self.commits = 0
        self._commit = store.commit
        store.commit = self.commit  # type: ignore[method-assign]

    def commit(self, writes: Sequence[Write]) -> Sequence[ConcurrencyConflict]:
        """Like the store's own."""
        self.commits += 1
        return self._commit(writes)


def compare(what: str, store: TaskStore) -> None:
    """Print what a durable no-op task costs, beside the pool and beside memory, taken in turn."""
    durable, memory = through(store), through(MemoryTaskStore())
    durable(), memory(), through_a_pool(TASKS)
    counted = Counted(store)
    rounds = [(seconds(durable), seconds(memory), pool_seconds()) for _ in range(ROUNDS)]
    ratios = [ours / bare for ours, _, bare in rounds]
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    ours, plain, bare = (min(column) / TASKS * 1e6 for column in zip(*rounds, strict=True))
    print(
        f"\n{what}: {middle:.1f} × the pool ({low:.1f} to {high:.1f}, {ROUNDS} rounds),"
        f" {counted.commits / TASKS / ROUNDS:.3f} commits a task;"
        f" at best {ours:.0f} µs a task, memory {plain:.0f}, pool {bare:.0f}"
    )


def pool_seconds() -> float:
    """How long the pool takes: the mean of several, for one run in two takes twice as long as the other."""
    return statistics.mean(seconds(lambda: through_a_pool(TASKS)) for _ in range(POOLS))


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


def costs(store: TaskStore, numbers: Iterator[int]) -> dict[str, float]:
    """Microseconds, at best, of what is done all the time."""
    run = through(store, 200)
    return {
        "no-op task": min(seconds(run) for _ in range(5)) / 200 * 1e6,
        "write a record": min(fill(store, next(numbers), 500) for _ in range(5)),
        "get": min(seconds(lambda: store.get(f"{500:020d}")) for _ in range(50)) * 1e6,
        "newest 50": min(seconds(lambda: store.query(TaskQuery(limit=50))) for _ in range(20)) * 1e6,
        "counts": min(seconds(store.counts) for _ in range(5)) * 1e6,
    }


def compare_fills(what: str, store: TaskStore) -> None:
    """Print what things cost with few rows and with many."""
    numbers = count(1_000_000, 1_000)
    fill(store, 0, FEW)
    few = costs(store, numbers)
    fill(store, FEW, MANY - FEW)
    many = costs(store, numbers)
    for name, cost in few.items():
        print(f"\n{what}, {name}: {cost:.0f} µs with {FEW} rows, {many[name]:.0f} µs with {MANY}:", end=" ")
        print(f"{many[name] / cost:.2f} ×", end="")
    print()


def bench_stores_sqlite_stays_flat(benchmark):
    """A task, writing, reading one, reading the newest and counting: with 1 000 and with 100 000 rows."""
    with sqlite_store() as store:
        compare_fills("SQLite", store)
        benchmark(store.get, f"{500:020d}")


@pytest.mark.postgres
def bench_stores_postgres_stays_flat(benchmark, postgres_dsn):
    """The same, on a server."""
    store = PostgresTaskStore(postgres_dsn)
    compare_fills("PostgreSQL", store)
    benchmark(store.get, f"{500:020d}")
    store.close()
