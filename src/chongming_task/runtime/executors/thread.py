"""The default executor: daemon threads of our own, reused while they behave.

A pool of the standard library joins its threads when the interpreter ends, so one task that never returns would hold it
forever; ours do not. A thread that is stuck in user code is simply not reused: the engine gives the attempt up, and the
thread goes on, or ends, without anybody waiting for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.errors import ControllerClosed
from chongming_task.runtime.executors.local import LocalExecution

__all__ = ["ThreadExecutor"]

_IDLE_SECONDS = 10.0  # an idle worker waits this long for its next attempt


class ThreadExecutor:
    """Runs every attempt on a daemon thread.

    It has no limit of its own: how many attempts run at once is the controller's ``ConcurrencyPolicy``.

    Args:
        monotonic: The engine's monotonic clock.
    """

    name = "thread"

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._work: SimpleQueue[LocalExecution | None] = SimpleQueue()
        self._idle = 0  # workers that wait and are not yet promised an attempt
        self._count = 0
        self._closed = False

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Everything callable runs on a thread."""

    def launch(self, request: AttemptRequest, deliver: Deliver) -> LocalExecution:
        """See :class:`~chongming_task.core.ports.Executor`."""
        execution = LocalExecution(request, deliver, self._monotonic, pausable=True)
        with self._lock:
            if self._closed:
                raise ControllerClosed("the executor is closed")
            if self._idle:
                self._idle -= 1
                self._work.put(execution)
                return execution
            self._count += 1
            number = self._count
        threading.Thread(target=self._serve, args=(execution,), name=f"chongming-worker-{number}", daemon=True).start()
        return execution

    def close(self) -> None:
        """Let the idle threads end; busy ones end with their task."""
        with self._lock:
            self._closed = True
            for _ in range(self._idle):
                self._work.put(None)
            self._idle = 0

    def _serve(self, execution: LocalExecution | None) -> None:
        while execution is not None:
            execution.run()
            execution = None  # an idle worker holds on to nothing
            execution = self._next()

    def _next(self) -> LocalExecution | None:
        with self._lock:
            if self._closed:
                return None
            self._idle += 1
        while True:
            try:
                return self._work.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._idle:  # not promised anything: go
                        self._idle -= 1
                        return None
