"""Commands, bucket leases and the feed of the memory store. Not guarded: the store calls them under its lock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterable
from datetime import datetime, timedelta
from typing import Any

from chongming_task.core.records import BucketLease, Change, Command, Transition

__all__ = ["Buckets", "Commands", "Feed"]


class Commands:
    """Commands in the order they came."""

    def __init__(self) -> None:
        self._all: dict[str, Command] = {}
        self._open: dict[str, None] = {}  # ids, in the same order

    def add(self, command: Command) -> None:
        if command.id not in self._all:
            self._all[command.id] = command
            if command.completed_at is None:
                self._open[command.id] = None

    def claim(
        self, owner: str, now: datetime, until: datetime, limit: int, wanted: Callable[[str], bool]
    ) -> list[Command]:
        taken: list[Command] = []
        for command_id in self._open:
            if len(taken) >= limit:
                break
            command = self._all[command_id]
            if (command.lease_until is None or command.lease_until <= now) and wanted(command.task_id):
                taken.append(command._replace(lease_owner=owner, lease_until=until))
        self._all.update((command.id, command) for command in taken)
        return taken

    def complete(self, command_id: str, owner: str, now: datetime, outcome: Any) -> bool:
        command = self._all.get(command_id)
        if command is None or command.lease_owner != owner:
            return False
        if command.completed_at is None:
            self._all[command_id] = command._replace(lease_until=None, completed_at=now, outcome=outcome)
            del self._open[command_id]
        return True

    def release(self, owner: str, command_ids: Collection[str] | None) -> int:
        held = [c for c in map(self._all.__getitem__, self._open) if c.lease_owner == owner]
        given = [c for c in held if command_ids is None or c.id in command_ids]
        self._all.update((c.id, c._replace(lease_owner=None, lease_until=None)) for c in given)
        return len(given)

    def get(self, command_id: str) -> Command | None:
        return self._all.get(command_id)

    def of(self, task_id: str) -> list[Command]:
        return [command for command in self._all.values() if command.task_id == task_id]

    def keep(self, task_ids: Container[str]) -> None:
        for command_id in [c.id for c in self._all.values() if c.task_id not in task_ids]:
            del self._all[command_id]
            self._open.pop(command_id, None)


class Buckets:
    """One lease a bucket."""

    def __init__(self) -> None:
        self._leases: dict[int, BucketLease] = {}

    def claim(self, owner: str, buckets: Iterable[int], now: datetime, seconds: float) -> frozenset[int]:
        free = [
            bucket
            for bucket in buckets
            if (held := self._leases.get(bucket)) is None or held.owner == owner or held.lease_until <= now
        ]
        return self._hold(owner, free, now, seconds)

    def renew(self, owner: str, now: datetime, seconds: float) -> frozenset[int]:
        return self._hold(owner, self._of(owner), now, seconds)

    def release(self, owner: str, buckets: Collection[int] | None) -> int:
        gone = [bucket for bucket in self._of(owner) if buckets is None or bucket in buckets]
        for bucket in gone:
            del self._leases[bucket]
        return len(gone)

    def all(self) -> list[BucketLease]:
        return [self._leases[bucket] for bucket in sorted(self._leases)]

    def _of(self, owner: str) -> list[int]:
        return [bucket for bucket, lease in self._leases.items() if lease.owner == owner]

    def _hold(self, owner: str, buckets: Collection[int], now: datetime, seconds: float) -> frozenset[int]:
        until = now + timedelta(seconds=seconds)
        self._leases.update((bucket, BucketLease(bucket, owner, until)) for bucket in buckets)
        return frozenset(buckets)


class Feed:
    """All trails as one, numbered. The numbers of what was dropped are not used again."""

    def __init__(self) -> None:
        self._cursors: list[int] = []
        self._transitions: list[Transition] = []
        self._last = 0

    def extend(self, transitions: Collection[Transition]) -> None:
        first = self._last + 1
        self._last += len(transitions)
        self._cursors.extend(range(first, self._last + 1))
        self._transitions.extend(transitions)

    def all(self) -> list[Transition]:
        return self._transitions.copy()

    def after(self, cursor: int, limit: int) -> list[Change]:
        start = bisect_right(self._cursors, cursor)
        part = slice(start, start + max(limit, 0))
        return list(map(Change, self._cursors[part], self._transitions[part]))

    def last(self) -> int:
        return self._cursors[-1] if self._cursors else 0

    def forget(self, task_ids: Collection[str]) -> None:
        kept = [pair for pair in zip(self._cursors, self._transitions, strict=True) if pair[1].task_id not in task_ids]
        self._cursors = [cursor for cursor, _ in kept]
        self._transitions = [transition for _, transition in kept]
