"""The standard library: what all others are measured against."""

from __future__ import annotations

import statistics
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter

from work import BEFORE_STOP_SECONDS, SLOTS, STEP_SECONDS, STOPS, diamonds, no_op, per_task, tell


def together(times: int) -> None:
    """Submit all, then wait for all."""
    with ThreadPoolExecutor(SLOTS) as pool:
        for future in [pool.submit(no_op) for _ in range(times)]:
            future.result()


def one_by_one(times: int) -> None:
    """Submit one, wait for it, submit the next."""
    with ThreadPoolExecutor(SLOTS) as pool:
        for _ in range(times):
            pool.submit(no_op).result()


def graph(_nodes: int) -> None:
    """What is ready is submitted; what has ended makes others ready."""
    sorter = TopologicalSorter(dict(diamonds()))
    sorter.prepare()
    running: dict[Future[None], int] = {}
    with ThreadPoolExecutor(SLOTS) as pool:
        while sorter.is_active():
            running |= {pool.submit(no_op): node for node in sorter.get_ready()}
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                sorter.done(running.pop(future))


def stop() -> float:
    """Until a task that looks at an event has seen that it is set."""

    def look(running: threading.Event, end: threading.Event) -> float:
        running.set()
        while not end.is_set():
            time.sleep(STEP_SECONDS)
        return time.perf_counter()

    found = []
    with ThreadPoolExecutor(SLOTS) as pool:
        for _ in range(STOPS):
            running, end = threading.Event(), threading.Event()
            future = pool.submit(look, running, end)
            running.wait()
            time.sleep(BEFORE_STOP_SECONDS)
            asked = time.perf_counter()
            end.set()
            found.append(future.result() - asked)
    return statistics.median(found)


if __name__ == "__main__":
    tell(
        {
            "together": per_task(3_000, together, repeat=7),
            "one by one": per_task(1_000, one_by_one, repeat=7),
            "node": per_task(1_000, graph, repeat=7),
            "stop": stop(),
        }
    )
