"""One heap for everything that has to happen later."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["Timers"]

K = TypeVar("K", bound=Hashable)


class Timers(Generic[K]):
    """Timers by key; setting one again replaces it. Not thread-safe: the engine's own."""

    def __init__(self) -> None:
        self._due: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def set(self, key: K, due: float) -> None:
        """Wake ``key`` at ``due``, in monotonic seconds."""
        self._count += 1
        self._due[key] = (due, self._count)
        heapq.heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._due):
            self._rebuild()

    def clear(self, key: K) -> None:
        """Forget ``key``; no error when it is not set."""
        self._due.pop(key, None)

    def next_due(self) -> float | None:
        """The earliest moment, or None when nothing is set."""
        heap = self._heap
        while heap and self._is_stale(heap[0]):
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: float) -> Iterator[K]:
        """The keys due by ``now``, earliest first; they are no longer set."""
        while (due := self.next_due()) is not None and due <= now:
            key = heapq.heappop(self._heap)[2]
            del self._due[key]
            yield key

    def _is_stale(self, entry: tuple[float, int, K]) -> bool:
        due, count, key = entry
        return self._due.get(key) != (due, count)

    def _rebuild(self) -> None:
        """Throw the stale entries out, so that a timer set over and over does not grow the heap."""
        self._heap = [(due, count, key) for key, (due, count) in self._due.items()]
        heapq.heapify(self._heap)
