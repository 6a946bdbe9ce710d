"""How long attempts took, by what their tasks have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chongming_task.errors import ConfigurationError
from chongming_task.extras import require
from chongming_task.history.columns import DURATIONS, TASKS
from chongming_task.history.frames import dtype_of

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = require("pandas", "A frame of the history", "notebook")

__all__ = ["durations_by", "group_columns"]

_OF_TASKS = frozenset(column.name for column in TASKS)
_OF_RUNS = "pipeline"
_TAG = "tag"


def group_columns(by: str | Sequence[str]) -> list[str]:
    """What to group by, as a list.

    Raises:
        ConfigurationError: When there is nothing of that name, or nothing at all.
    """
    wanted = [by] if isinstance(by, str) else list(by)
    unknown = [name for name in wanted if name not in _OF_TASKS | {_OF_RUNS, _TAG}]
    if unknown or not wanted:
        named = f"got {unknown[0]!r}" if unknown else "got nothing"
        raise ConfigurationError(
            "durations(by=...) takes 'tag', 'pipeline' or a column of tasks(), such as 'name' or 'node', or several;"
            f" {named}"
        )
    return wanted


def durations_by(tasks: pd.DataFrame, attempts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The frame of durations, the largest total first.

    Args:
        tasks: The frame of tasks.
        attempts: The frame of their attempts.
        by: See ``group_columns``.
    """
    keys = pd.DataFrame({name: _key(tasks, name) for name in by}).assign(task_id=tasks["task_id"])
    if _TAG in by:
        keys = keys.explode(_TAG).astype({_TAG: "string"})
    work = pd.DataFrame(
        {
            "_task": attempts["task_id"],
            "_work": attempts["duration"] - attempts["paused"],
            "_failed": attempts["status"] != "succeeded",
        }
    )
    known = work[attempts["ended_at"].notna() & work["_work"].notna()]
    found = keys.merge(known, left_on="task_id", right_on="_task")
    grouped = found.groupby(list(by), observed=True, dropna=False, sort=True)
    spans = grouped["_work"]
    result = pd.DataFrame(
        {
            "attempts": spans.size(),
            "failed": grouped["_failed"].sum(),
            "total": spans.sum(),
            "mean": spans.mean(),
            "min": spans.min(),
            "median": spans.median(),
            "p95": spans.quantile(0.95),
            "max": spans.max(),
        }
    ).reset_index()
    typed = result.astype({column.name: dtype_of(column.dtype) for column in DURATIONS})
    return typed.sort_values("total", ascending=False, kind="stable", ignore_index=True)


def _key(tasks: pd.DataFrame, name: str) -> pd.Series:
    if name == _OF_RUNS:
        return tasks["pipeline_run_id"].str.rpartition(":")[0].astype("string")
    if name == _TAG:
        return tasks["tags"].str.split(", ")
    return tasks[name]
