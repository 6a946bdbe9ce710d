"""Whoever waits for something of the engine's to be in a certain state: a record, a pipeline run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Awaited", "Waiter"]

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Waiter(Generic[T]):
    """Somebody who waits for a certain state."""

    satisfied: Callable[[T], bool]
    wake: Callable[[], None]  # called once, from the engine thread; must not block


class Awaited(Generic[T]):
    """What can be waited for. The engine wakes; anybody may come and go."""

    __slots__ = ()

    waiters: list[Waiter[T]]

    @property
    def shown(self) -> T:
        """The state as it is published."""
        raise NotImplementedError

    def wake(self) -> None:
        """Wake whoever waited for what is published."""
        if self.waiters:
            shown = self.shown
            for waiter in [w for w in tuple(self.waiters) if w.satisfied(shown)]:  # others come and go meanwhile
                self.unsubscribe(waiter)
                waiter.wake()

    def subscribe(self, waiter: Waiter[T]) -> bool:
        """Have ``waiter`` woken when it is satisfied; False when it is already, and nothing was kept.

        Callable from any thread: the waiter is listed first and the state looked at second, so that no change falls
        between.
        """
        self.waiters.append(waiter)
        if not waiter.satisfied(self.shown):
            return True
        self.unsubscribe(waiter)
        return False

    def unsubscribe(self, waiter: Waiter[T]) -> None:
        """Forget a waiter; no error when it was woken meanwhile."""
        try:
            self.waiters.remove(waiter)
        except ValueError:
            return
