"""``async def`` tasks: a loop of their own, checkpoints that await, and a stop that reaches whatever is awaited.

Loads asyncio, which costs 50 ms: only tasks that are coroutines import this module.
"""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any

from chongming_task.errors import TaskCancelled
from chongming_task.runtime.token import WAIT_SECONDS, CancellationToken

__all__ = ["obey", "run_coroutine", "sleep"]


class _Stopped(TaskCancelled, asyncio.CancelledError):
    """The stop signal in a coroutine: asyncio's own cleanup (task groups, shields) knows it as a cancellation, too."""


def run_coroutine(coroutine: Coroutine[Any, Any, Any], token: CancellationToken) -> Any:
    """Run a task's coroutine to its end, and return its value.

    It gets a loop in this thread; where one runs already, as in a notebook's main thread, in a thread of its own.

    Raises:
        TaskCancelled: When it was stopped.
        BaseException: What it raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(coroutine, token, lambda cancel: None)
    return _run_beside(coroutine, token)


def _run(
    coroutine: Coroutine[Any, Any, Any], token: CancellationToken, begun: Callable[[Callable[[], Any]], None]
) -> Any:
    try:
        with asyncio.Runner() as runner:
            return runner.run(_supervised(coroutine, token, begun))
    except TaskCancelled:
        raise
    except asyncio.CancelledError as cancelled:
        if token.stop_reason is None:  # it cancelled itself
            raise
        raise TaskCancelled(f"asked to stop: {token.stop_reason}") from cancelled


def _run_beside(coroutine: Coroutine[Any, Any, Any], token: CancellationToken) -> Any:
    outcome: Future[Any] = Future()
    cancels: list[Callable[[], Any]] = []

    def run() -> None:
        try:
            outcome.set_result(_run(coroutine, token, cancels.append))
        except BaseException as error:  # told to whoever waits below
            outcome.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="chongming-loop", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # Ctrl-C in the thread that waits is meant for the task
        for cancel in cancels:
            cancel()
        thread.join()
        raise
    return outcome.result()


async def _supervised(
    coroutine: Coroutine[Any, Any, Any], token: CancellationToken, begun: Callable[[Callable[[], Any]], None]
) -> Any:
    """The coroutine, with a stop that cancels whatever it awaits."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def wake() -> None:
        if token.stop_reason is not None:
            loop.call_soon_threadsafe(task.cancel)

    begun(lambda: loop.call_soon_threadsafe(task.cancel))
    token.listen(wake)
    try:
        wake()  # it may have been told before it listened
        return await _steered(coroutine, token)
    finally:
        token.unlisten(wake)


@types.coroutine
def _steered(coroutine: Coroutine[Any, Any, Any], token: CancellationToken) -> Generator[Any, Any, Any]:
    """Drive the coroutine; the cancellation that a stop brings reaches it as TaskCancelled."""
    move: Callable[[Any], Any] = coroutine.send
    what: Any = None
    while True:
        try:
            awaited = move(what)
        except StopIteration as returned:
            return returned.value
        try:
            move, what = coroutine.send, (yield awaited)
        except asyncio.CancelledError as cancelled:
            stopped = _Stopped(f"asked to stop: {token.stop_reason}")
            move, what = coroutine.throw, cancelled if token.stop_reason is None else stopped
        except BaseException as error:  # what the loop throws in is for the coroutine
            move, what = coroutine.throw, error


async def obey(token: CancellationToken) -> None:
    """Wait while the task is paused, and raise when it is to stop; the loop goes on meanwhile."""
    while (request := token.begin_hold()) is not None:
        try:
            while token.holds(request):
                await _word(token, partial(token.holds, request))
        finally:
            token.end_hold()
    if token.stop_reason is not None:
        raise _Stopped(f"asked to stop: {token.stop_reason}")
    token.pass_by()


async def sleep(token: CancellationToken, seconds: float) -> None:
    """Sleep with checkpoints; time spent paused does not count."""
    left = seconds
    while True:
        if token.pass_by():
            await obey(token)
        if left <= 0:
            await asyncio.sleep(0)
            return
        began = token.monotonic()
        nap = min(left, WAIT_SECONDS)
        token.last_checkpoint = began + nap  # as in a sleep that blocks: it hears at once
        await _word(token, lambda: not token.asked, nap)
        left -= token.monotonic() - began


async def _word(token: CancellationToken, still: Callable[[], bool], seconds: float | None = None) -> None:
    """Wait for a word of the engine, or for so long; not at all unless ``still`` says so."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not told.done():
            told.set_result(None)

    def wake() -> None:
        loop.call_soon_threadsafe(tell)

    token.listen(wake)
    timer = None if seconds is None else loop.call_later(seconds, tell)
    try:
        if still():  # looked at only now that no word can be missed
            await told
    finally:
        token.unlisten(wake)
        if timer is not None:
            timer.cancel()
