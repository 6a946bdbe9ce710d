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
    def fault(self) -> BaseException | None:
        """Why its state will not move any more, so that nobody may be left waiting; None: it may."""
        return None

    @property
    def shown(self) -> T:
        """The state as it is published."""
        raise NotImplementedError

    def wake(self) -> None:
        """Wake whoever waited for what is published; everybody, where nothing more will come."""
        if self.waiters:
            for waiter in [w for w in tuple(self.waiters) if self._is_due(w)]:  # others come and go meanwhile
                self.unsubscribe(waiter)
                waiter.wake()

    def _is_due(self, waiter: Waiter[T]) -> bool:
        return waiter.satisfied(self.shown) or self.fault is not None

    def subscribe(self, waiter: Waiter[T]) -> bool:
        """Have ``waiter`` woken when it is satisfied; False when it is already, and nothing was kept.

        Callable from any thread: the waiter is listed first and the state looked at second, so that no change falls
        between.
        """
        self.waiters.append(waiter)
        if not self._is_due(waiter):
            return True
        self.unsubscribe(waiter)
        return False

    def unsubscribe(self, waiter: Waiter[T]) -> None:
        """Forget a waiter; no error when it was woken meanwhile."""
        try:
            self.waiters.remove(waiter)
        except ValueError:
            return
