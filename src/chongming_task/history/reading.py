"""Reads the columns of tables from a store: as Arrow where store and drivers can, else row by row, to the same end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from chongming_task.core.ports import TaskStore
from chongming_task.core.query import Scan
from chongming_task.history.frames import FIELDS, values_of
from chongming_task.history.values import ArrowValues, Values

__all__ = ["read"]


@runtime_checkable
class ArrowSource(Protocol):
    """A store that can hand over whole columns."""

    def scan_arrow(self, *wanted: Scan) -> list[Any] | None:
        """What ``scan`` gives, as Arrow tables; None when that is not possible here and now."""
        ...


def read(store: TaskStore, *wanted: Scan) -> list[Mapping[str, Values]]:
    """The columns of each table, by the fields of its record."""
    if isinstance(store, ArrowSource):
        tables = store.scan_arrow(*wanted)
        if tables is not None:
            return [{name: ArrowValues(table.column(name)) for name in table.column_names} for table in tables]
    return [values_of(rows, FIELDS[each.table]) for rows, each in zip(store.scan(*wanted), wanted, strict=True)]
