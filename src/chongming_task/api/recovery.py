"""After a crash: finds records that nobody watches any more, and says of each what is true. Part of
:class:`~chongming_task.Controller`."""

from __future__ import annotations

from typing import NamedTuple

from chongming_task.api.link import EngineLink
from chongming_task.core.policies import TaskPolicy
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.core.triggers import Orphaned
from chongming_task.runtime.live import LiveTask, Work
from chongming_task.runtime.ownership import is_orphan

__all__ = ["ReconcileReport", "Recovery"]

_OPEN = frozenset(TaskStatus) - TERMINAL


class ReconcileReport(NamedTuple):
    """What a reconciliation found, by id."""

    lost: tuple[str, ...] = ()  # they held a worker when their process died: what they did is unknown
    cancelled: tuple[str, ...] = ()  # they never ran, and cannot run here: what to run is not stored
    untouched: tuple[str, ...] = ()  # somebody watches them


class Recovery:
    """What a controller does about records of processes that are gone."""

    owner: str
    _link: EngineLink
    _owned: frozenset[int] | None

    def reconcile(self, *, dry_run: bool = False) -> ReconcileReport:
        """Tell the truth about records whose process is gone: call it once when a program begins.

        A record that held a worker becomes LOST; one that never ran becomes CANCELLED, with the reason. Nothing is run
        again: what to run is not in the store. A record is orphaned when its owner is gone, never because it is old.
        That is looked up in this host's process table; records of other hosts are left alone.

        Args:
            dry_run: Only say what would be done.

        Returns:
            What became of every record that had not ended, of this controller's buckets.

        Example:
            >>> from chongming_task import Controller
            >>> with Controller() as controller:
            ...     controller.reconcile().lost
            ()
        """
        self._link.check_open()
        self._link.sync()
        orphans, watched = self._sorted()
        if not dry_run:
            self._take_over(orphans)
        return ReconcileReport(
            lost=tuple(task.task_id for task in orphans if task.live),
            cancelled=tuple(task.task_id for task in orphans if not task.live),
            untouched=tuple(task.task_id for task in watched),
        )

    def _sorted(self) -> tuple[list[TaskSnapshot], list[TaskSnapshot]]:
        now, mine = self._link.engine.clock.now(), self._link.engine.tasks
        orphans: list[TaskSnapshot] = []
        watched: list[TaskSnapshot] = []
        for task in self._link.store.query(TaskQuery(status=_OPEN)):
            if self._owned is not None and task.bucket is not None and task.bucket not in self._owned:
                continue
            (orphans if task.task_id not in mine and is_orphan(task, now) else watched).append(task)
        return orphans, watched

    def _take_over(self, orphans: list[TaskSnapshot]) -> None:
        """End them. One that somebody else ends in the same moment is left as it is then: the store sees to it."""
        engine = self._link.engine
        for task in orphans:
            reason = f"its process ({task.owner or 'unknown'}) is gone"
            live = LiveTask(task, Work(_gone), TaskPolicy(), stored_version=task.status_version)
            engine.adopt(live, Orphaned(self.owner, reason))
        self._link.sync()


def _gone() -> None:
    raise AssertionError("a record without its recipe is never run")
