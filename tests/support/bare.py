"""What benchmarks measure beside: the bare thing, taken in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from chongming_task import task

SLOTS = 8


@task
def no_op() -> None:
    """Return."""


def through_a_pool(tasks: int) -> None:
    """Submit all to the standard library's pool, then wait for every result."""
    with ThreadPoolExecutor(SLOTS) as pool:
        for future in [pool.submit(no_op) for _ in range(tasks)]:
            future.result()


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
