"""Tells subscribers what happened. They can be slow, block or raise: no task notices.

Each subscriber has a bounded mailbox and a thread of its own. When the mailbox is full, progress, heartbeats and output
are dropped and counted; changes of status never are.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from chongming_task.core.records import TaskSnapshot

if TYPE_CHECKING:
    from datetime import datetime

    from chongming_task.core.events import Event
    from chongming_task.core.ports import Emitted
    from chongming_task.core.records import OutputLine, Progress
    from chongming_task.core.rules import Step

__all__ = ["Bus", "Subscription"]

_logger = logging.getLogger("chongming_task.events")

Tap = Callable[[Sequence[TaskSnapshot]], None]


class Subscription:
    """One subscriber's mailbox. ``close()`` ends it; works as a context manager.

    Attributes:
        dropped: How many progress, heartbeat and output events found the mailbox full.
    """

    def __init__(
        self,
        callback: Callable[[Event], None],
        accepts: Callable[[Event], bool],
        size: int,
        on_close: Callable[[Subscription], None],
    ) -> None:
        self.dropped = 0
        self._callback = callback
        self._accepts = accepts
        self._size = size
        self._on_close = on_close
        self._mail: deque[Event] = deque()
        self._news = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="chongming-subscriber", daemon=True)
        self._thread.start()

    def offer(self, events: Sequence[Event]) -> None:
        """Put events into the mailbox; never blocks on the subscriber."""
        wanted = [event for event in events if self._accepts(event)]
        if not wanted:
            return
        with self._news:
            for event in wanted:
                if len(self._mail) >= self._size and event.droppable:
                    self.dropped += 1
                else:
                    self._mail.append(event)
            self._news.notify()

    def close(self) -> None:
        """End the subscription once what is in the mailbox has been told. Idempotent, does not wait."""
        self._on_close(self)
        with self._news:
            self._closed = True
            self._news.notify()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _serve(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._mail or self._closed)
                if not self._mail:
                    return
                event = self._mail.popleft()
            try:
                self._callback(event)
            except BaseException:  # its fault is its own: told in the log, never to the task, and the next event comes
                _logger.exception("a subscriber raised on %s", type(event).__name__)


class Narrator(Protocol):
    """Makes events of what the engine did; see ``runtime.narrate``."""

    def created(self, task: TaskSnapshot, /) -> Event:
        """A record was accepted."""
        ...

    def moved(self, before: TaskSnapshot, made: Step, /) -> Sequence[Event]:
        """A step."""
        ...

    def progressed(self, task: TaskSnapshot, progress: Progress, at: datetime, /) -> Event:
        """A task came further."""
        ...

    def wrote(self, lines: Sequence[OutputLine], /) -> Sequence[Event]:
        """A task wrote."""
        ...

    def emitted(self, task: TaskSnapshot, report: Emitted, at: datetime, /) -> Event:
        """A task said something of its own."""
        ...

    def run_moved(self, run_id: str, before: str, now: str, at: datetime, /) -> Event:
        """A pipeline run changed its status."""
        ...


class Bus:
    """Where the engine publishes a tick's events, after they are stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._taps: tuple[Tap, ...] = ()
        self._narrator: Narrator | None = None

    @property
    def narrator(self) -> Narrator | None:
        """Who makes events; None while nobody wants any."""
        return self._narrator if self._subscriptions else None

    def subscribe(
        self, callback: Callable[[Event], None], accepts: Callable[[Event], bool], *, size: int = 10_000
    ) -> Subscription:
        """Have ``callback`` called with every accepted event, on a thread of its own.

        Args:
            callback: Takes one event.
            accepts: Which events it wants; must be quick.
            size: How many events may wait before progress and output are dropped.
        """
        from chongming_task.runtime import narrate  # with it the classes of events, which only listeners pay for

        subscription = Subscription(callback, accepts, size, self._remove)
        with self._lock:
            self._narrator = narrate
            self._subscriptions += (subscription,)
        return subscription

    def _remove(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = tuple(s for s in self._subscriptions if s is not subscription)

    def tap(self, callback: Tap) -> Callable[[], None]:
        """For views of our own: called on the engine thread with the records that changed; quick, never raising.

        Returns:
            The function that ends it.
        """
        with self._lock:
            self._taps += (callback,)

        def untap() -> None:
            with self._lock:
                self._taps = tuple(t for t in self._taps if t is not callback)

        return untap

    def publish(self, events: Sequence[Event], changed: Sequence[TaskSnapshot]) -> None:
        """Tell everybody."""
        for subscription in self._subscriptions:
            try:
                subscription.offer(events)
            except Exception:  # a filter that raises: a subscriber's fault is its own
                _logger.exception("a subscriber's filter raised")
        for tap in self._taps:
            try:
                tap(changed)
            except Exception:  # a broken view must not stop the engine
                _logger.exception("a view raised")

    def close(self) -> None:
        """End all subscriptions; what is in the mailboxes is still told."""
        for subscription in self._subscriptions:
            subscription.close()
        self._taps = ()
