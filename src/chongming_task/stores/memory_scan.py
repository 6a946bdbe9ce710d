"""Rows of a memory store: what the SQL stores read from their tables, made of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from chongming_task.core.ports import Row
from chongming_task.core.query import Table, TaskQuery
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.stores.codec import attempt_row, line_row, task_row, transition_row

__all__ = ["Held", "scanned"]


class Held(NamedTuple):
    """What a store held at one moment."""

    tasks: Sequence[TaskSnapshot]
    attempts: Sequence[AttemptRecord]
    transitions: Sequence[Transition]
    output: Sequence[OutputLine]


class _Reading(NamedTuple):
    """How one table is read."""

    records: Callable[[Held], Iterable[Any]]
    moment: Callable[[Any], datetime]
    order: Callable[[Any], Any] | None  # None: they are in order
    row: Callable[[Any], Row]


_TABLES = {
    Table.ATTEMPTS: _Reading(
        lambda held: held.attempts,
        lambda attempt: attempt.started_at,
        lambda attempt: (attempt.started_at, attempt.task_id, attempt.attempt),
        attempt_row,
    ),
    Table.TRANSITIONS: _Reading(lambda held: held.transitions, lambda edge: edge.at, None, transition_row),
    Table.OUTPUT: _Reading(
        lambda held: held.output, lambda line: line.at, lambda line: (line.at, line.task_id, line.seq), line_row
    ),
}


def scanned(held: Held, table: Table, query: TaskQuery) -> list[Row]:
    """The rows of a table that match, oldest first."""
    if table is Table.TASKS:
        return list(map(task_row, _newest([task for task in held.tasks if query.matches(task)], query.limit)))
    records, moment, order, row = _TABLES[table]
    found = [record for record in records(held) if query.includes(moment(record))]
    if query.narrows:
        wanted = {task.task_id for task in held.tasks if query.matches_but_for_time(task)}
        found = [record for record in found if record.task_id in wanted]
    if order is not None:
        found.sort(key=order)
    return list(map(row, _newest(found, query.limit)))


def _newest(found: list[Any], limit: int | None) -> list[Any]:
    return found if limit is None else found[max(len(found) - limit, 0) :]
