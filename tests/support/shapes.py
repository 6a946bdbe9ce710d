"""Large pipelines in a process of their own: how long they take, in how much memory, and how soon others are heard.

python -m tests.support.shapes chain 100000     prints a ``Story`` as JSON
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from chongming_task import Controller, Pipeline, TaskContext, TaskHandle
from chongming_task.core.states import TaskStatus

ROOT = Path(__file__).parents[2]
RECURSION_LIMIT = 300
PATIENCE_SECONDS = 180.0
OTHERS = 8  # tasks of somebody else that run beside it
REST_SECONDS = 0.02  # between two stops


class Story(NamedTuple):
    """What became of one run."""

    status: str
    complete: bool  # every node has succeeded
    declare_seconds: float
    submit_seconds: float  # until ``Pipeline.submit`` returned
    run_seconds: float  # from there to the end
    answered: int  # verbs on other records meanwhile
    median_ms: float
    p95_ms: float
    most_ms: float
    peak_mib: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.declare_seconds + self.submit_seconds + self.run_seconds


def one_more(number: int) -> int:
    """The work of a node: next to none."""
    return number + 1


def chain(size: int) -> tuple[Pipeline, int]:
    """Each waits for the one before."""
    pipeline = Pipeline("chain")
    last = pipeline.add(one_more, 0, name="0")
    for number in range(1, size):
        last = pipeline.add(one_more, last, name=f"{number}")
    return pipeline, size


def wide(size: int) -> tuple[Pipeline, int]:
    """A map over so many items that only its first node knows, and one that waits for all."""
    pipeline = Pipeline("wide")
    numbers = pipeline.add(list, range(size), name="numbers")
    pipeline.add(sum, pipeline.map(one_more, numbers, name="each"), name="total")
    return pipeline, size + 3


def grid(size: int) -> tuple[Pipeline, int]:
    """A square of about so many nodes; each waits for its neighbours to the left and above."""
    side = round(size**0.5)
    pipeline = Pipeline("grid")
    for row in range(side):
        for column in range(side):
            above = [f"{row - 1},{column}"] if row else []
            left = [f"{row},{column - 1}"] if column else []
            pipeline.add(one_more, row, deps=[*above, *left], name=f"{row},{column}")
    return pipeline, side * side


SHAPES: dict[str, Callable[[int], tuple[Pipeline, int]]] = {"chain": chain, "wide": wide, "grid": grid}


def rest(ctx: TaskContext) -> None:
    """A task of somebody else: waits until it is stopped."""
    ctx.sleep(PATIENCE_SECONDS)


def stop_others(controller: Controller, over: threading.Event) -> list[float]:
    """Until it is over: stop the oldest of a few tasks, and start another; milliseconds until each stop was sure."""
    found: list[float] = []
    others: deque[TaskHandle[None]] = deque()
    while not over.wait(REST_SECONDS):
        others.append(controller.submit(rest, priority=1))
        if len(others) > OTHERS:
            other = others.popleft()
            other.wait_for("running", timeout=PATIENCE_SECONDS)
            asked = time.perf_counter()
            assert other.stop(timeout=PATIENCE_SECONDS)
            found.append((time.perf_counter() - asked) * 1000)
    for other in others:
        other.stop(timeout=PATIENCE_SECONDS)
    return found


def tell(shape: str, size: int) -> Story:
    """Run one here, and tell."""
    began = time.perf_counter()
    pipeline, expected = SHAPES[shape](size)
    declared = time.perf_counter()
    over = threading.Event()
    with Controller() as controller, ThreadPoolExecutor(1) as beside:
        asked = time.perf_counter()
        stopping = beside.submit(stop_others, controller, over)
        run = pipeline.submit(controller)
        submitted = time.perf_counter()
        status = run.wait(timeout=PATIENCE_SECONDS)
        ended = time.perf_counter()
        over.set()
        found = stopping.result()
        succeeded = run.summary().counts.get(TaskStatus.SUCCEEDED, 0)
    return Story(
        status,
        succeeded == expected,
        declared - began,
        submitted - asked,
        ended - submitted,
        len(found),
        statistics.median(found),
        statistics.quantiles(found, n=20)[-1],
        max(found),
        peak_mib(),
    )


def peak_mib() -> float:
    """The most memory this process has held at once."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says counts what the parent held before this program began
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # bytes, on macOS


def tell_apart(shape: str, size: int, *, timeout: float) -> Story:
    """The same in a new process, whose memory is its own, and which cannot recurse far.

    Args:
        shape: A key of ``SHAPES``.
        size: How many nodes, about.
        timeout: Seconds for all of it.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.shapes", shape, str(size)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Story(*json.loads(done.stdout))


if __name__ == "__main__":
    sys.setrecursionlimit(RECURSION_LIMIT)
    print(json.dumps(tell(sys.argv[1], int(sys.argv[2]))))
