"""What a store remembers, as pandas frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from chongming_task.core.ports import TaskStore
from chongming_task.core.query import Scan, Table, TaskQuery
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError
from chongming_task.history.columns import ATTEMPTS, MOMENT, OUTPUT, RUNS, TASKS, TRANSITIONS, Column
from chongming_task.history.durations import durations_by, group_columns
from chongming_task.history.frames import FIELDS, frame_of, values_of
from chongming_task.history.moment import FIELDS as MOMENT_FIELDS
from chongming_task.history.moment import Life
from chongming_task.history.reading import read
from chongming_task.history.runs import FIELDS as RUN_FIELDS
from chongming_task.history.runs import run_rows
from chongming_task.stores.open import open_store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Filters", "History"]

_MICROSECOND = timedelta(microseconds=1)


class Filters(TypedDict, total=False):
    """Which records a frame is about, and which rows it shows. All that are given must hold.

    Example:
        >>> from chongming_task import Controller
        >>> filters: Filters = {"status": "failed", "limit": 100}
        >>> with Controller() as controller:
        ...     len(controller.history.tasks(**filters))
        0
    """

    status: TaskStatus | str | Iterable[TaskStatus | str]  # of the record, as it stands: one or several
    tag: str  # one that the record carries
    name: str  # the record's name
    name_prefix: str  # how the name begins
    pipeline: str  # the name of the pipeline whose runs it belongs to
    pipeline_run_id: str  # the run it belongs to
    bucket: int | Iterable[int]  # the bucket it belongs to, or several
    task_id: str | Iterable[str]  # the record, or several
    since: datetime  # rows of then or later; aware
    until: datetime  # rows from before then; aware
    limit: int  # at most so many rows, the newest


class History:
    """Everything a store remembers, as pandas frames with proper dtypes.

    ``controller.history`` is that of a controller; ``History.open("runs.db")`` only looks, also while others write.
    Every method reads anew, what it needs and no more: the store filters, see :class:`Filters` for what by. ``since``,
    ``until`` and ``limit`` are about the rows of the frame: when a task was submitted, when an attempt started, when a
    status changed, when a line was written. No writer waits for a reader.

    The columns are listed in ``docs/history.md``. An empty frame has the same.

    Args:
        store: Where the records are.
        refresh: Called before every look.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     handle.wait(timeout=10)
        ...     history = controller.history
        ...     history.tasks(status="succeeded")[["name", "attempt"]].values.tolist()
        ...     history.transitions()["to_status"].tolist()
        <TaskStatus.SUCCEEDED: 'succeeded'>
        [['pow', 1]]
        ['queued', 'starting', 'running', 'succeeded']
    """

    def __init__(self, store: TaskStore, *, refresh: Callable[[], None] | None = None) -> None:
        self._store = store
        self._refresh = refresh or (lambda: None)
        self._is_ours = False  # to close

    @classmethod
    def open(cls, where: str | os.PathLike[str]) -> Self:
        """The history in a file or on a server, read-only; close it, or use it in a ``with`` statement.

        Args:
            where: A path, for SQLite, or ``"postgresql://..."``.

        Raises:
            ConfigurationError: For anything else.
            StoreError: When it cannot be opened, or holds no records yet.
        """
        if not isinstance(where, str | os.PathLike):
            raise ConfigurationError(
                f"History.open takes a path or a DSN, got {where!r:.100}; for a store: History(store)"
            )
        history = cls(open_store(where, read_only=True))
        history._is_ours = True
        return history

    def close(self) -> None:
        """Let go of the file or the server, when this was made by :meth:`open`. Idempotent."""
        if self._is_ours:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # what is stored

    def tasks(self, **filters: Unpack[Filters]) -> pd.DataFrame:
        """The tasks as they stand, oldest first.

        Args:
            filters: See :class:`Filters`.

        Raises:
            ConfigurationError: For a status that does not exist, or a time without a time zone.
        """
        return self._table(Table.TASKS, TASKS, filters)

    def attempts(self, **filters: Unpack[Filters]) -> pd.DataFrame:
        """Their tries since the last reset, by the time of their start.

        Args:
            filters: See :class:`Filters`.
        """
        return self._table(Table.ATTEMPTS, ATTEMPTS, filters)

    def transitions(self, **filters: Unpack[Filters]) -> pd.DataFrame:
        """The audit trails of all of them as one, in the order in which it was written.

        Args:
            filters: See :class:`Filters`.
        """
        return self._table(Table.TRANSITIONS, TRANSITIONS, filters)

    def output(self, **filters: Unpack[Filters]) -> pd.DataFrame:
        """What they printed and logged, by time; the newest lines of each are kept.

        Args:
            filters: See :class:`Filters`.
        """
        return self._table(Table.OUTPUT, OUTPUT, filters)

    def _table(self, table: Table, columns: Sequence[Column], filters: Filters) -> pd.DataFrame:
        query = _query(**filters)
        self._refresh()
        (values,) = read(self._store, Scan(table, query))
        return frame_of(columns, values)

    # what follows from it

    def durations(self, by: str | Sequence[str] = "name", **filters: Unpack[Filters]) -> pd.DataFrame:
        """How long attempts took, pauses left out; the largest total first.

        Args:
            by: A column of :meth:`tasks`, or several; or ``"tag"``, where a task counts for each of its tags, or
                ``"pipeline"``.
            **filters: See :class:`Filters`; the times are those of attempts.

        Raises:
            ConfigurationError: For something that there is not.
        """
        wanted = group_columns(by)
        query = _query(**filters)
        self._refresh()
        about = replace(query, since=None, until=None, limit=None)
        tasks, attempts = read(self._store, Scan(Table.TASKS, about), Scan(Table.ATTEMPTS, query))
        return durations_by(frame_of(TASKS, tasks), frame_of(ATTEMPTS, attempts), wanted)

    def at(self, time: datetime, **filters: Unpack[Filters]) -> pd.DataFrame:
        """The tasks as they stood at that moment, rebuilt from the audit trail, oldest first.

        Columns that a trail cannot tell are left out: progress, failure, outcome and others; see ``docs/history.md``.
        Records that have been pruned since are not there. Where the clock was set back, the newest change that bears an
        earlier time counts.

        Args:
            time: The moment, aware; what happened in that very microsecond is included.
            **filters: See :class:`Filters`; ``status`` is the one they had then, ``since`` and ``until`` are about when
                they were submitted.

        Raises:
            ConfigurationError: For a time without a time zone.
        """
        query = _query(**filters)
        then = _just_after(time)
        self._refresh()
        about = replace(query, status=None, limit=None, until=min(then, query.until or then))
        edges = replace(about, since=None, until=then)
        tasks, trail = self._store.scan(Scan(Table.TASKS, about), Scan(Table.TRANSITIONS, edges))
        lives = {row[0]: Life() for row in tasks}
        for edge in trail:
            life = lives.get(edge[0])
            if life is not None:
                life.take(edge)
        if query.status is not None:
            tasks = [row for row in tasks if lives[row[0]].status in query.status]
        if query.limit is not None:
            tasks = tasks[max(len(tasks) - query.limit, 0) :]
        values = values_of(tasks, FIELDS["tasks"])
        told = values_of([lives[row[0]].row() for row in tasks], MOMENT_FIELDS)
        return frame_of(MOMENT, values | told)

    def runs(
        self,
        *,
        status: PipelineRunStatus | str | Iterable[PipelineRunStatus | str] | None = None,
        pipeline: str | None = None,
        pipeline_run_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """The runs of pipelines, oldest first, folded from their nodes.

        A run's policy is not stored: one that a quorum has decided is shown by its nodes, as failed.

        Args:
            status: One status or several.
            pipeline: The pipeline's name.
            pipeline_run_id: The run.
            since: Submitted then or later.
            until: Submitted before then.
            limit: At most so many, the newest.

        Raises:
            ConfigurationError: For a status that does not exist, or a time without a time zone.
        """
        wanted = None if status is None else _run_statuses(status)
        window = TaskQuery.of(since=since, until=until, limit=limit)
        self._refresh()
        about = TaskQuery(pipeline=pipeline, pipeline_run_id=pipeline_run_id, in_run=True)
        (rows,) = self._store.scan(Scan(Table.TASKS, about))
        frame = frame_of(RUNS, values_of(run_rows(rows), RUN_FIELDS))
        if wanted is not None:
            frame = frame[frame["status"].isin(wanted)]
        if window.since is not None:
            frame = frame[frame["created_at"] >= window.since]
        if window.until is not None:
            frame = frame[frame["created_at"] < window.until]
        if window.limit is not None:
            frame = frame.tail(window.limit)
        return frame.reset_index(drop=True)

    def __repr__(self) -> str:
        return f"<History in {self._store!r}>"


def _query(
    *, bucket: int | Iterable[int] | None = None, task_id: str | Iterable[str] | None = None, **rest: Any
) -> TaskQuery:
    buckets = None if bucket is None else frozenset([bucket] if isinstance(bucket, int) else bucket)
    ids = None if task_id is None else frozenset([task_id] if isinstance(task_id, str) else task_id)
    try:
        return TaskQuery.of(buckets=buckets, task_ids=ids, **rest)
    except TypeError:
        known = ", ".join(Filters.__annotations__)
        wrong = next((name for name in rest if name not in Filters.__annotations__), "")
        raise ConfigurationError(f"{wrong!r} is no filter; there are {known}") from None


def _just_after(time: Any) -> datetime:
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise ConfigurationError(f"at takes a datetime with a time zone, such as datetime.now(UTC), got {time!r}")
    return time + _MICROSECOND


def _run_statuses(status: PipelineRunStatus | str | Iterable[PipelineRunStatus | str]) -> list[str]:
    named = [status] if isinstance(status, str) else list(status)
    try:
        return [PipelineRunStatus(name).value for name in named]
    except ValueError:
        known = ", ".join(each.value for each in PipelineRunStatus)
        raise ConfigurationError(f"{status!r} is no status of a run; there are {known}") from None
