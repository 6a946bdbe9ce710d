"""Pipeline runs, folded from the rows of their nodes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from chongming_task.core.ports import Row
from chongming_task.core.query import pipeline_of
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import AggregationPolicy, Standing, fold
from chongming_task.core.states import BROKEN, TERMINAL, TaskStatus
from chongming_task.stores.codec import task_from

__all__ = ["FIELDS", "run_rows"]

S = TaskStatus

FIELDS = (
    "pipeline_run_id",
    "pipeline",
    "status",
    "created_at",
    "started_at",
    "ended_at",
    "records",
    "succeeded",
    "failed",
    "ended_otherwise",
    "unfinished",
    "attempts",
    "first_failure",
    "why",
)
"""What a row of ``run_rows`` holds, in order; times in microseconds."""


def run_rows(rows: Iterable[Row]) -> list[Sequence[Any]]:
    """A row for each run, by the time of its first node.

    Args:
        rows: Rows of the table of tasks, oldest first; those that belong to no run are passed over.
    """
    runs: dict[str, list[Row]] = {}
    for row in rows:
        if row[_RUN] is not None:
            runs.setdefault(row[_RUN], []).append(row)
    return [_row(run_id, members) for run_id, members in runs.items()]


_RUN, _CREATED, _STARTED, _ENDED, _ATTEMPT = (
    TaskSnapshot._fields.index(name) for name in ("pipeline_run_id", "created_at", "started_at", "ended_at", "attempt")
)


def _row(run_id: str, rows: Sequence[Row]) -> Sequence[Any]:
    tasks = [task_from(row) for row in rows]
    standing = _standing(tasks)
    status = fold(AggregationPolicy.all_settled, standing)
    broken = [task for task in tasks if task.status in BROKEN]
    first = min(broken, key=lambda task: (task.ended_at or task.created_at, task.task_id), default=None)
    ended = sum(standing.counts.get(each, 0) for each in TERMINAL)
    good, bad = standing.counts.get(S.SUCCEEDED, 0), len(broken)
    starts = [row[_STARTED] for row in rows if row[_STARTED] is not None]
    ends = [row[_ENDED] for row in rows if row[_ENDED] is not None]
    return (
        run_id,
        pipeline_of(run_id),
        status.value,
        min(row[_CREATED] for row in rows),
        min(starts, default=None),
        max(ends, default=None) if status.is_terminal else None,
        len(rows),
        good,
        bad,
        ended - good - bad,
        len(rows) - ended,
        sum(row[_ATTEMPT] for row in rows),
        None if first is None else first.node or first.name,
        None if first is None or first.failure is None else first.failure.message,
    )


def _standing(tasks: Sequence[TaskSnapshot]) -> Standing:
    """As far as the records tell: what policy a run has, and what it was asked as a whole, is not stored."""
    counts = Counter(task.status for task in tasks)
    awaited = {upstream for task in tasks for upstream in task.depends_on}
    sinks = [task for task in tasks if task.task_id not in awaited]
    return Standing(
        counts,
        len(tasks),
        len(sinks),
        sum(task.status is S.SUCCEEDED for task in sinks),
        sum(task.status in TERMINAL for task in sinks),
        paused=counts[S.PAUSED] > 0,
        asked=next((task.requested_action for task in tasks if task.status is S.STOPPING), None),
        failed=any(counts[status] for status in BROKEN),
    )
