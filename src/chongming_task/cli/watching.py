"""Whether a record's controller lives, as far as can be told from here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chongming_task.runtime.ownership import Watchers

if TYPE_CHECKING:
    from chongming_task.core.ports import TaskStore
    from chongming_task.core.records import TaskSnapshot

__all__ = ["Watching"]


class Watching:
    """The controllers on a store at one moment.

    Args:
        store: Where their leases are.
    """

    def __init__(self, store: TaskStore) -> None:
        self.now = datetime.now(UTC)
        self._watchers = Watchers(store.owner_leases(), self.now)

    def of(self, task: TaskSnapshot) -> bool | None:
        """Whether somebody watches it; None when it has ended, and nobody need."""
        return None if task.is_terminal else self.owner_lives(task)

    def owner_lives(self, task: TaskSnapshot) -> bool:
        """Whether a verb has to be sent to its controller, also for one that has ended."""
        return self._watchers.watch(task)
