"""The thread that metrics and traces are told on: a subscription's, so that neither engine nor tasks wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from chongming_task.core.events import Event

__all__ = ["Listener", "Subscribe"]

_NEVER = datetime.min.replace(tzinfo=UTC)


class _Subscription(Protocol):
    def offer(self, events: Any, /) -> None: ...

    def close(self) -> None: ...


Subscribe = Callable[[Callable[[Event], None], Callable[[Event], bool]], _Subscription]
"""The bus: has a callback called with every accepted event, on a thread of its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Errand(Event):
    """Something to be done on that thread, in turn."""

    call: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Trifle(_Errand):
    """The same, but left out when the thread is behind."""

    droppable = True


class Listener:
    """One subscription: events, and errands between them.

    Args:
        subscribe: The bus.
        hear: Takes an event.
        types: Of these classes only.
    """

    def __init__(self, subscribe: Subscribe, hear: Callable[[Event], None], types: tuple[type[Event], ...]) -> None:
        self._hear = hear
        self._wanted = (*types, _Errand)
        self._finished = False
        self._subscription = subscribe(self._take, lambda event: isinstance(event, self._wanted))

    def _take(self, event: Event) -> None:
        if isinstance(event, _Errand):
            event.call()
        else:
            self._hear(event)

    def post(self, call: Callable[[], None], *, droppable: bool = False) -> None:
        """Have ``call`` called on the thread, after what was told before; once it is finished, not at all."""
        if self._finished:
            return
        kind = _Trifle if droppable else _Errand
        self._subscription.offer([kind(event_id="", at=_NEVER, task_id="", call=call)])

    def finish(self, seconds: float) -> None:
        """Wait until everything has been told, but not for long; then close. Idempotent."""
        if not self._finished:
            told = threading.Event()
            self.post(told.set)
            self._finished = True
            told.wait(seconds)
            self._subscription.close()
