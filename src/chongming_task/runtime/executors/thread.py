"""The default executor: daemon threads of our own, reused while they behave.

A pool of the standard library joins its threads when the interpreter ends, so one task that never returns would hold it
forever; ours do not. A thread that is stuck in user code is simply not reused: the engine gives the attempt up, and the
thread goes on, or ends, without anybody waiting for it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.errors import ControllerClosed
from chongming_task.runtime.executors.local import LocalExecution

__all__ = ["ThreadExecutor"]

_IDLE_SECONDS = 10.0  # an idle worker waits this long for its next attempt


class ThreadExecutor:
    """Runs every attempt on a daemon thread.

    It has no limit of its own: how many attempts run at once is the controller's ``ConcurrencyPolicy``.

    Waking a thread costs more than a short task. So at most one worker at a time is on its way to the queue; when it
    takes an attempt and more are waiting, it sends the next worker on its way before it begins. Short attempts are then
    drained by the workers that are awake already, and long ones each find a worker all the same.

    Args:
        monotonic: The engine's monotonic clock.

    Example:
        >>> from chongming_task import Controller, ThreadExecutor
        >>> with Controller(executor=ThreadExecutor()) as controller:
        ...     controller.submit(pow, 2, 10).result(timeout=10)
        1024
    """

    name = "thread"

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._waiting: deque[LocalExecution] = deque()
        self._idle: list[threading.Lock] = []  # what each idle worker sleeps on; the last to fall asleep wakes first
        self._coming = False  # a worker was woken or born, and has not reached the queue yet
        self._count = 0
        self._closed = False

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Everything callable runs on a thread.

        Args:
            target: The function.
            args: Its arguments.
            kwargs: The same by keyword.
        """

    def launch(self, request: AttemptRequest, deliver: Deliver) -> LocalExecution:
        """See :class:`~chongming_task.core.ports.Executor`."""
        execution = LocalExecution(request, deliver, self._monotonic, pausable=True)
        with self._lock:
            if self._closed:
                raise ControllerClosed("the executor is closed")
            self._waiting.append(execution)
            if not self._coming and not self._send_worker():
                self._waiting.remove(execution)
                raise RuntimeError("the system gives no more threads")
        return execution

    def close(self) -> None:
        """Let the idle threads end; busy ones end with their task."""
        with self._lock:
            self._closed = True
            for bed in self._idle:
                bed.release()
            self._idle.clear()

    def _send_worker(self) -> bool:
        """Wake a worker, or make one; False when the system gives no more threads. Holds the lock."""
        self._coming = True
        if self._idle:
            self._idle.pop().release()
            return True
        self._count += 1
        worker = threading.Thread(target=self._serve, name=f"chongming-worker-{self._count}", daemon=True)
        try:
            worker.start()
        except RuntimeError:
            self._coming = False
        return self._coming

    def _serve(self) -> None:
        bed = threading.Lock()
        bed.acquire()
        arriving = True
        while True:
            with self._lock:
                self._coming = self._coming and not arriving
                execution = self._waiting.popleft() if self._waiting else None
                if execution is None:
                    if self._closed:
                        return
                    self._idle.append(bed)
                elif self._waiting and not self._coming:
                    self._send_worker()
            if execution is not None:
                arriving = False
                copy_context().run(execution.run)  # what it sets in its context ends with it
                execution = None  # an idle worker holds on to nothing
            elif not self._sleep(bed):
                return
            else:
                arriving = True

    def _sleep(self, bed: threading.Lock) -> bool:
        """Wait to be sent for; False when nobody did for a long time."""
        if bed.acquire(timeout=_IDLE_SECONDS):
            return True
        with self._lock:
            if bed in self._idle:
                self._idle.remove(bed)
                return False
        return bed.acquire()  # sent for at the last moment
