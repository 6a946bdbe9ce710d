"""What an attempt has written and nobody has taken yet: a bounded buffer between its worker and the engine.

The worker's side takes no lock and never waits. A task that writes faster than anybody reads loses its oldest lines,
and the next line that is kept says how many.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from time import time

from chongming_task.core.output import (
    OUTPUT_CHARACTERS,
    OUTPUT_LINES,
    Chunk,
    LineCutter,
    OutputBatch,
    WrittenLine,
    log_lines,
)
from chongming_task.core.ports import Deliver, OutputWritten

__all__ = ["OutputSink"]

_CHUNK_COST = 150  # bytes that a chunk takes beside its text
_ROOM = OUTPUT_CHARACTERS + 2 * _CHUNK_COST * OUTPUT_LINES  # a full store's worth: print() writes two chunks a line
_ROOM_AFTER = _ROOM * 3 // 4  # the oldest go in one sweep, not one by one


class OutputSink:
    """One attempt's output on its way out.

    Any thread of the task writes; one reader takes, :class:`~chongming_task.core.ports.OutputSource` says how. In a
    worker process the reader is the thread that holds the line, which adds what it took to a sink on the other side.

    Args:
        attempt: The attempt's number.
        deliver: Takes the word that something was written.

    Example:
        >>> sink = OutputSink(1, lambda report: None)
        >>> _ = sink.write("stdout", "hello\\n")
        >>> [line.text for line in sink.take().lines]
        ['hello']
    """

    __slots__ = (
        "_append",
        "_attempt",
        "_chunks",
        "_closed",
        "_cutters",
        "_deliver",
        "_lock",
        "_size",
        "_skipped",
        "_told",
    )

    def __init__(self, attempt: int, deliver: Deliver) -> None:
        self._attempt = attempt
        self._deliver = deliver
        self._chunks: deque[Chunk | WrittenLine] = deque()
        self._append = self._chunks.append
        self._size = 0  # of the chunks, about: threads that write at once may miscount it until the next take
        self._told = False  # the reader knows of the chunks, or looks again by itself
        self._closed = False
        self._lock = threading.Lock()  # between a sweep and a take
        self._skipped = 0  # lines swept away since the last line that was taken
        self._cutters = (LineCutter("stdout"), LineCutter("stderr"))  # the reader's

    # the task's side

    def write(self, stream: str, text: str, level: int | None = None) -> int:
        """Take text that the task wrote; its length, as a stream's ``write`` gives it.

        Args:
            stream: ``"stdout"`` or ``"stderr"``; with ``"log"`` the text is a whole record.
            text: Exactly a ``str``: a subclass could run its own code where it is read.
            level: Of a log record.
        """
        self._append((stream, text, time(), level))
        length = len(text)
        self._size += length + _CHUNK_COST  # nothing is called in between, so no other thread's share gets lost
        if self._size > _ROOM or not self._told:
            self._tell()
        return length

    def add(self, batch: OutputBatch) -> None:
        """Take what was taken from another sink, in another process."""
        self._chunks.extend(batch.lines)
        cost = sum(len(line.text) + _CHUNK_COST for line in batch.lines)
        self._size += cost
        self._tell()

    def close(self) -> None:
        """The attempt is over: what it wrote is delivered now, lines without an end too. Threads that it has left
        behind may still write."""
        self._closed = self._told = True
        self._deliver(OutputWritten(self._attempt, self))

    def _tell(self) -> None:
        if self._size > _ROOM:
            self._sweep()
        if not self._told:
            self._told = True
            self._deliver(OutputWritten(self._attempt, self))

    def _sweep(self) -> None:
        """Let the oldest go, in whole lines as far as that can be seen; the newest stays."""
        with self._lock:
            chunks, too_much = self._chunks, self._size - _ROOM_AFTER
            freed, whole = 0, True
            while len(chunks) > 1 and (freed < too_much or not whole):
                gone = chunks.popleft()
                freed += len(gone[1]) + _CHUNK_COST
                whole = gone[0] == "log" or isinstance(gone, WrittenLine) or gone[1].endswith("\n")
                self._skipped += _lines_of(gone)
            self._size = max(self._size - freed, 0)
            if len(chunks) == 1:
                chunks[0] = self._end_of(chunks[0])
                self._size = len(chunks[0][1]) + _CHUNK_COST

    def _end_of(self, chunk: Chunk | WrittenLine) -> Chunk | WrittenLine:
        """A chunk, or the end of it if it alone is too much."""
        text = chunk[1]
        if isinstance(chunk, WrittenLine) or len(text) <= OUTPUT_CHARACTERS:
            return chunk
        begin = len(text) - OUTPUT_CHARACTERS
        begin = text.find("\n", begin, -1) + 1 or begin
        self._skipped += text.count("\n", 0, begin)
        return (chunk[0], text[begin:], chunk[2], chunk[3])

    # the reader's side

    def take(self) -> OutputBatch | None:
        """See :class:`~chongming_task.core.ports.OutputSource`."""
        closed = self._closed  # before the chunks: what was written before the end is in the final batch
        chunks, skipped = self._grab()
        lines = list(self._cut(chunks, skipped, closed))
        if chunks and not closed:  # there may be more soon: the reader comes back
            return OutputBatch(lines)
        self._told = False
        if self._chunks:  # written in between, by somebody who may have thought that the reader knows
            self._told = True
            return OutputBatch(lines)
        return OutputBatch(lines, final=closed) if lines else None

    def _grab(self) -> tuple[list[Chunk | WrittenLine], int]:
        with self._lock:
            chunks = [self._chunks.popleft() for _ in range(len(self._chunks))]
            self._size = 0
            skipped, self._skipped = self._skipped, 0
        return chunks, skipped

    def _cut(self, chunks: list[Chunk | WrittenLine], skipped: int, closed: bool) -> Iterator[WrittenLine]:
        if skipped:  # a line begun before the gap does not go on behind it: its end was the first that went
            begun = list(self._ends())
            yield from begun
            skipped = max(skipped - len(begun), 0)
        for line in self._lines(chunks, closed):
            yield line if not skipped else line._replace(skipped=line.skipped + skipped)
            skipped = 0
        if skipped:  # no line is complete yet: the next one tells
            with self._lock:
                self._skipped += skipped

    def _lines(self, chunks: list[Chunk | WrittenLine], closed: bool) -> Iterator[WrittenLine]:
        stdout, stderr = self._cutters
        for chunk in chunks:
            if isinstance(chunk, WrittenLine):
                yield chunk
                continue
            stream, text, at, level = chunk
            if stream == "log":
                yield from log_lines(text, at, level)
            else:
                yield from (stdout if stream == "stdout" else stderr).feed(text, at)
        if closed:
            yield from self._ends()

    def _ends(self) -> Iterator[WrittenLine]:
        for cutter in self._cutters:
            yield from cutter.end()


def _lines_of(chunk: Chunk | WrittenLine) -> int:
    """How many lines go with it."""
    if isinstance(chunk, WrittenLine):
        return 1 + chunk.skipped
    return chunk[1].count("\n") + (chunk[0] == "log")
