"""After a crash: finds records that nobody watches any more, and says of each what is true. Part of
:class:`~chongming_task.Controller`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

from chongming_task.api.buckets import Buckets
from chongming_task.api.elsewhere import Elsewhere
from chongming_task.api.link import EngineLink
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import OPEN, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Trigger
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.live import NoWork

__all__ = ["BucketAudit", "ReconcileReport", "Recovery"]

S = TaskStatus
OnOrphan = Literal["mark", "requeue"]


class ReconcileReport(NamedTuple):
    """What a reconciliation found, by id. Every record that had not ended is in exactly one of them.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     controller.reconcile()
        ReconcileReport(lost=(), cancelled=(), requeued=(), adopted=(), untouched=())
    """

    lost: tuple[str, ...] = ()  # they held a worker when their process died: what they did is unknown
    cancelled: tuple[str, ...] = ()  # they never ran, and cannot run here
    requeued: tuple[str, ...] = ()  # they were lost as well, and run again here
    adopted: tuple[str, ...] = ()  # they never ran, and run here when their turn comes
    untouched: tuple[str, ...] = ()  # somebody watches them


class BucketAudit(NamedTuple):
    """How a deployment's controllers divide the buckets."""

    owners: Mapping[str, tuple[int, ...]]  # the living ones that own some, and which
    holes: tuple[int, ...] = ()  # nobody takes these: what falls into them is refused everywhere
    overlaps: Mapping[int, tuple[str, ...]] = MappingProxyType({})  # several want these; one holds each
    stranded: Mapping[int, int] = MappingProxyType({})  # open records in holes


class Fate(StrEnum):
    """What becomes of a record that nobody watches."""

    LOST = "lost"
    CANCELLED = "cancelled"
    REQUEUED = "requeued"
    ADOPTED = "adopted"


def fate_of(task: TaskSnapshot, *, runnable: bool, requeue: bool) -> Fate:
    """What becomes of an orphan.

    Args:
        task: The record; it has not ended.
        runnable: Whether this process knows what to run.
        requeue: Whether lost ones are to run again.
    """
    if not task.holds_worker:
        return Fate.ADOPTED if runnable else Fate.CANCELLED
    unwanted = task.requested_action in (RequestedAction.STOP, RequestedAction.CANCEL)
    return Fate.REQUEUED if runnable and requeue and not unwanted else Fate.LOST


class Recovery:
    """What a controller does about records of controllers that are gone."""

    owner: str
    _link: EngineLink
    _elsewhere: Elsewhere
    _buckets: Buckets

    def reconcile(self, *, on_orphan: OnOrphan = "mark", dry_run: bool = False) -> ReconcileReport:
        """Tell the truth about records whose controller is gone: call it once when a program begins.

        A record that held a worker becomes LOST: what it did is unknown. One that never ran is taken over and runs
        here, when it was submitted as restartable and its task is registered here; else it becomes CANCELLED, with the
        reason. A record is orphaned when its owner is gone, never because it is old: that is looked up in this
        machine's process table, and of owners on other machines by their lease.

        Args:
            on_orphan: ``"mark"`` leaves it at that; ``"requeue"`` also runs those again that are lost and restartable,
                with one more attempt where all are used. One that was being stopped is not run again, and one that was
                paused is paused.
            dry_run: Only say what would be done.

        Returns:
            What became of every record that had not ended, of this controller's buckets.

        Raises:
            ConfigurationError: For an unknown ``on_orphan``.
            StoreError: When the store cannot be asked; nothing is half done, call it again.

        Example:
            >>> from chongming_task import Controller
            >>> with Controller() as controller:
            ...     controller.reconcile().lost
            ()
        """
        if on_orphan not in ("mark", "requeue"):
            raise ConfigurationError(f'on_orphan must be "mark" or "requeue", got {on_orphan!r:.100}')
        self._link.check_open()
        self._link.sync()
        orphans, watched = self._sorted()
        found: dict[Fate, list[str]] = {fate: [] for fate in Fate}
        before = {task.task_id: task for task in orphans}
        with self._elsewhere.taking:  # what is asked of them meanwhile waits until they are here
            lives = [self._elsewhere.live(task) for task in orphans] if dry_run else self._elsewhere.take_over(orphans)
            for live in lives:
                task = before.pop(live.snapshot.task_id)
                fate = fate_of(task, runnable=not isinstance(live.work, NoWork), requeue=on_orphan == "requeue")
                found[fate].append(task.task_id)
                if not dry_run:
                    self._link.engine.transfers.adopt(live, self._triggers(task, fate))
        self._link.sync()
        if not dry_run:
            self._elsewhere.bury()
        untouched = (*watched, *before)  # of the latter somebody else was quicker
        return ReconcileReport(untouched=untouched, **{fate.value: tuple(ids) for fate, ids in found.items()})

    def _sorted(self) -> tuple[list[TaskSnapshot], list[str]]:
        """The records nobody watches, and the ids of the others."""
        open_ones = self._link.store.query(TaskQuery(status=OPEN))
        watchers, mine, owned = self._elsewhere.watchers(), self._link.engine.tasks, self._buckets.owned
        orphans: list[TaskSnapshot] = []
        watched: list[str] = []
        for task in open_ones:
            if owned is not None and task.bucket is not None and task.bucket not in owned:
                continue
            if task.task_id in mine or (task.owner != self.owner and watchers.watch(task)):
                watched.append(task.task_id)
            else:
                orphans.append(task)
        return orphans, watched

    def _triggers(self, task: TaskSnapshot, fate: Fate) -> list[Trigger]:
        """What brings a record to its fate, step by step."""
        if fate is Fate.ADOPTED:
            return []
        steps: list[Trigger] = [self._elsewhere.orphaned(task)]
        if fate is Fate.REQUEUED:
            steps.append(Asked(Verb.RETRY, self.owner, "lost with its process, and restartable", force=True))
            if task.status in (S.PAUSED, S.PAUSING):
                steps.append(Asked(Verb.PAUSE, self.owner, "it was paused before"))
        return steps

    def audit_buckets(self) -> BucketAudit:
        """Which buckets nobody takes, and which several controllers take: what a deployment should look at regularly.

        Only controllers that were made with ``owned_buckets`` divide them; as long as there is none, nothing is wrong.

        Example:
            >>> from chongming_task import Controller, MemoryTaskStore
            >>> with Controller(MemoryTaskStore(), owned_buckets=range(0, 60)) as controller:
            ...     controller.audit_buckets().holes
            (60, 61, 62, 63)
        """
        self._link.sync()
        living = self._elsewhere.watchers().living.values()
        owners = {lease.owner: lease.buckets for lease in living if lease.buckets is not None}
        takers: dict[int, list[str]] = {
            bucket: [] for bucket in range(self._buckets.policy.num_buckets if owners else 0)
        }
        for owner, buckets in sorted(owners.items()):
            for bucket in buckets:
                takers.setdefault(bucket, []).append(owner)
        waiting = Counter(
            task.bucket
            for task in self._link.store.query(TaskQuery(status=OPEN))
            if task.bucket is not None and not takers.get(task.bucket, True)
        )
        return BucketAudit(
            owners,
            holes=tuple(bucket for bucket, found in takers.items() if not found),
            overlaps={bucket: tuple(found) for bucket, found in takers.items() if len(found) > 1},
            stranded=dict(sorted(waiting.items())),
        )
