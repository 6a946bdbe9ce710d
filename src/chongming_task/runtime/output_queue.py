"""Output that waits for the store: bounded, the oldest gives way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from chongming_task.core.records import OutputLine

__all__ = ["OutputQueue"]

_KEPT_LINES = 100_000  # wait for a store that fails; then the oldest go, which their numbers tell
_KEPT_CHARACTERS = 10_000_000  # and of these as many as hold so much text


class OutputQueue:
    """Lines in the order they came. The engine's own."""

    def __init__(self) -> None:
        self._lines: deque[OutputLine] = deque()
        self._characters = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, lines: Iterable[OutputLine]) -> None:
        """Take lines in."""
        waiting = self._lines
        for line in lines:
            waiting.append(line)
            self._characters += len(line.text)
        while len(waiting) > _KEPT_LINES or self._characters > _KEPT_CHARACTERS:
            self._characters -= len(waiting.popleft().text)

    def task_ids(self) -> set[str]:
        """Whose lines wait."""
        return {line.task_id for line in self._lines}

    def by_record(self) -> list[list[OutputLine]]:
        """What waits, a list for each record."""
        ordered = sorted(self._lines, key=attrgetter("task_id"))  # stable: each record's lines stay in order
        return [list(lines) for _, lines in groupby(ordered, attrgetter("task_id"))]

    def stored(self, parts: Sequence[Sequence[OutputLine]]) -> None:
        """Forget all lines of the records of these parts of ``by_record``."""
        if sum(map(len, parts)) == len(self._lines):  # all of it, as nearly always
            self._lines.clear()
            self._characters = 0
            return
        gone = {part[0].task_id for part in parts}
        self._lines = deque(line for line in self._lines if line.task_id not in gone)
        self._characters = sum(len(line.text) for line in self._lines)
