"""DBOS on SQLite: a task is a workflow started in the background, a node of a graph is a step of a workflow."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time

from dbos import DBOS
from work import BEFORE_STOP_SECONDS, DIAMONDS, SLOTS, STEP_SECONDS, STOPS, per_task, tell

running = threading.Event()
heard: list[float] = []


@DBOS.workflow()
def nothing() -> None:
    """A workflow without a step."""


@DBOS.step()
def node() -> None:
    """A step that returns."""


@DBOS.workflow()
def steps(count: int) -> None:
    """One step after the other."""
    for _ in range(count):
        node()


@DBOS.step()
def look() -> None:
    """A short step."""
    time.sleep(STEP_SECONDS)


@DBOS.workflow()
def endless() -> None:
    """Short steps, without an end of its own."""
    running.set()
    try:
        while True:
            look()
    except BaseException:  # whatever it is that ends a cancelled workflow
        heard.append(time.perf_counter())
        raise


def together(times: int) -> None:
    """Start all, then wait for all."""
    for handle in [DBOS.start_workflow(nothing) for _ in range(times)]:
        handle.get_result()


def one_by_one(times: int) -> None:
    """Start one, wait for it, start the next."""
    for _ in range(times):
        DBOS.start_workflow(nothing).get_result()


def stop() -> float:
    """Until the workflow's code has been left, at the beginning of its next step."""
    found = []
    for _ in range(STOPS):
        running.clear()
        heard.clear()
        handle = DBOS.start_workflow(endless)
        running.wait()
        time.sleep(BEFORE_STOP_SECONDS)
        asked = time.perf_counter()
        DBOS.cancel_workflow(handle.workflow_id)
        while not heard:
            time.sleep(STEP_SECONDS)
        found.append(heard[0] - asked)
    return statistics.median(found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        url = f"sqlite:///{place}/bench.sqlite"
        DBOS(
            config={"name": "bench", "system_database_url": url, "max_executor_threads": SLOTS, "log_level": "CRITICAL"}
        )
        DBOS.launch()
        nodes = 1 + (SLOTS + 1) * DIAMONDS
        figures: dict[str, float | str | None] = {
            "together": per_task(100, together),
            "one by one": per_task(30, one_by_one),
            "node": per_task(nodes, lambda count: DBOS.start_workflow(steps, count).get_result(), repeat=1),
            "stop": stop(),
        }
        DBOS.destroy()
    tell(figures)
