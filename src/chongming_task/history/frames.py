"""Rows of a store as pandas frames with proper dtypes: ordered statuses, UTC times, durations, nullable integers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chongming_task.core.ports import Row
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.extras import require
from chongming_task.history.columns import TABLES, TASKS, Category, Column, Kind, Shape
from chongming_task.history.values import NOTHING, ListValues, Values, json_parts
from chongming_task.stores.codec import task_row

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
else:
    pd = require("pandas", "A frame of the history", "notebook")
    np = require("numpy", "A frame of the history", "notebook")

__all__ = ["FIELDS", "dtype_of", "frame_of", "read_parquet", "snapshots_to_frame", "values_of"]

FIELDS = {
    "tasks": TaskSnapshot._fields,
    "attempts": AttemptRecord._fields,
    "transitions": Transition._fields,
    "output": OutputLine._fields,
}
"""What stands where in a row of each table of a store."""

_PARTS = {
    "progress": ("done", "total", "unit", "message", "updated_at"),
    "failure": ("kind", "message", "traceback", "exception_type", "retryable", "exit_code"),
}  # of what is stored as JSON


def snapshots_to_frame(tasks: Sequence[TaskSnapshot]) -> pd.DataFrame:
    """The tasks as a frame, one row a task, in the order given; ``docs/history.md`` tells what each column holds.

    Args:
        tasks: Any snapshots; an empty sequence gives an empty frame with the same columns and dtypes.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     controller.submit(pow, 2, 10).wait(timeout=10)
        ...     frame = snapshots_to_frame(controller.list_tasks())
        ...     frame[["name", "attempt", "outcome"]].values.tolist()
        <TaskStatus.SUCCEEDED: 'succeeded'>
        [['pow', 1, '1024']]
    """
    return frame_of(TASKS, values_of([task_row(task) for task in tasks], FIELDS["tasks"]))


def values_of(rows: Sequence[Row], fields: Sequence[str]) -> dict[str, Values]:
    """The columns of rows, by field."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(fields)
    return {field: ListValues(column) for field, column in zip(fields, columns, strict=True)}


def frame_of(columns: Sequence[Column], values: Mapping[str, Values]) -> pd.DataFrame:
    """A frame with these columns.

    Args:
        columns: What it shall hold.
        values: What the rows hold, by field.
    """
    parts: dict[str, tuple[Any, dict[str, ListValues]]] = {}
    arrays: dict[str, Any] = {}
    for column in columns:
        field, _, part = column.source.partition(".")
        if not field:
            arrays[column.name] = None  # keeps its place
        elif part:
            if field not in parts:
                parts[field] = json_parts(values[field], _PARTS[field])
            where, found = parts[field]
            arrays[column.name] = _spread(_array(column.dtype, found[part]), where, len(values[field]))
        else:
            arrays[column.name] = _array(column.dtype, _shaped(values[field], column.shape), column.shape)
    for name in _COMPUTED.keys() & arrays.keys():
        arrays[name] = _between(arrays, *_COMPUTED[name])
    return pd.DataFrame(arrays, copy=False)


_COMPUTED = {"waited": ("queued_at", "started_at"), "duration": ("started_at", "ended_at")}


def _between(arrays: Mapping[str, Any], start: str, end: str) -> Any:
    """From one time to the other; nothing where one is missing, or it started before it was queued again."""
    begun, ended = (np.asarray(pd.DatetimeIndex(arrays[name]).tz_localize(None)) for name in (start, end))
    span = ended - begun
    if end == "started_at":
        span[span < np.timedelta64(0, "us")] = np.timedelta64("NaT", "us")
    return pd.array(span, dtype=Kind.SPAN.value)


def _shaped(values: Values, shape: Shape) -> Values:
    if shape is Shape.NAMES:
        return values.mapped(lambda text: ", ".join(json.loads(text)), missing="")
    if shape is Shape.JSON:
        return values.mended("\\u", _readable)
    return values


def _readable(text: str) -> str:
    """JSON with its letters as letters; what no text can hold stays escaped."""
    plain = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return plain if _is_text(plain) else text


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True


def read_parquet(path: str | os.PathLike[str]) -> pd.DataFrame:
    """A frame of a history that ``frame.to_parquet(path)`` has kept, with its dtypes.

    Parquet keeps the words of a category only where one occurs; here they come back as well. Needs the extra
    ``parquet``.

    Args:
        path: The file.

    Example:
        >>> import tempfile
        >>> from chongming_task import Controller
        >>> with tempfile.TemporaryDirectory() as folder, Controller() as controller:
        ...     _ = controller.submit(pow, 2, 10).wait(timeout=10)
        ...     controller.history.tasks().to_parquet(f"{folder}/tasks.parquet")
        ...     list(read_parquet(f"{folder}/tasks.parquet")["status"])
        ['succeeded']
    """
    require("pyarrow", "A Parquet file", "parquet")
    frame = pd.read_parquet(path)
    columns = next((each for each in TABLES.values() if {c.name for c in each} <= set(frame.columns)), ())
    return frame.astype({column.name: dtype_of(column.dtype) for column in columns})


def dtype_of(dtype: Kind | Category) -> Any:
    """As pandas knows it."""
    if isinstance(dtype, Category):
        return pd.CategoricalDtype(list(dtype.words), ordered=dtype.ordered)
    return pd.api.types.pandas_dtype(dtype.value)


def _array(dtype: Kind | Category, values: Values, shape: Shape = Shape.PLAIN) -> Any:
    if isinstance(dtype, Category):
        codes = values.codes({word: code for code, word in enumerate(dtype.words)})
        return pd.Categorical.from_codes(codes, dtype=dtype_of(dtype))
    if dtype is Kind.TEXT:
        return values.texts()
    if dtype is Kind.NUMBER:
        numbers = values.numbers()
        missing = np.isnan(numbers)
        return pd.arrays.FloatingArray(np.where(missing, 1.0, numbers), missing)
    if shape is Shape.SECONDS:
        numbers = values.numbers()
        missing = np.isnan(numbers)
        wholes = np.round(np.where(missing, 0.0, numbers) * 1e6).astype(np.int64)
        wholes[missing] = NOTHING
        return pd.array(wholes.view("m8[us]"), dtype=Kind.SPAN.value)
    wholes = values.wholes()
    if dtype is Kind.TIME:
        return pd.DatetimeIndex(wholes.view("M8[us]")).tz_localize("UTC").array
    if dtype is Kind.SPAN:
        return pd.array(wholes.view("m8[us]"), dtype=dtype.value)
    missing = wholes == NOTHING
    if dtype is Kind.FLAG:
        return pd.arrays.BooleanArray((wholes != 0) & ~missing, missing)
    return pd.arrays.IntegerArray(np.where(missing, 1, wholes), missing)


def _spread(array: Any, where: Any, length: int) -> Any:
    """``array``'s values at these places, and nothing elsewhere."""
    if len(where) == length:
        return array
    places = np.full(length, -1, dtype=np.intp)
    places[where] = np.arange(len(where))
    return pd.api.extensions.take(array, places, allow_fill=True)
