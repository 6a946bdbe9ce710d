"""Tells subscribers what happened. They can be slow, block or raise: no task notices.

Each has a bounded mailbox, see ``runtime.mailbox``, and a thread or an event loop of its own. When the mailbox is full,
progress, heartbeats and output are dropped and counted; changes of status never are.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from chongming_task.core.records import TaskSnapshot
from chongming_task.runtime.mailbox import STUCK_CHANGES, Mailbox

if TYPE_CHECKING:
    from datetime import datetime

    from chongming_task.core.events import Event
    from chongming_task.core.ports import Emitted
    from chongming_task.core.records import OutputLine, Progress
    from chongming_task.core.rules import Step

__all__ = ["Bus", "Subscriber", "Subscription"]

_logger = logging.getLogger("chongming_task.events")

Tap = Callable[[Sequence[TaskSnapshot]], None]


class Subscriber(Protocol):
    """Somebody who is told. Called on the engine thread: must be quick."""

    @property
    def dropped(self) -> int:
        """How many events he has missed."""
        ...

    def offer(self, events: Sequence[Event], /) -> None:
        """Take events in; never blocks."""
        ...

    def close(self) -> None:
        """Nothing more will come. Idempotent, does not wait."""
        ...


class Subscription:
    """One subscriber's mailbox. ``close()`` ends it; works as a context manager.

    Its thread calls the callback with one event after the other. What happens when the callback is slow, raises or
    never returns is told in ``docs/events.md``.
    """

    def __init__(
        self,
        callback: Callable[[Event], None],
        accepts: Callable[[Event], bool],
        size: int,
        on_close: Callable[[Subscription], None],
    ) -> None:
        self._callback = callback
        self._accepts = accepts
        self._on_close = on_close
        self._mailbox = Mailbox(size)
        self._news = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="chongming-subscriber", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many progress, heartbeat and output events found the mailbox full."""
        return self._mailbox.dropped

    @property
    def waiting(self) -> int:
        """How many events wait for the callback."""
        return len(self._mailbox)

    @property
    def closed(self) -> bool:
        """Whether nothing more will come: it was closed, or given up because its callback did not return."""
        return self._closed

    def offer(self, events: Sequence[Event]) -> None:
        """Put events into the mailbox; never blocks on the subscriber."""
        wanted = [event for event in events if self._accepts(event)]
        if not wanted:
            return
        with self._news:
            self._mailbox.put(wanted)
            self._news.notify()
        if self._mailbox.given_up:
            _logger.error(
                "the subscriber %r has not returned from one event while %s changes came; it is told nothing more",
                *(self._callback, STUCK_CHANGES),
            )
            self.close()

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
                self._news.wait_for(lambda: self._mailbox or self._closed)
                event = self._mailbox.take()
            if event is None:
                return
            try:
                self._callback(event)
            except BaseException:  # its fault is its own: told in the log, never to the task, and the next event comes
                _logger.exception("a subscriber raised on %s", type(event).__name__)
            del event  # while it waits it keeps nothing alive


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

    def beat(self, task: TaskSnapshot, at: datetime, /) -> Event:
        """A task passed a checkpoint."""
        ...

    def wrote(self, task: TaskSnapshot, lines: Sequence[OutputLine], /) -> Sequence[Event]:
        """A task wrote."""
        ...

    def emitted(self, task: TaskSnapshot, report: Emitted, at: datetime, /) -> Event:
        """A task said something of its own."""
        ...

    def run_moved(self, run_id: str, before: str, now: str, at: datetime, /) -> Event:
        """A pipeline run changed its status."""
        ...


class Bus:
    """Where the engine publishes a tick's events, after they are stored.

    Attributes:
        narrator: Who makes events; None while nobody wants any. Plain, since the engine asks at every step.
    """

    def __init__(self) -> None:
        self.narrator: Narrator | None = None
        self._lock = threading.Lock()
        self._subscribers: tuple[Subscriber, ...] = ()
        self._taps: tuple[Tap, ...] = ()
        self._closed = False
        self._dropped_before = 0  # by those who are gone

    @property
    def dropped(self) -> int:
        """How many events subscribers have missed so far, because their mailboxes were full."""
        with self._lock:
            return self._dropped_before + sum(each.dropped for each in self._subscribers)

    def subscribe(
        self, callback: Callable[[Event], None], accepts: Callable[[Event], bool], *, size: int = 10_000
    ) -> Subscription:
        """Have ``callback`` called with every accepted event, on a thread of its own.

        Args:
            callback: Takes one event.
            accepts: Which events it wants; must be quick.
            size: How many events may wait before progress and output are dropped.
        """
        subscription = Subscription(callback, accepts, size, self.remove)
        self.add(subscription)
        return subscription

    def add(self, subscriber: Subscriber) -> None:
        """Tell somebody from now on; nothing, once the bus is closed."""
        from chongming_task.runtime import narrate  # with it the classes of events, which only listeners pay for

        with self._lock:
            if not self._closed:
                self._subscribers += (subscriber,)
                self.narrator = narrate
                return
        subscriber.close()

    def remove(self, subscriber: Subscriber) -> None:
        """Tell him nothing more; no error when he is not known."""
        with self._lock:
            if subscriber in self._subscribers:
                self._dropped_before += subscriber.dropped
            self._subscribers = tuple(each for each in self._subscribers if each is not subscriber)
            if not self._subscribers:
                self.narrator = None

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
        for subscriber in self._subscribers:
            try:
                subscriber.offer(events)
            except BaseException:  # a filter that raises: a subscriber's fault is its own
                _logger.exception("a subscriber's filter raised")
        for tap in self._taps:
            try:
                tap(changed)
            except BaseException:  # a broken view must not stop the engine, not even by SystemExit
                _logger.exception("a view raised")

    def close(self) -> None:
        """End all subscriptions; what is in the mailboxes is still told."""
        with self._lock:
            self._closed = True
        for subscriber in self._subscribers:
            subscriber.close()
        self._taps = ()
