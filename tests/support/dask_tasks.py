"""Tasks that the Dask tests submit; a module, so that workers can import them."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from chongming_task import FixedBackoff, RetryPolicy, TaskCancelled, TaskContext, task
from chongming_task.runtime.context import current_context


@task
def where() -> int:
    """The process it runs in."""
    return os.getpid()


def note(path: str, word: str) -> None:
    """A line in a file that several processes write to."""
    with Path(path).open("a") as file:
        file.write(f"{word}\n")


def noted(path: str | Path) -> list[str]:
    """The lines so far."""
    return Path(path).read_text().split() if Path(path).exists() else []


def stay(ctx: TaskContext, path: str) -> None:
    """Passes checkpoints until it is stopped; notes its process, and how it ended."""
    note(path, str(os.getpid()))
    try:
        while True:
            ctx.sleep(0.01)
    except TaskCancelled:
        note(path, "stopped")
        raise


def tell_when_stopped(ctx: TaskContext) -> None:
    """The moment at which it is stopped, on the clock that all processes of a machine share."""
    try:
        while True:
            ctx.checkpoint()
            time.sleep(0.001)
    except TaskCancelled:
        ctx.emit("stopped", time.monotonic())
        raise


def deaf(path: str) -> str:
    """Passes no checkpoint, and ends when the file is gone."""
    Path(path).touch()
    while Path(path).exists():
        time.sleep(0.01)
    return "done"


@task(retry=RetryPolicy(max_attempts=3, backoff=FixedBackoff(0.1)))
def second_time_lucky(ctx: TaskContext, path: str) -> int:
    """The first attempt stays; another returns its number."""
    note(path, f"{ctx.attempt}:{os.getpid()}")
    while ctx.attempt == 1:
        ctx.sleep(0.01)
    return ctx.attempt


def chatter(ctx: TaskContext, lines: int) -> str:
    """Writes in every way there is, and reports progress."""
    for number in ctx.track(range(lines), unit="lines"):
        print("out", number)
    print("err", file=sys.stderr)
    logging.getLogger("somewhere").warning("logged")
    ctx.log.info("told", rows=3)
    ctx.emit("said", {"lines": lines})
    return current_context().name


def array(ctx: TaskContext, megabytes: float, path: str | None = None) -> Any:
    """An array; notes that it was made."""
    import numpy

    if path is not None:
        note(path, "made")
    return numpy.ones(int(megabytes * (1 << 20)) // 8)


def doubled(values: Any) -> Any:
    """As large as what it was handed."""
    return values * 2


def total(*values: Any) -> float:
    """A number, of all of them."""
    return float(sum(each.sum() for each in values))


def gathered(values: list[Any]) -> float:
    """The same, of the results of a map."""
    return total(*values)


def sized(values: list[int]) -> int:
    """How many there are."""
    return len(values)


def foreign() -> Any:
    """What is neither JSON nor can be sent."""
    import threading

    return {"here": [threading.Lock()]}


def infinite() -> float:
    """What JSON does not know, though it is a number."""
    return float("inf")
