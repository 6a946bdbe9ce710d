"""Follows the records of a store by asking what has changed, however many there are.

One look costs what has changed since the last: the feed names the records whose status moved; those that hold a worker,
or have one that was given up, are looked at as well, for their progress moves by itself; and new ones are the newest.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence

from chongming_task.api.attach_standing import UNSURE, as_it_stands
from chongming_task.core.ports import Clock, TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.runtime.ownership import Watchers

__all__ = ["Course", "standing"]

_PAGE = 1_000  # changes
_NEW = 64  # records, at first
_ORPHANS_SECONDS = 1.0  # between two looks at records nobody watches
_ORPHANS_SHARE = 20  # and so many times as long as such a look takes
_UNCHANGED_SECONDS = 30.0  # the same, while nothing is written: time alone can orphan a record that never had an owner


def standing(tasks: Sequence[TaskSnapshot], watchers: Watchers) -> list[TaskSnapshot]:
    """Records as they stand: see ``as_it_stands``."""
    return [as_it_stands(task, watched=watchers.watch(task)) for task in tasks]


class Course:
    """A reader's way through the changes of a store, from when it is made.

    Args:
        store: What is followed.
        clock: Time.

    Raises:
        StoreError: When the store cannot be asked, as with :meth:`look`; what comes then is told by a new course.
    """

    def __init__(self, store: TaskStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()  # guards what is known of the records that somebody was shown
        self._owners: dict[str, str | None] = {}  # of those that stand otherwise without their owner
        self._theirs: dict[str | None, set[str]] = defaultdict(set)  # the same, by owner
        self._moving: set[str] = set()  # those that change without a transition
        self.mark = store.wait_for_change(0)
        self._told = self.mark
        self._cursor = store.last_change()
        self._newest = next((task.task_id for task in store.query(TaskQuery(limit=1))), None)
        self._living = self._watchers().living.keys()
        self._orphans_at = self._unchanged_until = clock.monotonic()
        self._orphans_mark = self.mark
        self.note(store.query(TaskQuery(status=UNSURE)))

    def note(self, tasks: Iterable[TaskSnapshot]) -> None:
        """Follow these as well: somebody is shown them. As they are stored."""
        with self._lock:
            for task in tasks:
                self._note(task)

    def _note(self, task: TaskSnapshot) -> None:
        task_id = task.task_id
        if task.live or task.abandoned:
            self._moving.add(task_id)
        else:
            self._moving.discard(task_id)
        before = self._owners.pop(task_id, None)
        self._theirs[before].discard(task_id)
        if not task.is_terminal or task.abandoned:
            self._owners[task_id] = task.owner
            self._theirs[task.owner].add(task_id)

    def look(self) -> list[TaskSnapshot]:
        """The records that may stand otherwise than when they were told last, as they stand now."""
        self.mark = self._store.wait_for_change(0, self.mark)
        began, watchers = self._clock.monotonic(), self._watchers()
        due = began >= (self._orphans_at if self.mark != self._orphans_mark else self._unchanged_until)
        wanted = self._touched_by_fate(watchers, due)
        found: list[TaskSnapshot] = []
        if self.mark != self._told:
            wanted |= self._changed()
            found = self._created()
            wanted -= {task.task_id for task in found}
            self._told = self.mark
        if wanted:
            found += self._store.query(TaskQuery(task_ids=frozenset(wanted)))
        self.note(found)
        if due:
            now = self._clock.monotonic()
            rest = max(_ORPHANS_SECONDS, _ORPHANS_SHARE * (now - began))
            self._orphans_at, self._unchanged_until = now + rest, now + max(rest, _UNCHANGED_SECONDS)
            self._orphans_mark = self.mark
        return standing(found, watchers)

    def _watchers(self) -> Watchers:
        return Watchers(self._store.owner_leases(), self._clock.now())

    def _changed(self) -> set[str]:
        """Whose status has moved, and whose progress may have."""
        ids: set[str] = set()
        while page := self._store.changes(self._cursor, _PAGE):
            ids.update(change.transition.task_id for change in page)
            self._cursor = page[-1].cursor
        with self._lock:
            return ids | self._moving

    def _created(self) -> list[TaskSnapshot]:
        """The records that are new; of one that was only submitted, the feed tells nothing."""
        count = 1
        while True:
            found = self._store.query(TaskQuery(limit=count))
            at = next((n for n, task in enumerate(found) if task.task_id == self._newest), None)
            if at is not None or len(found) < count:
                break
            count = max(count * 4, _NEW)
        if found:
            self._newest = found[-1].task_id
        return found if at is None else found[at + 1 :]

    def _touched_by_fate(self, watchers: Watchers, due: bool) -> set[str]:
        """The records of owners that are gone since the last look, or back; when it is due, of all that are gone.

        Whoever takes over a record that has not begun changes its owner, and of that the feed tells nothing either.
        """
        before, self._living = self._living, watchers.living.keys()
        with self._lock:
            return {
                task_id
                for owner, theirs in self._theirs.items()
                if (owner in before) != (owner in self._living) or (due and owner not in self._living)
                for task_id in theirs
            }
