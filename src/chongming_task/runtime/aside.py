"""Runs what a caller wants asked, such as a node's condition, on threads beside the engine: it never runs such code."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Aside", "Errand", "at_once"]

_logger = logging.getLogger("chongming_task.engine")
_THREADS = 8
_IDLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Errand:
    """Work that may have no point any more before it is done."""

    work: Callable[[], None]
    wanted: Callable[[], bool]  # asked from any thread

    def __call__(self) -> None:
        """Do it."""
        self.work()


def at_once(work: Callable[[], None]) -> None:
    """Run it here and now: for engines that are driven by hand."""
    work()


class Aside:
    """A few daemon threads, made when there is work and gone when there was none for a while.

    Work waits when all of them are taken. One that never returns takes its thread along, and nobody waits for it; once
    it is not wanted any more, another thread takes its place.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self._idle = 0
        self._threads = 0
        self._taken: dict[int, Errand] = {}  # what threads do that can be given up, by thread
        self._closed = False

    def __call__(self, work: Callable[[], None]) -> None:
        """Run it soon, on another thread."""
        with self._lock:
            self._waiting.append(work)
            given_up = sum(not errand.wanted() for errand in self._taken.values())
            if len(self._waiting) > self._idle and self._threads - given_up < _THREADS:
                self._threads += 1
                threading.Thread(target=self._serve, name="chongming-aside", daemon=True).start()
            self._lock.notify()

    def close(self) -> None:
        """Let the threads go; what waits is still done, and nobody waits for that."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def _serve(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except BaseException:  # what a caller's code raises is caught before; this is a fault of ours
                _logger.exception("work beside the engine failed")
            with self._lock:
                self._taken.pop(threading.get_ident(), None)
            del work  # a thread that waits keeps nothing alive

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            self._idle += 1
            try:
                self._lock.wait_for(lambda: self._waiting or self._closed, _IDLE_SECONDS)
                if not self._waiting:
                    self._threads -= 1
                    return None
                work = self._waiting.popleft()
                if isinstance(work, Errand):
                    self._taken[threading.get_ident()] = work
                return work
            finally:
                self._idle -= 1
