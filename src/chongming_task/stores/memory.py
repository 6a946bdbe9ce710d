"""The store that keeps records in this process: the default, and what the other stores are measured against."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence
from itertools import islice

from chongming_task.core.output import OUTPUT_CHARACTERS, OUTPUT_LINES
from chongming_task.core.ports import Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import ConcurrencyConflict

__all__ = ["MemoryTaskStore"]


class MemoryTaskStore:
    """Keeps everything in memory, for as long as the object lives. Shared by the threads of one process.

    Example:
        >>> store = MemoryTaskStore()
        >>> store.counts()
        {}
    """

    durable = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, TaskSnapshot] = {}  # in order of creation
        self._trail: dict[str, list[Transition]] = {}
        self._attempts: dict[str, dict[int, AttemptRecord]] = {}
        self._output: dict[str, _Output] = {}

    def commit(self, writes: Sequence[Write]) -> Sequence[ConcurrencyConflict]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        conflicts = []
        with self._lock:
            for write in writes:
                task_id = write.snapshot.task_id
                held = self._tasks.get(task_id)
                found = None if held is None else held.status_version
                if found != write.expect_version:
                    conflicts.append(ConcurrencyConflict(task_id, expected=write.expect_version, found=found))
                    continue
                self._apply(task_id, write)
        return conflicts

    def _apply(self, task_id: str, write: Write) -> None:
        self._tasks[task_id] = write.snapshot
        if write.transitions:
            self._trail.setdefault(task_id, []).extend(write.transitions)
        if write.clear_attempts:
            self._attempts.pop(task_id, None)
            self._output.pop(task_id, None)
        if write.attempts:
            kept = self._attempts.setdefault(task_id, {})
            for attempt in write.attempts:
                kept[attempt.attempt] = attempt

    def touch(self, touches: Sequence[Touch]) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            for touch in touches:
                task = self._tasks.get(touch.task_id)
                if task is None:
                    continue
                news = {
                    "progress": touch.progress,
                    "last_heartbeat_at": touch.heartbeat_at,
                    "lease_until": touch.lease_until,
                    "abandoned": touch.abandoned,
                }
                self._tasks[touch.task_id] = task.evolve({k: v for k, v in news.items() if v is not None})
                if touch.note is not None:
                    number, note = touch.note
                    attempts = self._attempts.get(touch.task_id, {})
                    if number in attempts:
                        attempts[number] = attempts[number]._replace(note=note)

    def append_output(self, lines: Sequence[OutputLine]) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            for line in lines:
                if line.task_id in self._tasks:
                    kept = self._output.get(line.task_id)
                    if kept is None:
                        kept = self._output[line.task_id] = _Output()
                    kept.append(line)

    def output(self, task_id: str, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            kept = self._output.get(task_id)
            newer = [line for line in kept.lines if line.seq > after] if kept is not None else []
        return newer if limit is None else newer[max(len(newer) - limit, 0) :]

    def get(self, task_id: str) -> TaskSnapshot | None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        return self._tasks.get(task_id)

    def query(self, query: TaskQuery) -> list[TaskSnapshot]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            if query.limit is None:
                return [task for task in self._tasks.values() if query.matches(task)]
            newest = (task for task in reversed(self._tasks.values()) if query.matches(task))
            return list(islice(newest, query.limit))[::-1]

    def counts(self, pipeline_run_id: str | None = None) -> dict[TaskStatus, int]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        return dict(Counter(task.status for task in self.query(TaskQuery(pipeline_run_id=pipeline_run_id))))

    def transitions(self, task_id: str, since_version: int = 0) -> list[Transition]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            return [t for t in self._trail.get(task_id, ()) if t.version > since_version]

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            kept = self._attempts.get(task_id, {})
            return [kept[number] for number in sorted(kept)]

    def prune(self, keep_terminal: int) -> int:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            ended = [task_id for task_id, task in self._tasks.items() if task.status in TERMINAL]
            gone = ended[: max(len(ended) - keep_terminal, 0)]
            for task_id in gone:
                del self._tasks[task_id]
                self._trail.pop(task_id, None)
                self._attempts.pop(task_id, None)
                self._output.pop(task_id, None)
        return len(gone)

    def close(self) -> None:
        """Nothing to let go of; the records stay readable."""


class _Output:
    """The newest lines of one record."""

    __slots__ = ("characters", "lines")

    def __init__(self) -> None:
        self.lines: deque[OutputLine] = deque()
        self.characters = 0

    def append(self, line: OutputLine) -> None:
        """Keep a line, unless it is known, and let go of the oldest that find no room."""
        lines = self.lines
        if lines and line.seq <= lines[-1].seq:
            return
        lines.append(line)
        self.characters += len(line.text)
        while len(lines) > OUTPUT_LINES or self.characters > OUTPUT_CHARACTERS:
            self.characters -= len(lines.popleft().text)
