"""The questions about records that a store answers, whoever asks: what there is, and how it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from chongming_task.api.naming import id_of
from chongming_task.core.ports import TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, Command, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import OPEN, TaskStatus
from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from datetime import datetime

    from chongming_task.api.handle import TaskHandle
    from chongming_task.core.events import Event

__all__ = ["Reading", "ReadingLink"]


class ReadingLink(Protocol):
    """The way to the records."""

    closed: bool

    @property
    def store(self) -> TaskStore:
        """Where they are kept."""
        ...

    def snapshot(self, task_id: str) -> TaskSnapshot:
        """The record as it stands.

        Raises:
            UnknownTask: When there is none.
        """
        ...

    def sync(self) -> None:
        """Wait until the store holds everything that this process has posted before."""
        ...


class Reading:
    """The questions. They see everything this process has posted before.

    A record is meant by its id or by its handle. About an unknown id ``get`` raises UnknownTask; the lists are empty.
    """

    _link: ReadingLink

    def _found(self, query: TaskQuery) -> list[TaskSnapshot]:
        return self._link.store.query(query)

    def _counted(self, pipeline_run_id: str | None) -> dict[TaskStatus, int]:
        return self._link.store.counts(pipeline_run_id)

    def _look_at_output(self, task_id: str) -> None:
        """Let the store hold what a record has written by now."""

    @property
    def closed(self) -> bool:
        """Whether it was closed. What is held in memory can still be asked for."""
        return self._link.closed

    def get(self, task_id: str | TaskHandle[Any]) -> TaskSnapshot:
        """The record as it stands.

        Args:
            task_id: The record: its id or its handle.

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
        return self._found(query)

    def counts(self, *, pipeline_run_id: str | None = None) -> dict[TaskStatus, int]:
        """How many records are in each status; every status is a key.

        Args:
            pipeline_run_id: Only of this run.
        """
        self._link.sync()
        return dict.fromkeys(TaskStatus, 0) | self._counted(pipeline_run_id)

    def bucket_counts(self) -> dict[int, int]:
        """How many records that have not ended are in each bucket; buckets without any are left out."""
        self._link.sync()
        open_ones = self._found(TaskQuery(status=OPEN))
        return dict(sorted(Counter(task.bucket for task in open_ones if task.bucket is not None).items()))

    def attempts(self, task_id: str | TaskHandle[Any]) -> list[AttemptRecord]:
        """The tries of a record, first to last.

        Args:
            task_id: The record: its id or its handle.
        """
        self._link.sync()
        return self._link.store.attempts(id_of(task_id))

    def transitions(self, task_id: str | TaskHandle[Any], *, since_version: int = 0) -> list[Transition]:
        """The audit trail of a record after that version.

        Args:
            task_id: The record: its id or its handle.
            since_version: Only what came after this ``status_version``.
        """
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
        self._look_at_output(wanted)
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

    def commands(self, task_id: str | TaskHandle[Any]) -> list[Command]:
        """What controllers have asked of a record that another one watched, oldest first, with the outcomes.

        ``outcome`` is None until the other has answered; then ``{"ok": True, "acted": ..., "status": ...}``, or
        ``{"ok": False, "error": ..., "message": ...}`` with what it was refused with.

        Args:
            task_id: The record: its id or its handle.
        """
        self._link.sync()
        return self._link.store.commands(id_of(task_id))
