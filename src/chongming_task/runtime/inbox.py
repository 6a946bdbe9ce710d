"""Where everything that wakes the engine arrives: calls to make on its thread, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["Inbox", "Message"]

Message = tuple[Callable[..., None], tuple[Any, ...]]
"""A method of the engine and its arguments."""


class Inbox:
    """A queue that any thread may put into, and the engine alone empties."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Message] = SimpleQueue()

    def put(self, call: Callable[..., None], *args: Any) -> None:
        """Have the engine make this call in its next tick. Never blocks."""
        self._queue.put((call, args))

    def __len__(self) -> int:
        return self._queue.qsize()

    def drain(self, timeout: float | None = 0.0) -> Iterator[Message]:
        """What has arrived up to now; waits for the first.

        Args:
            timeout: Seconds to wait for it; 0 does not wait, None waits without end.
        """
        queue = self._queue
        count = queue.qsize()
        if not count and timeout != 0.0:
            try:
                yield queue.get(timeout=timeout)
            except Empty:
                return
            count = queue.qsize()
        for _ in range(count):  # what comes in meanwhile is for the next tick: no sender can hold this one up
            yield queue.get_nowait()
