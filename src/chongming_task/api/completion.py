"""Several handles, in the order in which their records end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar

from chongming_task.api.handle import TaskHandle
from chongming_task.api.seconds import patience_of
from chongming_task.api.verbs import has_ended
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.hosting import Notice
from chongming_task.runtime.waiters import Waiter

__all__ = ["as_completed"]

R = TypeVar("R")


def as_completed(handles: Iterable[TaskHandle[R]], timeout: float | None = None) -> Iterator[TaskHandle[R]]:
    """Go through handles as their records end, whichever way; those that have ended come first.

    Args:
        handles: Of one controller or several; one that is given twice comes once.
        timeout: Seconds for all of them together, from now; None waits without end.

    Raises:
        TimeoutError: From the loop, when some have not ended by then; they go on.
        ConfigurationError: For what is no handle, or no number of seconds.

    Example:
        >>> from chongming_task import Controller, as_completed
        >>> with Controller() as controller:
        ...     handles = controller.map(abs, [-1, -2, -3])
        ...     sorted(handle.result() for handle in as_completed(handles, timeout=10))
        [1, 2, 3]
    """
    found = {id(each._live): each for each in map(_checked, handles)}
    return _as_they_end(list(found.values()), patience_of(timeout))


def _checked(handle: TaskHandle[R]) -> TaskHandle[R]:
    if not isinstance(handle, TaskHandle):
        raise ConfigurationError(f"as_completed takes handles, as submit returns them, got {handle!r:.100}")
    return handle


def _as_they_end(handles: list[TaskHandle[R]], timeout: float | None) -> Iterator[TaskHandle[R]]:
    ends = None if timeout is None else time.monotonic() + timeout
    ended: deque[int] = deque()
    news = Notice()

    def arrive(number: int) -> None:
        ended.append(number)
        news.set()

    waiting = dict(enumerate(handles))
    waiters = {number: Waiter(has_ended, partial(arrive, number)) for number in waiting}
    try:
        for number, handle in waiting.items():
            if not handle._live.subscribe(waiters[number]):
                arrive(number)
        while waiting:
            news.clear()
            while ended:
                handle_or_none = waiting.pop(ended.popleft(), None)  # None: woken while it subscribed, told already
                if handle_or_none is not None:
                    yield handle_or_none
            if waiting:
                _wait(waiting, news, ends, len(handles))
    finally:
        for number, handle in enumerate(handles):
            handle._live.unsubscribe(waiters[number])


def _wait(waiting: dict[int, TaskHandle[R]], news: Notice, ends: float | None, of: int) -> None:
    first = next(iter(waiting.values()))
    left = None if ends is None else max(ends - time.monotonic(), 0.0)
    if not first._controller._link.driver.wait(news, left):
        raise TimeoutError(f"{len(waiting)} of {of} tasks have not ended, such as {first.name!r}: it is {first.status}")
