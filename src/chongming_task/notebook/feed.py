"""The tasks of one controller as numbered rows, and what each view has still to be told of them. No threads, no clock.

A ``Feed`` is shared by all views of a controller; a ``Cursor`` is one view's place in it. However often a row changes
between two messages, it is sent once, as it stands then, with the fields that changed.

A large table goes out in pages: a message carries about ``MESSAGE_BYTES``, what is new goes before what only fills up,
and Jupyter's server, which drops messages beyond a megabyte a second, is never near its limit.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from collections.abc import Iterable
from heapq import nsmallest
from typing import Any

from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.notebook.rows import (
    DEFAULT_ROW,
    EVERYTHING,
    Row,
    changed_fields,
    display_key,
    make_blocks,
    make_row,
    situations,
    status_of,
)

__all__ = ["Cursor", "Feed"]

MESSAGE_BYTES = 40_000
SAVED_ROWS = 200


class Feed:
    """The rows of one controller.

    Args:
        title: What the views are headed with.
        epoch_ms: Now, in Unix milliseconds; the rows' times count from here.
    """

    def __init__(self, title: str, epoch_ms: int) -> None:
        self.title = title
        self.epoch_ms = epoch_ms
        self.id = secrets.token_hex(4)  # row numbers mean nothing to a view of another feed
        self._rows: list[Row] = []
        self._numbers: dict[str, int] = {}  # read by the inbound check on other threads; only ever added to
        self._counts = Counter(dict.fromkeys(TaskStatus, 0))  # never grows: read by other threads as well
        self._cursors: list[Cursor] = []
        self.trouble: str | None = None
        """Why the rows may be behind what is true."""

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._numbers

    def row(self, number: int) -> Row:
        """The row as it stands."""
        return self._rows[number]

    def absorb(self, tasks: Iterable[TaskSnapshot]) -> bool:
        """Takes in the latest snapshots; unknown tasks get the next row numbers. Returns whether anything changed."""
        changed = False
        for task in tasks:
            row = make_row(task, self.epoch_ms)
            number = self._numbers.get(row.id)
            if number is None:
                number = len(self._rows)
                self._rows.append(DEFAULT_ROW)
                fields = EVERYTHING
            else:
                fields = changed_fields(self._rows[number], row)
            if fields:
                self._put(number, row, fields)
                changed = True
        return changed

    def _put(self, number: int, row: Row, fields: int) -> None:
        if fields == EVERYTHING:
            self._numbers[row.id] = number
        else:
            self._counts[status_of(self._rows[number])] -= 1
        self._counts[status_of(row)] += 1
        self._rows[number] = row
        for cursor in self._cursors:
            cursor.mark(number, fields)

    def counts(self) -> dict[str, int]:
        """How many rows are in each status; empty statuses are left out."""
        return {status.value: count for status, count in self._counts.items() if count}

    def unfinished(self) -> list[str]:
        """The ids of the tasks that had not ended when they were last told of."""
        return [row.id for row in self._rows if status_of(row) not in TERMINAL]

    def in_display_order(self) -> list[int]:
        """All row numbers, as the panel shows them at first."""
        return sorted(range(len(self._rows)), key=self._place)

    def _place(self, number: int) -> Any:
        """Sorts the rows as a view shows them at first."""
        return display_key(self._rows[number])

    def open(self) -> Cursor:
        """A place for one more view."""
        cursor = Cursor(self)
        self._cursors.append(cursor)
        return cursor

    def close(self, cursor: Cursor) -> None:
        """Forgets a view."""
        self._cursors.remove(cursor)

    def saved_table(self, now_ms: int) -> dict[str, Any]:
        """A small table for the saved notebook: the first rows in display order, and the counts of all.

        Args:
            now_ms: Now, in Unix milliseconds.
        """
        first = nsmallest(SAVED_ROWS, range(len(self._rows)), key=self._place)
        return {
            **self.heading(now_ms),
            "saved_at": now_ms,
            "behind": len(self._rows) - len(first),
            "blocks": make_blocks((number, self._rows[number], EVERYTHING) for number in first),
        }

    def heading(self, now_ms: int) -> dict[str, Any]:
        """What a view must know before any row."""
        return {
            "feed": self.id,
            "title": self.title,
            "epoch": self.epoch_ms,
            "at": now_ms - self.epoch_ms,
            "counts": self.counts(),
            "situations": situations(),
            "trouble": self.trouble,
        }


class Cursor:
    """What one view has still to be told."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._seq = 0
        # Ordered dicts, for their first item can be taken out again and again at a constant cost.
        self._changed: OrderedDict[int, int] = OrderedDict()  # row number -> changed fields, oldest change first
        self._unsent: OrderedDict[int, None] = OrderedDict()  # rows the view has never had, the most wanted first
        self._counts_sent: dict[str, int] = {}
        self._trouble_sent: str | None = None

    def mark(self, number: int, fields: int) -> None:
        """Notes that a row changed. One that moves is worth more than one that only waits to be told."""
        if fields == EVERYTHING:
            self._unsent[number] = None
        elif number in self._unsent:
            del self._unsent[number]
            self._changed[number] = EVERYTHING
        else:
            self._changed[number] = self._changed.get(number, 0) | fields

    @property
    def dirty(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._changed or self._unsent) or self._trouble_sent != self._feed.trouble

    def reset(self, now_ms: int) -> dict[str, Any]:
        """Begins anew: the heading and the first page of the rows. The others follow as patches.

        Args:
            now_ms: Now, in Unix milliseconds.
        """
        self._changed.clear()
        self._unsent = OrderedDict.fromkeys(self._feed.in_display_order())
        self._seq += 1
        blocks = self._page()
        heading = self._feed.heading(now_ms)
        self._counts_sent, self._trouble_sent = heading["counts"], heading["trouble"]
        return {"kind": "reset", "seq": self._seq, **heading, "behind": len(self._unsent), "blocks": blocks}

    def patch(self, now_ms: int) -> dict[str, Any] | None:
        """What changed since the last message, up to a message's size; None when nothing did.

        Args:
            now_ms: Now, in Unix milliseconds.
        """
        if not self.dirty:
            return None
        self._seq += 1
        filling = bool(self._unsent)
        message: dict[str, Any] = {"kind": "patch", "seq": self._seq, "at": now_ms - self._feed.epoch_ms}
        message["blocks"] = self._page()
        if filling:
            message["behind"] = len(self._unsent)
        counts = self._feed.counts()
        if counts != self._counts_sent:
            self._counts_sent = message["counts"] = counts
        if (trouble := self._feed.trouble) != self._trouble_sent:
            self._trouble_sent = message["trouble"] = trouble
        return message

    def _page(self) -> list[dict[str, Any]]:
        """Takes out what fits one message: changes first, oldest first, then rows that were never sent."""
        room = MESSAGE_BYTES
        taken: list[tuple[int, Row, int]] = []
        while room > 0 and (self._changed or self._unsent):
            if self._changed:
                number, fields = self._changed.popitem(last=False)
            else:
                number, fields = self._unsent.popitem(last=False)[0], EVERYTHING
            row = self._feed.row(number)
            taken.append((number, row, fields))
            room -= _size(row, fields)
        return make_blocks(taken)


_BYTES_A_FIELD = 12  # a number, its comma, its share of the row number


def _size(row: Row, fields: int) -> int:
    """About how many bytes a row takes in a message."""
    if fields != EVERYTHING:
        return fields.bit_count() * _BYTES_A_FIELD + (len(row.failure or "") + len(row.note or ""))
    texts = (row.id, row.name, *row.tags, row.failure or "", row.note or "", row.node or "")
    return sum(len(text.encode()) + 4 for text in texts) + 8 * _BYTES_A_FIELD
