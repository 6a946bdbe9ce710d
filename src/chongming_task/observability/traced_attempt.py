"""Attempts that run inside their spans, in this process or in another one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver, Report
from chongming_task.core.triggers import Ended, Started
from chongming_task.observability.tracing import AttemptSpan, Tracing, attempted

__all__ = ["in_its_span"]

Enter = Callable[[], AbstractContextManager[Any]]


def in_its_span(tracing: Tracing, request: AttemptRequest, deliver: Deliver) -> tuple[AttemptRequest, Deliver]:
    """An attempt, and who takes its reports, changed so that its span begins with it, is current in the task, and ends
    with it. Called on the engine's thread: nothing is started here."""
    span = tracing.attempt(request)

    def told(report: Report) -> None:
        if isinstance(report, Started):
            span.begin()
        elif isinstance(report, Ended):
            span.told_end(report.failure)
        deliver(report)

    return request._replace(target=_Here(request.target, span), origin=None), told


class _Here:
    """A task that runs inside its span in this process; on its way to another one it becomes the same over there."""

    def __init__(self, target: Callable[..., Any], span: AttemptSpan) -> None:
        self._target = target
        self._span = span

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        span = self._span.span
        return _inside(None if span is None else span.use, self._target, args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        # A process is sent its task by a thread that is neither the engine's nor a caller's: there a tracer may run.
        span = self._span.begin()
        enter = None if span is None else attempted("hand a span over", span.handover)
        return _There, (self._target, enter)


class _There:
    """A task that runs inside a span of another process."""

    def __init__(self, target: Callable[..., Any], enter: Enter | None) -> None:
        self._target = target
        self._enter = enter

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _inside(self._enter, self._target, args, kwargs)


def _inside(enter: Enter | None, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if enter is None:
        return target(*args, **kwargs)
    leave = _entered(enter)
    try:
        value = target(*args, **kwargs)
    finally:
        leave()
    return _awaited_inside(enter, value) if inspect.iscoroutine(value) else value


async def _awaited_inside(enter: Enter, coroutine: Coroutine[Any, Any, Any]) -> Any:
    leave = _entered(enter)
    try:
        return await coroutine
    finally:
        leave()


def _entered(enter: Enter) -> Callable[[], object]:
    """Make a span current; returns what ends that. What the tracer raises on the way is no fault of the task."""

    def make() -> AbstractContextManager[Any]:
        block = enter()
        block.__enter__()
        return block

    block = attempted("make a span current", make)
    return lambda: block is not None and attempted("leave a span", lambda: block.__exit__(None, None, None))
