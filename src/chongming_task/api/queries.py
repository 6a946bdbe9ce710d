"""The questions of the facade: what there is, and how it stands. Part of :class:`~chongming_task.Controller`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from chongming_task.api.assembly import kept_of
from chongming_task.api.health import Health, health_of
from chongming_task.api.link import EngineLink
from chongming_task.api.naming import id_of
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import OPEN, TaskStatus
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.ready_queue import Limit, ReadyQueue

if TYPE_CHECKING:
    from datetime import datetime

    from chongming_task.api.handle import TaskHandle
    from chongming_task.core.events import Event

__all__ = ["Queries"]


class Queries:
    """The questions. They see everything this process has posted before.

    A record is meant by its id or by its handle. About an unknown id ``get`` raises UnknownTask; the lists are empty.
    """

    _link: EngineLink

    def get(self, task_id: str | TaskHandle[Any]) -> TaskSnapshot:
        """The record as it stands.

        Raises:
            UnknownTask: When there is none.
        """
        return self._link.snapshot(id_of(task_id))

    def list_tasks(
        self,
        *,
        status: TaskStatus | str | Iterable[TaskStatus | str] | None = None,
        tag: str | None = None,
        name_prefix: str | None = None,
        pipeline_run_id: str | None = None,
        limit: int | None = None,
    ) -> list[TaskSnapshot]:
        """The records that match, oldest first.

        Args:
            status: One status or several.
            tag: A tag they carry.
            name_prefix: How their names begin.
            pipeline_run_id: The run they belong to.
            limit: At most that many, the newest.
        """
        self._link.sync()
        query = TaskQuery.of(
            status=status, tag=tag, name_prefix=name_prefix, pipeline_run_id=pipeline_run_id, limit=limit
        )
        return self._link.store.query(query)

    def counts(self, *, pipeline_run_id: str | None = None) -> dict[TaskStatus, int]:
        """How many records are in each status; every status is a key."""
        self._link.sync()
        return dict.fromkeys(TaskStatus, 0) | self._link.store.counts(pipeline_run_id)

    def bucket_counts(self) -> dict[int, int]:
        """How many records that have not ended are in each bucket; buckets without any are left out."""
        self._link.sync()
        open_ones = self._link.store.query(TaskQuery(status=OPEN))
        return dict(sorted(Counter(task.bucket for task in open_ones if task.bucket is not None).items()))

    def prune(self, *, keep_terminal: int) -> int:
        """Drop the oldest ended records from the store, with their history.

        Args:
            keep_terminal: How many ended ones stay.

        Returns:
            How many went.
        """
        kept = kept_of(keep_terminal)
        self._link.sync()
        return self._link.store.prune(kept)

    def attempts(self, task_id: str | TaskHandle[Any]) -> list[AttemptRecord]:
        """The tries of a record, first to last."""
        self._link.sync()
        return self._link.store.attempts(id_of(task_id))

    def transitions(self, task_id: str | TaskHandle[Any], *, since_version: int = 0) -> list[Transition]:
        """The audit trail of a record after that version."""
        self._link.sync()
        return self._link.store.transitions(id_of(task_id), since_version)

    def output(self, task_id: str | TaskHandle[Any], *, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """What a record has printed and logged so far, over all its attempts, in order.

        The newest lines are kept, see ``core.output`` for how many. ``seq`` counts all that were written: where it
        jumps, lines were left out.

        Args:
            task_id: The record: its id or its handle.
            after: Only lines whose ``seq`` is above; give the last one seen to go on from there.
            limit: At most that many, the newest.

        Raises:
            ConfigurationError: For a negative number.
        """
        if after < 0 or (limit is not None and limit < 0):
            raise ConfigurationError(f"output takes numbers from 0: after={after!r}, limit={limit!r}")
        wanted = id_of(task_id)
        if not self._link.closed:
            self._link.engine.look_at_output(wanted)
            self._link.sync()
        return self._link.store.output(wanted, after, limit)

    def events(
        self,
        task_id: str | TaskHandle[Any],
        since: datetime | str | None = None,
        types: Iterable[type[Event]] | type[Event] = (),
    ) -> Iterator[Event]:
        """What has happened to a record so far, from the store: its changes, attempts, output and newest progress.

        The events are those that :meth:`watch` and :meth:`stream` tell, with the same ids: what was told twice is
        equal. Heartbeats, earlier progress and what the task emitted are not stored.

        Args:
            task_id: The record: its id or its handle.
            since: Only those at that time or later; or only those after the event with that id.
            types: Only of these classes, or of this one; default: all.

        Returns:
            An iterator, in the order in which they happened.

        Raises:
            UnknownTask: When there is no such record.
            ConfigurationError: For a ``since`` without a time zone, or an id that is not among the stored events.

        Example:
            >>> from chongming_task import Controller, TaskStatusChanged
            >>> with Controller() as controller:
            ...     handle = controller.submit(pow, 2, 3)
            ...     handle.wait()
            ...     [str(event.to_status) for event in controller.events(handle, types=[TaskStatusChanged])]
            <TaskStatus.SUCCEEDED: 'succeeded'>
            ['queued', 'starting', 'running', 'succeeded']
        """
        from chongming_task.api.event_filter import event_types  # a dozen classes that only listeners pay for
        from chongming_task.api.history_events import chosen, needs_output, rebuilt

        wanted = event_types(types)
        lines = self.output(task_id) if needs_output(wanted, since) else []
        task = self.get(task_id)
        history = rebuilt(task, self.transitions(task_id), self.attempts(task_id), lines)
        return iter(chosen(history, wanted, since))

    def abandoned(self) -> list[TaskSnapshot]:
        """Records with a worker that was given up and still runs in the background."""
        lives = list(self._link.engine.tasks.values())
        return [live.snapshot for live in lives if any(w.running for w in list(live.given_up.values()))]

    def waiting_for(self, task_id: str | TaskHandle[Any]) -> list[str]:
        """The full limits a queued record waits for, such as ``["tag db (4/4)"]``; empty when it waits its turn."""
        found: list[str] = []
        wanted = id_of(task_id)
        self._link.call(lambda: found.extend(_describe(self._link.engine.ready, wanted)))
        return found

    @property
    def persist_failures(self) -> list[str]:
        """What could not be stored at once, oldest first, also when it is over; :attr:`health` tells how it stands."""
        return list(self._link.engine.journal.failures)

    @property
    def desynced_tasks(self) -> list[str]:
        """Records that are not stored any more: somebody else wrote them, or the store refuses them.

        What the store refuses, while it takes others, is tried again every minute; ``persist_failures`` says why.
        """
        return list(self.health.desynced)

    @property
    def health(self) -> Health:
        """How the store does; never waits, neither for it nor for the engine.

        Example:
            >>> from chongming_task import Controller
            >>> with Controller() as controller:
            ...     controller.health.ok, controller.health.behind
            (True, 0)
        """
        return health_of(self._link.engine.journal, self._link.engine.clock, self._link.steward)


def _describe(ready: ReadyQueue, task_id: str) -> list[str]:
    found = []
    for key in ready.waits_for(task_id):
        used, size = ready.usage(key)
        kind, name = key.name if isinstance(key, Limit) else cast("tuple[str, object]", key)
        found.append(f"{kind} {name} ({used}/{size})")
    return found
