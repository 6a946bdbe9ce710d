"""Keeps the pump's thread for those who post to it and have no view of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from chongming_task.core.records import TaskSnapshot
from chongming_task.notebook.feed import Feed
from chongming_task.notebook.pump import PUMP

__all__ = ["hold_pump"]


def hold_pump() -> Callable[[], None]:
    """From now on what is posted to the pump is done, view or not.

    Returns:
        The function that lets go. With the last view and the last hold the thread ends.
    """
    outlet = PUMP.add(_NoTasks(), Feed("", 0), _NoView())

    def let_go() -> None:
        # At the interpreter's end threads are frozen where they stand, maybe with the pump's lock in their hands.
        if not sys.is_finalizing():
            PUMP.remove(outlet)

    return let_go


class _NoTasks:
    """A ``TaskSource`` without any: the pump's thread lives as long as it serves something."""

    name: str | None = None

    def list_tasks(self) -> list[TaskSnapshot]:
        return []

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None], /) -> Callable[[], None]:
        return lambda: None


class _NoView:
    """A ``Port`` that leads nowhere."""

    def deliver(self, message: dict[str, Any]) -> None:
        """Nobody is there to be pinged."""

    def save(self, table: dict[str, Any]) -> None:
        """Nobody shows it."""
