"""What a task writes, cut into lines that are safe to store and to show. Pure: the caller says what time it is.

Every line a record ever wrote has a number, ``OutputLine.seq``. What found no room, in a worker's buffer or in the
store, leaves a gap in the numbers: so a reader always sees that something is missing, and how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from chongming_task.core.text import clean

__all__ = [
    "LINE_LIMIT",
    "OUTPUT_CHARACTERS",
    "OUTPUT_LINES",
    "Chunk",
    "LineCutter",
    "OutputBatch",
    "OutputMode",
    "WrittenLine",
    "log_lines",
]

OUTPUT_LINES = 10_000  # a store keeps the newest that many of a record
OUTPUT_CHARACTERS = 1_000_000  # and of these the newest that hold so much text
LINE_LIMIT = 10_000  # characters; the middle of a longer line gives way to a mark

_HEAD = LINE_LIMIT - LINE_LIMIT // 3  # of a line that is too long: where its text is kept
_TAIL = LINE_LIMIT // 3


class OutputMode(StrEnum):
    """What becomes of what a task writes."""

    OWN = "own"  # it goes to the task's own output
    ECHO = "echo"  # there, and to where it would have gone without us
    PLAIN = "plain"  # only there


Chunk = tuple[str, str, float, "int | None"]
"""One piece of text as it was written: stream, text, seconds since the epoch, level. Bare, for there are many."""


class WrittenLine(NamedTuple):
    """A line on its way to the record. Plain data: it may come from another process."""

    stream: str
    text: str
    at: datetime
    level: int | None = None
    skipped: int = 0  # lines just before it that found no room


class OutputBatch(NamedTuple):
    """What a worker wrote since it was asked last."""

    lines: Sequence[WrittenLine]
    final: bool = False  # the attempt is over: nothing more is expected


class LineCutter:
    """Cuts what is written to one stream into lines.

    A carriage return begins the line anew, as on a terminal: of a progress bar its last state stays.

    Args:
        stream: ``"stdout"`` or ``"stderr"``.

    Example:
        >>> cutter = LineCutter("stdout")
        >>> [line.text for line in cutter.feed("one\\n10 %\\r20 %\\nthr", 0.0)]
        ['one', '20 %']
        >>> [line.text for line in cutter.end()]
        ['thr']
    """

    __slots__ = ("_at", "_head", "_length", "_missing", "_parts", "_stream")

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._at = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parts: list[str] = []  # of the line that has no end yet
        self._length = 0  # of the parts
        self._head = ""  # its beginning, once it is too long to be kept whole
        self._missing = 0  # characters left out behind the head

    def feed(self, text: str, at: float) -> Iterator[WrittenLine]:
        """The lines that ``text`` completes.

        Args:
            text: What was written.
            at: When, in seconds since the epoch.
        """
        ended = text.split("\n")
        rest = ended.pop()
        self._at = at
        for each in ended:
            self._add(each)
            yield self._line()
        if rest:
            self._add(rest)

    def end(self) -> Iterator[WrittenLine]:
        """The line that has no end yet, if there is one: nothing more will come."""
        if self._parts or self._head:
            line = self._line()
            if line.text.strip():  # a bar that wiped itself away leaves nothing
                yield line

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            if self._length > 4 * LINE_LIMIT:
                self._shorten()

    def _shorten(self) -> None:
        """Keep the beginning and the end of a line that grows and grows."""
        text = self._joined()
        if not self._head:
            self._head, text = text[:_HEAD], text[_HEAD:]
        self._missing += max(len(text) - _TAIL, 0)
        text = text[-_TAIL:]
        self._parts, self._length = [text], len(text)

    def _joined(self) -> str:
        """The open line as a terminal would show it."""
        text = "".join(self._parts).rstrip("\r")
        if "\r" not in text:
            return text
        self._head, self._missing = "", 0
        return next((state for state in reversed(text.split("\r")) if state.strip()), "")

    def _line(self) -> WrittenLine:
        text = self._joined()
        if self._head:
            left_out = self._missing + max(len(text) - _TAIL, 0)
            text = f"{clean(self._head)} … [{left_out} characters left out] … {clean(text[-_TAIL:])}"
        else:
            text = clean(text, LINE_LIMIT)
        self._begin()
        return WrittenLine(self._stream, text, _moment(self._at))


def log_lines(text: str, at: float, level: int | None) -> Iterator[WrittenLine]:
    """A log record, line by line."""
    moment = _moment(at)
    for line in text.split("\n"):
        yield WrittenLine("log", clean(line.rstrip("\r"), LINE_LIMIT), moment, level)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
