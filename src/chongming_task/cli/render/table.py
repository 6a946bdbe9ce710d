"""Rows as aligned columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chongming_task.cli.render.text import cut, one_line, pad, width

__all__ = ["Cell", "Column", "table"]

_GAP = "  "


class Cell(NamedTuple):
    """What stands in one column of a row."""

    text: str
    style: str = ""  # what begins its colour, as an escape sequence


class Column(NamedTuple):
    """A column of a table."""

    title: str
    right: bool = False  # numbers
    widest: int = 1_000  # columns of the terminal; longer texts are cut


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell | str]], room: int | None = None) -> list[str]:
    """The lines of a table, the titles first.

    Args:
        columns: What each row holds.
        rows: Texts may hold anything; they are made plain.
        room: How wide the lines may be; the last column gives way. None: as wide as they are.
    """
    cells = [[_clean(cell, column) for cell, column in zip(row, columns, strict=True)] for row in rows]
    cells.insert(0, [Cell(column.title) for column in columns])
    widths = [max(width(row[place].text) for row in cells) for place in range(len(columns))]
    if room is not None:
        taken = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(room - taken, len(columns[-1].title)))
    return [_line(row, columns, widths) for row in cells]


def _clean(cell: Cell | str, column: Column) -> Cell:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Cell(cut(one_line(text), column.widest), style)


def _line(row: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int]) -> str:
    parts = []
    for place, (cell, column, columns_wide) in enumerate(zip(row, columns, widths, strict=True)):
        text = cut(cell.text, columns_wide)
        if column.right or place < len(columns) - 1:  # no blanks at the end of a line
            text = pad(text, columns_wide, right=column.right)
        parts.append(f"{cell.style}{text}\x1b[0m" if cell.style and cell.text else text)
    return _GAP.join(parts).rstrip()
