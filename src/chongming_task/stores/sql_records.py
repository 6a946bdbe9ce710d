"""Records, trails, attempts and output in SQL tables, whatever the database."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from chongming_task.core.ports import Row, Touch, Write
from chongming_task.core.query import Scan, TaskQuery
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import ConcurrencyConflict, StoreError
from chongming_task.stores.arrow import rows_reversed
from chongming_task.stores.batch import Batch, batch_of
from chongming_task.stores.codec import (
    attempt_from,
    line_from,
    progress_text,
    task_from,
    to_json,
    to_micros,
    transition_from,
)
from chongming_task.stores.database import Database, Session
from chongming_task.stores.fence import Standing
from chongming_task.stores.sql_output import append_lines
from chongming_task.stores.sql_query import scan_of, tasks_of

__all__ = ["SqlRecords"]

_ENDED = sorted(status.value for status in TERMINAL)
_IDS_TOLD = 200  # with one change; a reader who is told none looks at everything


class SqlRecords:
    """The half of a store that keeps records.

    Args:
        database: Where the tables are.
    """

    durable = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def commit(self, writes: Sequence[Write]) -> Sequence[ConcurrencyConflict]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        if not writes:
            return []
        ids = sorted({write.snapshot.task_id for write in writes})

        def work(session: Session) -> Batch:
            session.serialize()
            stored = {task_id: Standing(version, owner) for task_id, version, owner in session.all("versions", ids=ids)}
            batch = batch_of(writes, stored)
            _store(session, batch)
            return batch

        return self._database.write(work, tell=lambda batch: _told([*batch.new, *batch.changed])).conflicts

    def touch(self, touches: Sequence[Touch]) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        if not touches:
            return
        ordered = sorted(touches, key=attrgetter("task_id"))  # all lock records in the same order
        rows = [_touch_row(touch) for touch in ordered]
        notes = [_note_row(touch, *touch.note) for touch in ordered if touch.note is not None]

        def work(session: Session) -> None:
            session.many("touch_task", rows)
            if notes:
                session.many("note_attempt", notes)

        self._database.write(work, tell=lambda _: _told([touch.task_id for touch in ordered]))

    def append_output(self, lines: Sequence[OutputLine], owner: str | None = None) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        if not lines:
            return
        ordered = sorted(lines, key=attrgetter("task_id"))  # stable: each record's lines stay in order
        by_task = {task_id: list(group) for task_id, group in groupby(ordered, attrgetter("task_id"))}
        self._database.write(lambda session: append_lines(session, by_task, owner), tell=lambda _: _told(list(by_task)))

    def output(self, task_id: str, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._database.read() as session:
            if limit is None:
                rows = session.all("output", task_id=task_id, after=after)
            else:
                rows = session.all("newest_output", task_id=task_id, after=after, limit=max(limit, 0))[::-1]
        return list(map(line_from, rows))

    def get(self, task_id: str) -> TaskSnapshot | None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._database.read() as session:
            rows = session.all("tasks", "with_id", task_id=task_id)
        return task_from(rows[0]) if rows else None

    def query(self, query: TaskQuery) -> list[TaskSnapshot]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        names, params = tasks_of(query)
        with self._database.read() as session:
            rows = session.all(*names, **params)
        if query.limit is not None:
            rows.reverse()
        return list(map(task_from, rows))

    def counts(self, pipeline_run_id: str | None = None) -> dict[TaskStatus, int]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._database.read() as session:
            if pipeline_run_id is None:
                rows = session.all("counts")
            else:
                rows = session.all("counts_of_run", run=pipeline_run_id)
        return {TaskStatus(status): int(count) for status, count in rows}

    def transitions(self, task_id: str, since_version: int = 0) -> list[Transition]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._database.read() as session:
            rows = session.all("transitions", task_id=task_id, after=since_version)
        return list(map(transition_from, rows))

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._database.read() as session:
            rows = session.all("attempts", task_id=task_id)
        return list(map(attempt_from, rows))

    def scan(self, *wanted: Scan) -> list[list[Row]]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        statements = [scan_of(*each) for each in wanted]
        found = self._database.read_all(lambda session: [session.all(*names, **params) for names, params in statements])
        for rows, each in zip(found, wanted, strict=True):
            if each.query.limit is not None:
                rows.reverse()
        return found

    def scan_arrow(self, *wanted: Scan) -> list[Any] | None:
        """What ``scan`` gives, as Arrow tables of the same columns; None when that cannot be done here and now."""
        tables = self._database.read_arrow([scan_of(*each) for each in wanted])
        if tables is None:
            return None
        return [
            table if each.query.limit is None else rows_reversed(table)
            for table, each in zip(tables, wanted, strict=True)
        ]

    def prune(self, keep_terminal: int) -> int:
        """See :class:`~chongming_task.core.ports.TaskStore`."""

        def work(session: Session) -> tuple[int, int]:
            session.serialize()
            excess = int(session.all("count_ended", status=_ENDED)[0][0]) - max(keep_terminal, 0)
            if excess > 0:
                _drop(session, [row[0] for row in session.all("oldest_ended", status=_ENDED, excess=excess)])
            return max(excess, 0), session.run("drop_commands_of_nothing")

        gone, _ = self._database.write(work, tell=lambda dropped: "" if any(dropped) else None)
        return gone

    def close(self) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        self._database.close()

    def __reduce__(self) -> str:
        raise StoreError("a store holds connections and cannot be sent to another process: open it there")


def _store(session: Session, batch: Batch) -> None:
    if batch.new:
        session.put("add_task", list(batch.new.values()))
    if batch.changed:
        session.put("change_task", list(batch.changed.values()))
    if batch.tags:
        session.put("add_tag", batch.tags)
    if batch.transitions:
        session.put("add_transition", batch.transitions)
    if batch.cleared:
        ids = sorted(batch.cleared)
        for table in ("attempts", "output", "output_sizes"):
            session.run(f"drop_{table}", ids=ids)
    if batch.attempts:
        session.put("put_attempt", list(batch.attempts.values()))
    for answer in batch.answers:
        session.run(
            "complete_command",
            id=answer.command_id,
            owner=answer.owner,
            now=to_micros(answer.at),
            outcome=to_json(answer.outcome),
        )


def _drop(session: Session, ids: list[str]) -> None:
    session.all("versions", ids=ids)  # locks them, in the order in which everybody does
    session.run("drop_tasks", ids=ids)  # first: the trail goes with its record only
    for table in ("transitions", "tags", "attempts", "output", "output_sizes"):
        session.run(f"drop_{table}", ids=ids)


def _touch_row(touch: Touch) -> tuple[Any, ...]:
    beat = None if touch.heartbeat_at is None else to_micros(touch.heartbeat_at)
    abandoned = None if touch.abandoned is None else int(touch.abandoned)
    return progress_text(touch.progress), beat, abandoned, touch.task_id, touch.owner


def _note_row(touch: Touch, attempt: int, note: str) -> tuple[Any, ...]:
    return note, touch.task_id, attempt, touch.owner


def _told(ids: list[str]) -> str | None:
    if not ids:
        return None
    return ",".join(ids) if len(ids) <= _IDS_TOLD else ""
