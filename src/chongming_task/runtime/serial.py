"""Runs a caller's functions beside the engine: those of one record in order, others side by side."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from chongming_task.runtime.aside import Aside

__all__ = ["Serial"]

_MANY = 10_000  # that wait: something blocks
_logger = logging.getLogger("chongming_task.hooks")


class Serial:
    """A queue for each key, served by a few daemon threads that come when there is work.

    A call that never returns holds up the later ones of its key, and takes a thread along. What is posted is done in
    the end, so nothing is dropped; when very many wait, that is logged.
    """

    def __init__(self) -> None:
        self._aside = Aside()
        self._news = threading.Condition()
        self._queues: dict[str, deque[Callable[[], object]]] = {}  # of the keys that are being served
        self._threads: set[int] = set()  # that serve one
        self._waiting = 0
        self._warned = False

    def post(self, key: str, call: Callable[[], object]) -> None:
        """Have ``call`` called, after those posted for ``key`` before."""
        with self._news:
            self._waiting += 1
            queue = self._queues.get(key)
            if queue is not None:
                queue.append(call)
            else:
                self._queues[key] = deque([call])
            warn = self._waiting > _MANY and not self._warned
            self._warned |= warn
        if queue is None:
            self._aside(lambda: self._serve(key))
        if warn:
            _logger.warning("%s hooks wait for their turn: earlier ones are slow, or do not return", _MANY)

    def _serve(self, key: str) -> None:
        while True:
            with self._news:
                queue = self._queues[key]
                if not queue:
                    del self._queues[key]
                    return
                call = queue.popleft()
                self._threads.add(threading.get_ident())
            try:
                call()
            except BaseException:  # a caller's fault is told in the log, and the next one's turn comes
                _logger.exception("a hook raised")
            finally:
                with self._news:
                    self._threads.discard(threading.get_ident())
                    self._waiting -= 1
                    self._news.notify_all()

    def wait(self, timeout: float) -> int:
        """Wait until everything posted is done; how much is not when the time is up. Not from within a call."""
        with self._news:
            if threading.get_ident() in self._threads:
                return 0
            self._news.wait_for(lambda: self._waiting == 0, timeout)
            return self._waiting

    def close(self) -> None:
        """Let the threads go; what waits is still done, and nobody waits for that."""
        self._aside.close()
