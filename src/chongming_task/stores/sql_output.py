"""What tasks write, in SQL tables: the newest lines of each record, within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chongming_task.core.output import OUTPUT_CHARACTERS, OUTPUT_LINES
from chongming_task.core.records import OutputLine
from chongming_task.stores.codec import line_row
from chongming_task.stores.database import Session

__all__ = ["append_lines"]


def append_lines(session: Session, by_task: Mapping[str, Sequence[OutputLine]], owner: str | None) -> None:
    """Store the lines of known records, and drop what is beyond the bounds.

    Args:
        session: Within a write.
        by_task: New lines of each record, in order.
        owner: Whose records they must be; None: anybody's.
    """
    rows: list[Any] = []
    sizes: list[tuple[str, int, int, int]] = []
    for task_id, watched_by, newest, kept, characters in session.all("output_sizes", ids=sorted(by_task)):
        if owner is not None and watched_by != owner:
            continue
        new: list[OutputLine] = []
        top = newest
        for line in by_task[task_id]:
            if line.seq > top:
                top = line.seq
                new.append(line)
        if new:
            rows += map(line_row, new)
            sizes.append((task_id, top, kept + len(new), characters + sum(len(line.text) for line in new)))
    session.put("add_line", rows)
    session.put("put_output_size", [_trimmed(session, *size) for size in sizes])


def _trimmed(session: Session, task_id: str, newest: int, lines: int, characters: int) -> tuple[str, int, int, int]:
    """The record's size once its oldest lines have given way."""
    if lines <= OUTPUT_LINES and characters <= OUTPUT_CHARACTERS:
        return task_id, newest, lines, characters
    cut = 0
    for seq, length in session.all("oldest_lines", task_id=task_id):
        if lines <= OUTPUT_LINES and characters <= OUTPUT_CHARACTERS:
            break
        cut, lines, characters = seq, lines - 1, characters - length
    session.run("drop_lines", task_id=task_id, seq=cut)
    return task_id, newest, lines, characters
