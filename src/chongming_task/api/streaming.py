"""``async for event in controller.stream()``: events for a coroutine. Loaded with the first stream."""

from __future__ import annotations

import asyncio
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Self

from chongming_task.core.events import Event
from chongming_task.errors import EventsLost
from chongming_task.runtime.bus import Bus, Subscriber
from chongming_task.runtime.mailbox import STUCK_CHANGES, Mailbox

__all__ = ["EventStream"]

_A_TURN = 64  # events handed out at a stretch before the loop may turn to others
_logger = logging.getLogger("chongming_task.events")


class _Inlet:
    """A stream as the engine sees it: takes events in, and wakes whoever awaits them. Needs no thread."""

    def __init__(self, accepts: Callable[[Event], bool], size: int, on_close: Callable[[Subscriber], None]) -> None:
        self.mailbox = Mailbox(size)
        self.closed = False
        self.abandoned = False  # nobody can read it any more
        self.lock = threading.Lock()
        self._accepts = accepts
        self._on_close = on_close
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def dropped(self) -> int:
        return self.mailbox.dropped

    def offer(self, events: Sequence[Event]) -> None:
        if self.abandoned:
            self.close()
            return
        wanted = [event for event in events if self._accepts(event)]
        if not wanted:
            return
        with self.lock:
            self.mailbox.put(wanted)
        if self.mailbox.given_up and not self.closed:
            _logger.error("a stream was not read while %s changes came; it is told nothing more", STUCK_CHANGES)
            self.close()
        else:
            self._wake()

    def close(self) -> None:
        self._on_close(self)
        with self.lock:
            self.closed = True
        self._wake()

    def _wake(self) -> None:
        with self.lock:
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            try:
                waiter.get_loop().call_soon_threadsafe(_settle, waiter)
            except RuntimeError:  # its loop was closed, and nobody awaits it any more
                pass

    def take(self) -> Event | None:
        with self.lock:
            return self.mailbox.take()

    async def news(self) -> None:
        """Wait until there is something to take, or the end."""
        waiter = asyncio.get_running_loop().create_future()
        with self.lock:
            if len(self.mailbox) or self.closed:
                return
            self._waiters.append(waiter)
        try:
            await waiter
        finally:
            with self.lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():  # it may have been cancelled
        waiter.set_result(None)


class EventStream:
    """What ``controller.stream()`` returns: events from then on, for ``async for``; also a context manager.

    It ends when it or the controller is closed, once what was told before has been read. One that nobody refers to any
    more is closed by itself, such as that of a loop that was left by ``break``. Cancelling who reads loses no event.
    """

    def __init__(self, bus: Bus, accepts: Callable[[Event], bool], size: int = 10_000) -> None:
        self._inlet = _Inlet(accepts, size, bus.remove)
        self._read = 0
        # A finalizer can run anywhere, also where a lock is held: it takes none.
        weakref.finalize(self, setattr, self._inlet, "abandoned", True).atexit = False
        bus.add(self._inlet)

    @property
    def dropped(self) -> int:
        """How many progress, heartbeat and output events found no room, because the reader was behind."""
        return self._inlet.mailbox.dropped

    @property
    def waiting(self) -> int:
        """How many events wait to be read."""
        return len(self._inlet.mailbox)

    @property
    def closed(self) -> bool:
        """Whether nothing more will come."""
        return self._inlet.closed

    def close(self) -> None:
        """End the stream. Idempotent; callable from any thread."""
        self._inlet.close()

    async def aclose(self) -> None:
        """The same, for ``contextlib.aclosing``."""
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """The next event.

        Raises:
            EventsLost: When the stream was not read for so long that it was given up.
        """
        inlet = self._inlet
        self._read += 1
        if self._read % _A_TURN == 0:
            await asyncio.sleep(0)
        while (event := inlet.take()) is None:
            if inlet.mailbox.given_up:
                raise EventsLost(
                    f"the stream was not read while {STUCK_CHANGES} changes of status came, and has lost them; "
                    "open another one, and read what was missed with controller.events(task_id, since=...)"
                )
            if inlet.closed:
                raise StopAsyncIteration
            await inlet.news()
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
