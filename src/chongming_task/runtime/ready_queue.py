"""Which queued record runs next, under limits, without ever scanning the queue.

Every record belongs to a *lane*: the set of limits it needs (its limited tags, its bucket). Records of a lane are
interchangeable but for priority and age, so a lane is a heap, and only its head matters. Lanes whose head could run
compete in one heap; a lane that meets a full limit is parked at that limit. A limit that frees a slot wakes one parked
lane, the best. The rule that makes this right: *while a limit has room and lanes are parked at it, a lane that needs it
competes, and none of the parked ones is better.* So a lane that falls behind, because its head was picked or left the
queue, wakes another. A pick costs the logarithm of the number of lanes and of the records in one.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["Limit", "ReadyQueue"]

Order = tuple[int, int]  # (-priority, age): smaller runs first


@dataclass(slots=True, eq=False)
class Limit:
    """A number of slots. One that is not among the queue's named ones is gone with the records that need it."""

    size: int
    used: int = 0
    name: tuple[str, object] = ("", "")  # its kind and what it is called, for who waits for it
    parked: list[tuple[Order, int, _Lane]] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return self.used >= self.size


@dataclass(slots=True, eq=False)
class _Lane:
    """Records that need the same limits."""

    key: frozenset[Hashable]
    limits: tuple[Limit, ...]
    heap: list[tuple[Order, str]] = field(default_factory=list)  # some have left the queue
    queued: int = 0  # those that have not
    ticket: int = 0  # the newest entry in a heap of lanes that stands for it; older ones are stale


class ReadyQueue:
    """Queued records and the slots they wait for. Not thread-safe: the engine's own.

    Args:
        max_parallel: Slots for all records together; None for no limit.
    """

    def __init__(self, max_parallel: int | None = None) -> None:
        self._total = Limit(max_parallel if max_parallel is not None else 1 << 62)
        self._limits: dict[Hashable, Limit] = {}
        self._lanes: dict[frozenset[Hashable], _Lane] = {}
        self._open: list[tuple[Order, int, _Lane]] = []
        self._where: dict[str, tuple[Order, _Lane]] = {}  # queued records
        self._holding: dict[str, _Lane] = {}  # records that hold slots
        self._tickets = 0

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._where

    @property
    def holding(self) -> Mapping[str, object]:
        """The records that hold slots."""
        return self._holding

    def set_limit(self, key: Hashable, size: int) -> None:
        """Give the limit called ``key`` that many slots."""
        limit = self._limits.setdefault(key, Limit(size))
        limit.size = size
        self._wake(limit)

    def usage(self, key: Hashable) -> tuple[int, int]:
        """``(used, size)`` of a limit."""
        limit = self._limit(key)
        return limit.used, limit.size

    def _limit(self, key: Hashable) -> Limit:
        return key if isinstance(key, Limit) else self._limits[key]

    def add(self, task_id: str, needs: Iterable[Hashable], *, priority: int, age: int) -> None:
        """Queue a record.

        Args:
            task_id: The record; queuing it again moves it.
            needs: The limits it takes a slot of: names known by ``set_limit``, or a :class:`Limit` itself.
            priority: Higher runs first.
            age: Among equals the smaller runs first.
        """
        key = frozenset(needs)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = self._lane(key)
        self.discard(task_id)
        order = (-priority, age)
        self._where[task_id] = (order, lane)
        lane.queued += 1
        best = lane.heap[0][0] if lane.heap else None
        heapq.heappush(lane.heap, (order, task_id))
        if best is None or order < best:
            self._compete(lane)

    def discard(self, task_id: str) -> None:
        """Take a record out of the queue; no error when it is not in it."""
        entry = self._where.pop(task_id, None)
        if entry is None:
            return
        lane = entry[1]
        lane.queued -= 1
        if len(lane.heap) > 64 and len(lane.heap) > 4 * lane.queued:
            self._sweep(lane)

    def pick(self) -> str | None:
        """Take the best record that can run now; it holds its slots until ``release``."""
        while self._open and not self._total.full:
            order, ticket, lane = heapq.heappop(self._open)
            if ticket != lane.ticket:
                continue
            if not self._trim(lane):
                self._retire(lane)
                continue
            if order != lane.heap[0][0]:  # its best record has left the queue; another lane's may be better now
                self._compete(lane)
                self._wake_all(lane)
                continue
            full = next((limit for limit in lane.limits if limit.full), None)
            if full is not None:
                self._park(lane, full)
                continue
            _, task_id = heapq.heappop(lane.heap)
            del self._where[task_id]
            lane.queued -= 1
            self._hold(task_id, lane)
            if self._trim(lane):
                self._compete(lane)
                self._wake_all(lane)
            else:
                self._retire(lane)
            return task_id
        return None

    def hold(self, task_id: str, needs: Iterable[Hashable]) -> None:
        """Take slots for a record that runs already (adopted, say), full or not."""
        self._hold(task_id, self._lane(frozenset(needs)))

    def release(self, task_id: str) -> None:
        """Give the slots of a record back; no error when it holds none."""
        lane = self._holding.pop(task_id, None)
        if lane is None:
            return
        self._total.used -= 1
        for limit in lane.limits:
            limit.used -= 1
        self._wake_all(lane)

    def waits_for(self, task_id: str) -> list[Hashable]:
        """The full limits a queued record waits for; empty when it only waits for its turn."""
        entry = self._where.get(task_id)
        if entry is None:
            return []
        names: dict[int, Hashable] = {id(limit): name for name, limit in self._limits.items()}
        return [names.get(id(limit), limit) for limit in entry[1].limits if limit.full]

    def _hold(self, task_id: str, lane: _Lane) -> None:
        self.release(task_id)  # or its earlier slots could never be given back
        self._holding[task_id] = lane
        self._total.used += 1
        for limit in lane.limits:
            limit.used += 1

    def _trim(self, lane: _Lane) -> bool:
        """Drop records from the head of the lane that have left the queue; whether any is left."""
        heap, where = lane.heap, self._where
        while heap:
            order, task_id = heap[0]
            if where.get(task_id) == (order, lane):
                return True
            heapq.heappop(heap)
        return False

    def _sweep(self, lane: _Lane) -> None:
        """Drop all records that have left the queue, so that one that comes and goes does not fill the lane."""
        lane.heap = list({entry for entry in lane.heap if self._where.get(entry[1]) == (entry[0], lane)})
        heapq.heapify(lane.heap)

    def _lane(self, key: frozenset[Hashable]) -> _Lane:
        return _Lane(key, tuple(self._limit(name) for name in key))

    def _retire(self, lane: _Lane) -> None:
        """Forget an empty lane; those parked at its limits may have their turn."""
        if self._lanes.get(lane.key) is lane:
            del self._lanes[lane.key]
        self._wake_all(lane)

    def _compete(self, lane: _Lane) -> None:
        self._tickets += 1
        lane.ticket = self._tickets
        heapq.heappush(self._open, (lane.heap[0][0], lane.ticket, lane))

    def _park(self, lane: _Lane, limit: Limit) -> None:
        self._tickets += 1
        lane.ticket = self._tickets
        heapq.heappush(limit.parked, (lane.heap[0][0], lane.ticket, lane))
        self._wake_all(lane)

    def _wake_all(self, lane: _Lane) -> None:
        for limit in lane.limits:
            self._wake(limit)

    def _wake(self, limit: Limit) -> None:
        """Let the best lane parked at a limit compete, if the limit has room."""
        while limit.parked and not limit.full:
            order, ticket, lane = heapq.heappop(limit.parked)
            if ticket != lane.ticket:
                continue
            if not self._trim(lane):
                self._lanes.pop(lane.key, None)
            elif order != lane.heap[0][0]:  # its best record has left the queue
                heapq.heappush(limit.parked, (lane.heap[0][0], ticket, lane))
            else:
                self._compete(lane)
                return
