"""The tasks that the executor contract runs. In a module of their own, so that another process can import them."""

from __future__ import annotations

import threading
import time
from typing import Any, NoReturn

from chongming_task.errors import ResultInvalid, TaskCancelled
from chongming_task.runtime.context import TaskContext, current_context

__all__: list[str] = []

_NAP_SECONDS = 0.005


def add(left: int, right: int = 0) -> int:
    """Takes no context."""
    return left + right


async def add_later(left: int, right: int) -> int:
    """A coroutine."""
    return left + right


def who_am_i(ctx: TaskContext) -> list[Any]:
    """What the context says."""
    return [ctx.task_id, ctx.name, ctx.attempt, ctx.pipeline_run_id, ctx.deadline is not None]


def who_am_i_deep_down() -> str:
    """What the context says to code that was not given it."""
    return current_context().task_id


def until_stopped(ctx: TaskContext) -> NoReturn:
    """Passes checkpoints for ever."""
    while True:
        ctx.sleep(_NAP_SECONDS)


def swallow_the_stop(ctx: TaskContext) -> NoReturn:
    """Ignores being told to stop, once."""
    try:
        until_stopped(ctx)
    except TaskCancelled:
        ctx.emit("swallowed")
    until_stopped(ctx)


def say_began(ctx: TaskContext) -> NoReturn:
    """Says that user code runs."""
    ctx.emit("began")
    until_stopped(ctx)


def rounds(ctx: TaskContext, seconds: float) -> str:
    """Passes checkpoints for a while of running time, and returns."""
    ctx.sleep(seconds)
    return "done"


def stuck() -> NoReturn:
    """Passes no checkpoint, ever."""
    while True:
        time.sleep(_NAP_SECONDS)


def count(ctx: TaskContext, total: int) -> int:
    """Reports progress."""
    for _ in ctx.track(range(total), unit="rows"):
        pass
    ctx.progress(message="counted")
    return total


def emit_all(ctx: TaskContext, payloads: list[Any]) -> None:
    """Says things of its own."""
    for payload in payloads:
        ctx.emit("said", payload)


def fail(message: str) -> NoReturn:
    """Raises."""
    raise LookupError(message)


def leave(kind: str) -> NoReturn:
    """Raises what is no Exception."""
    raise {"SystemExit": SystemExit, "KeyboardInterrupt": KeyboardInterrupt, "GeneratorExit": GeneratorExit}[kind]


class Awkward(Exception):
    """Cannot be printed, pickled, or made again from its args."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.numbers = one, two

    def __str__(self) -> str:
        raise RuntimeError("no words")


def fail_awkwardly() -> NoReturn:
    """Raises what breaks whoever handles it without care."""
    raise Awkward(1, 2)


def return_an_object() -> object:
    """Returns what is no JSON."""
    return threading.Lock()


def refuse_the_result() -> NoReturn:
    """Says by itself that its result cannot be kept."""
    raise ResultInvalid("not this one")
