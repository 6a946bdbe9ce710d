"""Where everything that wakes the engine arrives: calls to make on its thread, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["Inbox", "Message"]

Message = tuple[Callable[..., None], tuple[Any, ...]]
"""A method of the engine and its arguments."""


class Inbox:
    """A queue that any thread may put into, and the engine alone empties.

    Args:
        sleep: Passes time.
    """

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._queue: SimpleQueue[Message] = SimpleQueue()

    def put(self, call: Callable[..., None], *args: Any) -> None:
        """Have the engine make this call in its next tick. Never blocks."""
        self._queue.put((call, args))

    def __len__(self) -> int:
        return self._queue.qsize()

    def drain(self, timeout: float | None = 0.0, gather: float = 0.0) -> Iterator[Message]:
        """What has arrived up to now; waits for the first.

        Args:
            timeout: Seconds to wait for it; 0 does not wait, None waits without end.
            gather: Seconds to wait for others to come along; not when ``timeout`` is 0.
        """
        queue = self._queue
        if timeout != 0.0:
            if not queue.qsize():
                try:
                    yield queue.get(timeout=timeout)
                except Empty:
                    return
            if gather:
                self._sleep(gather)
        for _ in range(queue.qsize()):  # what comes in meanwhile is for the next tick: no sender can hold this one up
            yield queue.get_nowait()
