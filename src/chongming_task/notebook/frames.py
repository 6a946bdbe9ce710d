"""Snapshots as a pandas frame with proper dtypes: an ordered status, UTC times, durations, nullable integers.

``COLUMNS`` is the whole table: name, dtype and meaning of every column. The documentation prints it, the frame is built
from it, and an empty input gives the same columns with the same dtypes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.notebook.extra import require

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = require("pandas", "A frame of tasks")

__all__ = ["COLUMNS", "Column", "snapshots_to_frame"]

TEXT = "string"
WHOLE = "Int64"
NUMBER = "Float64"
FLAG = "boolean"
TIME = "datetime64[us, UTC]"
SPAN = "timedelta64[us]"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the frame of tasks."""

    name: str
    dtype: str | pd.CategoricalDtype
    meaning: str
    read: Callable[[TaskSnapshot], Any]  # None where the snapshot has no value


def _field(name: str, dtype: str | pd.CategoricalDtype, meaning: str) -> Column:
    return Column(name, dtype, meaning, lambda task: getattr(task, name))


def _progress(name: str, dtype: str, meaning: str) -> Column:
    empty = Progress()
    return Column(f"progress_{name}", dtype, meaning, lambda task: getattr(task.progress or empty, name))


def _failure(name: str, dtype: str | pd.CategoricalDtype, meaning: str, column: str = "") -> Column:
    def read(task: TaskSnapshot) -> Any:
        failure: Failure | None = task.failure
        return None if failure is None else getattr(failure, name)

    return Column(column or f"failure_{name}", dtype, meaning, read)


def _json(name: str, meaning: str) -> Column:
    def read(task: TaskSnapshot) -> str | None:
        value = getattr(task, name)
        return None if value is None else json.dumps(value, ensure_ascii=False)

    return Column(name, TEXT, meaning, read)


def _between(start: datetime | None, end: datetime | None) -> timedelta | None:
    return None if start is None or end is None else end - start


STATUS = pd.CategoricalDtype([status.value for status in TaskStatus], ordered=True)
ASKED = pd.CategoricalDtype([action.value for action in RequestedAction])
FAILURE_KIND = pd.CategoricalDtype([kind.value for kind in FailureKind])

COLUMNS: tuple[Column, ...] = (
    _field("task_id", TEXT, "the record's id; ids sort by time of submission"),
    _field("name", TEXT, "the task's name"),
    _field("spec_name", TEXT, "the registered task it was made from"),
    _field("pipeline_run_id", TEXT, "the run it belongs to"),
    _field("node", TEXT, "its name in the pipeline"),
    Column("tags", TEXT, "its tags, sorted, with commas between", lambda task: ", ".join(sorted(task.tags))),
    Column("depends_on", TEXT, "ids of its upstream records", lambda task: ", ".join(task.depends_on)),
    _field("status", STATUS, "where it is in its life, in the order of TaskStatus"),
    _field("requested_action", ASKED, "what somebody wants it to become"),
    _field("attempt", WHOLE, "its current or last attempt; 0 before the first"),
    _field("max_attempts", WHOLE, "how many attempts it may take"),
    _field("created_at", TIME, "when it was submitted"),
    _field("queued_at", TIME, "when it became ready to run"),
    _field("started_at", TIME, "when its current or last attempt started"),
    _field("ended_at", TIME, "when it ended"),
    _field("retry_at", TIME, "when its back-off ends"),
    Column("waited", SPAN, "from queued to started", lambda task: _between(task.queued_at, task.started_at)),
    Column("duration", SPAN, "from started to ended", lambda task: _between(task.started_at, task.ended_at)),
    _progress("done", NUMBER, "how far it has come, in its own unit"),
    _progress("total", NUMBER, "how far it has to go"),
    _progress("unit", TEXT, "that unit"),
    _progress("message", TEXT, "what it says of its progress"),
    _progress("updated_at", TIME, "when it last said so"),
    _failure("kind", FAILURE_KIND, "what sort of failure it was"),
    _failure("message", TEXT, "what went wrong"),
    _failure("exception_type", TEXT, "the exception's module and name", column="exception_type"),
    _failure("exit_code", WHOLE, "its process's exit code; negative: the signal that killed it", column="exit_code"),
    _failure("retryable", FLAG, "whether the retry policy may answer the failure", column="retryable"),
    _field("priority", WHOLE, "higher runs first"),
    _field("bucket", WHOLE, "the bucket it belongs to"),
    _field("bucket_key", TEXT, "what its bucket was computed from"),
    _field("executor", TEXT, "what runs it"),
    _field("owner", TEXT, "the controller process that watches it"),
    _field("pid", WHOLE, "its process, when it has one of its own"),
    _field("last_heartbeat_at", TIME, "when its worker was last heard"),
    _field("live", FLAG, "an attempt of it holds a worker"),
    _field("abandoned", FLAG, "a worker was given up and may still run"),
    _field("overridden", FLAG, "its status was set by hand"),
    _field("status_version", WHOLE, "how many transitions it has made"),
    _json("inputs", "the stored arguments of a restartable task, as JSON"),
    _json("outcome", "what it returned, as JSON"),
)
"""Every column of the frame of tasks, in order."""


def snapshots_to_frame(tasks: Sequence[TaskSnapshot]) -> pd.DataFrame:
    """The tasks as a frame, one row a task, in the order given.

    Args:
        tasks: Any snapshots; an empty sequence gives an empty frame with the same columns and dtypes.

    Example:
        >>> frame = snapshots_to_frame(controller.list_tasks())  # doctest: +SKIP
        >>> frame[frame["status"] == "failed"].groupby("name")["duration"].median()  # doctest: +SKIP
    """
    return pd.DataFrame({c.name: pd.Series([c.read(task) for task in tasks], dtype=c.dtype) for c in COLUMNS})
