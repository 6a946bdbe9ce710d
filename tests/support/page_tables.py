"""Markdown tables, and those of the columns of a history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chongming_task.history.columns import TABLES

__all__ = ["columns", "table"]

_TITLES = {
    "tasks": "`tasks()`, `handle.frame()`, `run.frame()`, `snapshots_to_frame()`",
    "durations": "`durations(by)`: what it was grouped by, then",
}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows of cells in Markdown; ends with a line end."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def columns() -> str:
    """The columns of every frame."""
    return "\n".join(
        f"### {_TITLES.get(name, f'`{name}()`')}\n\n"
        + table(("column", "dtype", "meaning"), ((f"`{each.name}`", each.dtype, each.meaning) for each in found))
        for name, found in TABLES.items()
    )
