"""chongming-task; the argument says on which store, or that processes are killed.

python with_ours.py memory | sqlite | sqlite-full | process
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

from work import BEFORE_STOP_SECONDS, SLOTS, STEP_SECONDS, STOPS, diamonds, no_op, per_task, tell

from chongming_task import Controller, MemoryTaskStore, Pipeline, SqliteTaskStore, StoreWarning, TaskCancelled, task

nothing = task(no_op)
warnings.simplefilter("ignore", StoreWarning)  # of machines with an old SQLite: it changes no figure


def together(controller: Controller, times: int) -> None:
    """Submit all, then wait for all; and until all is stored."""
    for handle in [controller.submit(nothing) for _ in range(times)]:
        handle.result()
    controller.counts()


def one_by_one(controller: Controller, times: int) -> None:
    """Submit one, wait for it, submit the next."""
    for _ in range(times):
        controller.submit(nothing).result()
    controller.counts()


def graph(controller: Controller) -> None:
    """From the first step's declaration to the run's end."""
    pipeline = Pipeline("diamonds")
    steps = []
    for node, upstream in diamonds():
        steps.append(pipeline.add(nothing, *[steps[each] for each in upstream], name=f"node {node}"))
    assert pipeline.submit(controller).wait(timeout=60) == "succeeded"


def obedient(ctx, heard: list[float]) -> None:
    """Pass checkpoints, and note when the stop is heard."""
    try:
        while True:
            ctx.checkpoint()
            time.sleep(STEP_SECONDS)
    except TaskCancelled:
        heard.append(time.perf_counter())
        raise


def stop_at_a_checkpoint(controller: Controller) -> float:
    """Until the task has heard."""
    found = []
    for _ in range(STOPS):
        heard: list[float] = []
        handle = controller.submit(obedient, heard)
        handle.wait_for("running", timeout=30)
        time.sleep(BEFORE_STOP_SECONDS)
        asked = time.perf_counter()
        assert handle.stop(timeout=30)
        found.append(heard[0] - asked)
    return statistics.median(found)


def kill(controller: Controller) -> float:
    """Until it is known that the process of a task that hears nothing is gone."""
    found = []
    for _ in range(STOPS):
        handle = controller.submit(time.sleep, 60)
        handle.wait_for("running", timeout=30)
        time.sleep(BEFORE_STOP_SECONDS)
        asked = time.perf_counter()
        assert handle.stop(graceful=False, timeout=30)
        found.append(time.perf_counter() - asked)
    return statistics.median(found)


def measured(kind: str, folder: str) -> dict[str, float | str | None]:
    """The figures of one way to run."""
    if kind == "process":
        with Controller(executor="process", max_parallel=SLOTS) as controller:
            return {"stop": kill(controller)}
    path = Path(folder, "runs.db")
    store = MemoryTaskStore() if kind == "memory" else SqliteTaskStore(path, full_sync=kind == "sqlite-full")
    with Controller(store=store, max_parallel=SLOTS) as controller:
        return {
            "together": per_task(2_000, lambda times: together(controller, times), repeat=5),
            "one by one": per_task(300, lambda times: one_by_one(controller, times), repeat=5),
            "node": per_task(1_000, lambda _nodes: graph(controller), repeat=3),
            "stop": stop_at_a_checkpoint(controller),
        }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        tell(measured(sys.argv[1], place))
