"""What listening costs; and that nobody pays where nobody listens: read the ratios, not the microseconds.

make bench ARGS="-k events -s"      prints the ratios

`CHONGMING_BASELINE=<folder>/src` names the sources of another version, such as a worktree of an earlier commit: no-op
tasks of both are run in processes of their own, by turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import chongming_task
from chongming_task import Controller, Hooks, TaskHeartbeat, TaskStatusChanged, task
from chongming_task.runtime import engine as engine_module
from chongming_task.testing import FakeClock, ManualDriver, ManualExecutor

TASKS = 5_000
ROUNDS = 9
PAIRS = 15
SHORT_TASKS = 1_000
SHORT_PAIRS = 61
OURS = Path(chongming_task.__file__).parents[1]

PROBE = f"""
import gc, time
from chongming_task import Controller, task

@task
def no_op():
    pass

def run():
    with Controller(max_parallel=8) as controller:
        for handle in [controller.submit(no_op) for _ in range({TASKS})]:
            handle.result()

run()
best = 1e9
for _ in range(3):
    gc.collect()
    began = time.process_time()
    run()
    best = min(best, time.process_time() - began)
print(best)
"""


def processor_seconds(sources: Path | str) -> float:
    """The least of three rounds of no-op tasks, in a new interpreter on those sources."""
    env = os.environ | {"PYTHONPATH": str(sources), "PYTHONHASHSEED": "0"}
    done = subprocess.run([sys.executable, "-c", PROBE], env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.timeout(600)
def bench_events_nobody_listens_beside_baseline(benchmark):
    """No subscriber, no hook: this version's no-op task beside the baseline's."""
    baseline = os.environ.get("CHONGMING_BASELINE")
    if not baseline:
        pytest.skip("CHONGMING_BASELINE names no sources to compare with")
    pairs = [(processor_seconds(OURS), processor_seconds(baseline)) for _ in range(PAIRS)]
    ratios = [ours / bare for ours, bare in pairs]
    best = [min(column) / TASKS * 1e6 for column in zip(*pairs, strict=True)]
    print(
        f"\nno-op task / baseline, nobody listens: median {statistics.median(ratios):.3f} ×, best by best "
        f"{best[0] / best[1]:.3f} × ({best[0]:.1f} and {best[1]:.1f} µs of processor time, {PAIRS} pairs)"
    )
    benchmark.pedantic(lambda: processor_seconds(OURS), rounds=1)


@task
def no_op() -> None:
    """Return."""


class Deaf:
    """In the place of an engine's bus: one that nobody can listen to."""

    narrator = None
    dropped = 0

    def publish(self, events: object, changed: object) -> None:
        """To nobody."""

    def close(self) -> None:
        """Nothing."""


def through(listen: Callable[[Controller], object], tasks: int = TASKS, **options: object) -> Callable[[], float]:
    """A run of no-op tasks that are listened to; gives its processor seconds."""

    def run() -> float:
        began = time.process_time()
        with Controller(max_parallel=8, **options) as controller:
            listen(controller)
            for handle in [controller.submit(no_op) for _ in range(tasks)]:
                handle.result()
        return time.process_time() - began

    return run


def deaf() -> float:
    """The same through a controller that cannot be listened to."""
    real, engine_module.Bus = engine_module.Bus, Deaf  # type: ignore[misc,assignment]
    try:
        return through(lambda controller: None, SHORT_TASKS)()
    finally:
        engine_module.Bus = real  # type: ignore[misc]


def bench_events_nobody_listens(benchmark):
    """What it costs that somebody might: no-op tasks without a listener beside an engine that knows of none."""
    quiet = through(lambda controller: None, SHORT_TASKS)
    quiet()
    deaf()
    pairs = []
    for number in range(SHORT_PAIRS):  # forward and back: neither is always first
        found = {way: way() for way in (quiet, deaf)[:: -1 if number % 2 else 1]}
        pairs.append((found[quiet], found[deaf]))
    median = statistics.median(ours / bare for ours, bare in pairs)
    best = [min(column) / SHORT_TASKS * 1e6 for column in zip(*pairs, strict=True)]
    print(
        f"\nno-op task, nobody listens / nobody can: median {median:.3f} ×, best by best {best[0] / best[1]:.3f} × "
        f"({best[0]:.1f} and {best[1]:.1f} µs of processor time, {SHORT_PAIRS} pairs)"
    )
    benchmark.pedantic(quiet, rounds=1)


def bench_events_listening_ratio(benchmark):
    """Somebody listens: what a no-op task costs then, beside one nobody listens to."""
    quiet = through(lambda controller: None)
    kinds = {
        "a watcher of one record": through(lambda c: c.watch(lambda event: None, task_id="another")),
        "a watcher of all changes": through(lambda c: c.watch(lambda event: None, types=[TaskStatusChanged])),
        "a hook on every end": through(lambda c: None, hooks=Hooks(on_success=lambda snapshot: None)),
    }
    for name, run in kinds.items():
        run()
        ratios = [run() / quiet() for _ in range(ROUNDS)]
        print(f"\n{name}: {statistics.median(ratios):.2f} × (min {min(ratios):.2f}, max {max(ratios):.2f})", end="")
    print()
    benchmark.pedantic(quiet, rounds=1)


@pytest.mark.parametrize("listened", [False, True])
def bench_events_heartbeats_of_a_thousand(benchmark, listened, tmp_path):
    """One look at 1 000 running tasks that have all passed a checkpoint, stored in SQLite."""
    clock = FakeClock()
    executor, driver = ManualExecutor(clock.monotonic), ManualDriver()
    with Controller(
        tmp_path / "runs.db", executor=executor, clock=clock, driver=driver, max_parallel=1_000, capture=False
    ) as controller:
        if listened:
            controller.watch(lambda event: None, types=[TaskHeartbeat])
        for _ in range(1_000):
            controller.submit(no_op)
        driver.settle()
        for worker in executor.launched:
            worker.begin()
        driver.settle()

        def look() -> None:
            clock.advance(2.5)
            for worker in executor.launched:
                worker.checkpoint()
            clock.advance(2.5)
            began = time.perf_counter()
            driver.settle()
            took.append(time.perf_counter() - began)

        took: list[float] = []
        benchmark.pedantic(look, rounds=20, warmup_rounds=2)
        print(f"\none look at 1 000 running tasks, listened to: {listened}: {statistics.median(took) * 1e3:.1f} ms")
        for worker in executor.launched:
            worker.finish()
        driver.settle()
