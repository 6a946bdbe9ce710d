"""The store that keeps records in this process: the default, and what the other stores are measured against."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from chongming_task.core.output import OUTPUT_CHARACTERS, OUTPUT_LINES
from chongming_task.core.ports import Row, Touch, Write
from chongming_task.core.query import Scan, Table, TaskQuery
from chongming_task.core.records import (
    AttemptRecord,
    BucketLease,
    Change,
    Command,
    OutputLine,
    OwnerLease,
    TaskSnapshot,
    Transition,
)
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import ConcurrencyConflict, StoreError
from chongming_task.stores.agreement import SCHEMA_VERSION, check_agreement
from chongming_task.stores.fence import Standing, lost_race
from chongming_task.stores.memory_coordination import Buckets, Commands, Feed
from chongming_task.stores.memory_scan import Held, scanned

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
        self._feed = Feed()
        self._commands = Commands()
        self._owners: dict[str, OwnerLease] = {}
        self._buckets = Buckets()
        self._meta = {"schema_version": str(SCHEMA_VERSION)}
        self._changed = threading.Condition(self._lock)
        self._mark = 0  # counts changes
        self._waiting = 0
        self._closed = False

    def commit(self, writes: Sequence[Write]) -> Sequence[ConcurrencyConflict]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            accepted, conflicts = self._sorted_out(writes)
            for write in accepted:
                self._apply(write.snapshot.task_id, write)
            self._tell()
        return conflicts

    def _sorted_out(self, writes: Sequence[Write]) -> tuple[list[Write], list[ConcurrencyConflict]]:
        """Those that win their race, and the others; nothing is changed yet, so an error leaves no trace."""
        accepted, conflicts = [], []
        latest: dict[str, TaskSnapshot] = {}
        for write in writes:
            task_id = write.snapshot.task_id
            held = latest.get(task_id) or self._tasks.get(task_id)
            conflict = lost_race(write, None if held is None else Standing(held.status_version, held.owner))
            if conflict is not None:
                conflicts.append(conflict)
                continue
            if write.transitions:
                self._check_trail(write)
            latest[task_id] = write.snapshot
            accepted.append(write)
        return accepted, conflicts

    def _check_trail(self, write: Write) -> None:
        trail = self._trail.get(write.snapshot.task_id)
        if trail and write.transitions[0].version <= trail[-1].version:
            held = {transition.version for transition in trail}
            twice = [t.version for t in write.transitions if t.version in held]
            if twice:
                raise StoreError(f"the audit trail of {write.snapshot.task_id} holds version {twice[0]} already")

    def _apply(self, task_id: str, write: Write) -> None:
        self._tasks[task_id] = write.snapshot
        if write.transitions:
            self._trail.setdefault(task_id, []).extend(write.transitions)
            self._feed.extend(write.transitions)
        if write.clear_attempts:
            self._attempts.pop(task_id, None)
            self._output.pop(task_id, None)
        if write.attempts:
            kept = self._attempts.setdefault(task_id, {})
            for attempt in write.attempts:
                kept[attempt.attempt] = attempt
        for answer in write.answers:
            self._commands.complete(answer.command_id, answer.owner, answer.at, answer.outcome)

    def touch(self, touches: Sequence[Touch]) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            for touch in touches:
                task = self._tasks.get(touch.task_id)
                if task is None or touch.owner not in (None, task.owner):
                    continue
                news = {
                    "progress": touch.progress,
                    "last_heartbeat_at": touch.heartbeat_at,
                    "abandoned": touch.abandoned,
                }
                self._tasks[touch.task_id] = task.evolve({k: v for k, v in news.items() if v is not None})
                if touch.note is not None:
                    number, note = touch.note
                    attempts = self._attempts.get(touch.task_id, {})
                    if number in attempts:
                        attempts[number] = attempts[number]._replace(note=note)
            self._tell()

    def append_output(self, lines: Sequence[OutputLine], owner: str | None = None) -> None:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            for line in lines:
                task = self._tasks.get(line.task_id)
                if task is not None and owner in (None, task.owner):
                    kept = self._output.get(line.task_id)
                    if kept is None:
                        kept = self._output[line.task_id] = _Output()
                    kept.append(line)
            self._tell()

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

    def scan(self, *wanted: Scan) -> list[list[Row]]:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        tables = {each.table for each in wanted}
        with self._lock:  # records never change: to take hold of them is enough, and quick
            held = Held(
                list(self._tasks.values()),
                [each for kept in self._attempts.values() for each in kept.values()]
                if Table.ATTEMPTS in tables
                else [],
                self._feed.all() if Table.TRANSITIONS in tables else [],
                [line for kept in self._output.values() for line in kept.lines] if Table.OUTPUT in tables else [],
            )
        return [scanned(held, *each) for each in wanted]

    def prune(self, keep_terminal: int) -> int:
        """See :class:`~chongming_task.core.ports.TaskStore`."""
        with self._lock:
            ended = [task_id for task_id, task in self._tasks.items() if task.status in TERMINAL]
            gone = frozenset(ended[: max(len(ended) - keep_terminal, 0)])
            for task_id in gone:
                del self._tasks[task_id]
                self._trail.pop(task_id, None)
                self._attempts.pop(task_id, None)
                self._output.pop(task_id, None)
            self._feed.forget(gone)
            self._commands.keep(self._tasks)
            self._tell()
        return len(gone)

    # commands

    def submit_command(self, command: Command) -> None:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._lock:
            self._commands.add(command)
            self._tell()

    def claim_commands(
        self,
        owner: str,
        *,
        now: datetime,
        lease_seconds: float,
        limit: int = 50,
        records_of: Collection[str] | None = None,
    ) -> list[Command]:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._lock:
            taken = self._commands.claim(
                owner, now, now + timedelta(seconds=lease_seconds), limit, self._watched_by(records_of)
            )
            if taken:
                self._tell()
        return taken

    def _watched_by(self, owners: Collection[str] | None) -> Callable[[str], bool]:
        if owners is None:
            return lambda task_id: True
        return lambda task_id: (task := self._tasks.get(task_id)) is not None and task.owner in owners

    def complete_command(self, command_id: str, owner: str, *, now: datetime, outcome: Any = None) -> bool:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._lock:
            completed = self._commands.complete(command_id, owner, now, outcome)
            self._tell()
        return completed

    def release_commands(self, owner: str, command_ids: Collection[str] | None = None) -> int:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._lock:
            released = self._commands.release(owner, command_ids)
            self._tell()
        return released

    def command(self, command_id: str) -> Command | None:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._lock:
            return self._commands.get(command_id)

    def commands(self, task_id: str) -> list[Command]:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._lock:
            return self._commands.of(task_id)

    # owner leases

    def renew_owner(self, lease: OwnerLease) -> None:
        """See :class:`~chongming_task.core.coordination.OwnerLeases`."""
        with self._lock:
            self._owners[lease.owner] = lease

    def release_owner(self, owner: str) -> bool:
        """See :class:`~chongming_task.core.coordination.OwnerLeases`."""
        with self._lock:
            gone = self._owners.pop(owner, None) is not None
            if gone:
                self._tell()
        return gone

    def owner_leases(self) -> list[OwnerLease]:
        """See :class:`~chongming_task.core.coordination.OwnerLeases`."""
        with self._lock:
            return [self._owners[owner] for owner in sorted(self._owners)]

    # bucket leases

    def claim_buckets(
        self, owner: str, buckets: Collection[int], *, now: datetime, lease_seconds: float
    ) -> frozenset[int]:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        with self._lock:
            taken = self._buckets.claim(owner, buckets, now, lease_seconds)
            self._tell()
        return taken

    def renew_buckets(self, owner: str, *, now: datetime, lease_seconds: float) -> frozenset[int]:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        with self._lock:
            return self._buckets.renew(owner, now, lease_seconds)

    def release_buckets(self, owner: str, buckets: Collection[int] | None = None) -> int:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        with self._lock:
            released = self._buckets.release(owner, buckets)
            self._tell()
        return released

    def bucket_leases(self) -> list[BucketLease]:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        with self._lock:
            return self._buckets.all()

    # what changed, and what is agreed

    def changes(self, after: int = 0, limit: int = 1_000) -> list[Change]:
        """See :class:`~chongming_task.core.coordination.ChangeFeed`."""
        with self._lock:
            return self._feed.after(after, limit)

    def last_change(self) -> int:
        """See :class:`~chongming_task.core.coordination.ChangeFeed`."""
        with self._lock:
            return self._feed.last()

    def wait_for_change(self, timeout: float, seen: int | None = None) -> int:
        """See :class:`~chongming_task.core.coordination.ChangeFeed`."""
        deadline = time.monotonic() + timeout
        with self._changed:
            known = self._mark if seen is None else seen
            self._waiting += 1
            while self._mark == known and not self._closed and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            self._waiting -= 1
            return self._mark

    def _tell(self) -> None:
        self._mark += 1
        if self._waiting:
            self._changed.notify_all()

    def meta(self) -> Mapping[str, str]:
        """See :class:`~chongming_task.core.coordination.DeploymentMeta`."""
        with self._lock:
            return dict(self._meta)

    def fix_meta(self, name: str, value: str) -> None:
        """See :class:`~chongming_task.core.coordination.DeploymentMeta`."""
        with self._lock:
            held = self._meta.setdefault(name, value)
        check_agreement(name, held, value)

    def close(self) -> None:
        """Nothing to let go of but waiters; the records stay readable."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()


class _Output:
    """The newest lines of one record."""

    __slots__ = ("characters", "lines", "newest")

    def __init__(self) -> None:
        self.lines: deque[OutputLine] = deque()
        self.characters = 0
        self.newest = 0  # seq of the last that came

    def append(self, line: OutputLine) -> None:
        """Keep a line, unless it is known, and let go of the oldest that find no room."""
        lines = self.lines
        if line.seq <= self.newest:
            return
        self.newest = line.seq
        lines.append(line)
        self.characters += len(line.text)
        while len(lines) > OUTPUT_LINES or self.characters > OUTPUT_CHARACTERS:
            self.characters -= len(lines.popleft().text)
