"""What every contender is asked to do, and how it answers.

Standard library only: each contender's script runs in an environment of its own, where nothing of this project is.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SLOTS = 8  # how many run at once
DIAMONDS = 111  # a graph of 1 + 9 × 111 = 1,000 nodes: each node forks into eight, which join again
STEP_SECONDS = 0.0005  # a task that can be stopped does something between two looks
STOPS = 15
BEFORE_STOP_SECONDS = 0.02  # so that a stop comes at any moment between two looks

__all__ = [
    "BEFORE_STOP_SECONDS",
    "DIAMONDS",
    "SLOTS",
    "STEP_SECONDS",
    "STOPS",
    "diamonds",
    "no_op",
    "per_task",
    "runs_on",
    "tell",
    "tick",
]


def no_op(*_upstream: object) -> None:
    """Return."""


def diamonds(count: int = DIAMONDS) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every node with the nodes before it, in an order that can be run."""
    yield 0, ()
    tip = 0
    for _ in range(count):
        forks = tuple(range(tip + 1, tip + 1 + SLOTS))
        for fork in forks:
            yield fork, (tip,)
        tip = forks[-1] + 1
        yield tip, forks


def per_task(times: int, call: Callable[[int], object], *, repeat: int = 3) -> float:
    """Seconds for one of ``times`` tasks that ``call`` runs: the median of some repetitions, after one to warm up."""
    call(max(SLOTS, times // 10))
    return statistics.median(_seconds(call, times) for _ in range(repeat)) / times


def _seconds(call: Callable[[int], object], times: int) -> float:
    began = time.perf_counter()
    call(times)
    return time.perf_counter() - began


def tick(folder: str) -> None:
    """A task that hears nothing: it shows that it runs by writing into ``ticks``, until there is a file ``end``."""
    count = 0
    while not Path(folder, "end").exists():
        count += 1
        Path(folder, "ticks").write_text(str(count))
        time.sleep(0.005)


def runs_on(folder: str, cancel: Callable[[], object]) -> bool:
    """Whether :func:`tick`, which has been started, still runs half a second after ``cancel``."""
    ticks = Path(folder, "ticks")
    while not ticks.exists():
        time.sleep(0.01)
    cancel()
    time.sleep(0.5)
    before = ticks.read_text()
    time.sleep(0.5)
    after = ticks.read_text()
    Path(folder, "end").touch()
    return before != after


def tell(found: dict[str, float | str | None]) -> None:
    """The answer of a script: seconds for every measure, or words; the last line that it prints."""
    print("\n" + json.dumps(found), flush=True)
