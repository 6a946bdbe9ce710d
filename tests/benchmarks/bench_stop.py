"""How long a stop takes: from the call to TaskCancelled in the task, alone and beside threads that hog the interpreter.

make bench ARGS="-k stop -s"      prints median and 95th percentile
"""

from __future__ import annotations

import statistics
import threading
import time

import pytest

from chongming_task import Controller, TaskCancelled

STOPS = 60
HOGS = 4


def obedient(ctx, heard: list[float]) -> None:
    """Pass checkpoints in a tight loop, and note when the stop is heard."""
    try:
        while True:
            ctx.checkpoint()
            time.sleep(0.0005)  # a task does something between two checkpoints
    except TaskCancelled:
        heard.append(time.perf_counter())
        raise


def latencies(controller: Controller) -> list[float]:
    """Milliseconds from the call to the signal in the task, for every stop."""
    found = []
    for _ in range(STOPS):
        heard: list[float] = []
        handle = controller.submit(obedient, heard)
        handle.wait_for("running", timeout=30)
        asked = time.perf_counter()
        assert handle.stop(timeout=30)
        found.append((heard[0] - asked) * 1000)
    return found


@pytest.fixture
def hogs():
    """Threads that compute in pure Python, all the time."""
    over = threading.Event()

    def hog() -> None:
        while not over.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=hog, daemon=True) for _ in range(HOGS)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


def tell(what: str, found: list[float]) -> None:
    """Print the figures."""
    p95 = statistics.quantiles(found, n=20)[-1]
    print(f"\nstop to TaskCancelled, {what}: median {statistics.median(found):.2f} ms, p95 {p95:.2f} ms")


def bench_stop_alone(benchmark):
    """Nothing else runs. Aim: a median of 5 ms."""
    with Controller() as controller:
        tell("alone", benchmark.pedantic(latencies, (controller,), rounds=1))


def bench_stop_beside_hogs(benchmark, hogs):
    """Four threads compute. Aim: a 95th percentile of 100 ms; waking any thread beside them takes 11 to 15 already."""
    with Controller() as controller:
        tell(f"beside {HOGS} busy threads", benchmark.pedantic(latencies, (controller,), rounds=1))
