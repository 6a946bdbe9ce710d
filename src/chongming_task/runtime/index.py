"""The records of this process: those that live, and the newest of those that have ended."""

from __future__ import annotations

from collections import OrderedDict
from weakref import WeakValueDictionary

from chongming_task.core.states import TERMINAL
from chongming_task.runtime.live import LiveTask

__all__ = ["TaskIndex"]


class TaskIndex:
    """Records by id. The engine's own; others may read ``tasks``.

    An ended record is dropped when too many newer ones have ended; it comes back when it is asked for while somebody
    still holds its handle. What is dropped stays in the store.

    Args:
        keep_terminal: How many ended records stay.
    """

    def __init__(self, keep_terminal: int) -> None:
        self.tasks: dict[str, LiveTask] = {}
        self._keep_terminal = keep_terminal
        self._ended: OrderedDict[str, None] = OrderedDict()  # in the order they ended
        self._dropped: WeakValueDictionary[str, LiveTask] = WeakValueDictionary()
        self.elsewhere: WeakValueDictionary[str, LiveTask] = WeakValueDictionary()  # others have taken these over

    def add(self, live: LiveTask) -> None:
        """Take in a record."""
        self.tasks[live.draft.task_id] = live

    def find(self, task_id: str) -> LiveTask | None:
        """A record, also one that was dropped and whose handle is still held."""
        live = self.tasks.get(task_id)
        if live is None and (live := self._dropped.pop(task_id, None)) is not None:
            self.tasks[task_id] = live
            self.follow(live)  # dropped again in its turn, unless it is revived
        return live

    def follow(self, live: LiveTask) -> None:
        """Note whether a record has ended, or lives again."""
        task_id = live.draft.task_id
        if live.draft.status in TERMINAL:
            self._ended[task_id] = None
        elif self._ended:
            self._ended.pop(task_id, None)

    def leave(self, live: LiveTask) -> None:
        """Drop a record now: somebody else has taken it over."""
        self.remove(live)
        self.elsewhere[live.draft.task_id] = live

    def remove(self, live: LiveTask) -> None:
        """Forget a record."""
        self.tasks.pop(live.draft.task_id, None)
        self._ended.pop(live.draft.task_id, None)

    def come_back(self, task_id: str) -> LiveTask | None:
        """The record as it was when it left, if anybody still holds its handle."""
        return self.elsewhere.pop(task_id, None)

    def drop_oldest(self) -> None:
        """Drop the oldest ended records; not one whose worker was given up and may still come back."""
        while len(self._ended) > self._keep_terminal:
            task_id, _ = self._ended.popitem(last=False)
            live = self.tasks.get(task_id)
            if live is not None and live.snapshot.status in TERMINAL and not live.given_up:
                self._dropped[task_id] = self.tasks.pop(task_id)
