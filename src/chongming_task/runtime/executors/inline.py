"""The executor that runs a task in the thread that submits it: for scripts, teaching and debuggers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.runtime.executors.local import LocalExecution

__all__ = ["InlineExecutor"]


class InlineExecutor:
    """Runs attempts in the caller of ``submit`` or ``retry``, which returns when the record has ended.

    It cannot pause: holding the task would hold the very thread that could resume it, so ``pause`` is answered False.
    An attempt that nobody waits for in this way, such as one that is retried from a panel, gets a thread of its own.

    Args:
        monotonic: The engine's monotonic clock.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller(executor="inline") as controller:
        ...     controller.submit(pow, 2, 10).status.value  # submit has come back when it is over
        'succeeded'
    """

    name = "inline"

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._callers: dict[str, SimpleQueue[LocalExecution | None]] = {}  # the thread that runs a record's attempts

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Everything callable runs inline.

        Args:
            target: The function.
            args: Its arguments.
            kwargs: The same by keyword.
        """

    def launch(self, request: AttemptRequest, deliver: Deliver) -> LocalExecution:
        """Hand the attempt to its caller; see :class:`~chongming_task.core.ports.Executor`."""
        execution = LocalExecution(request, deliver, self._monotonic, pausable=False)
        with self._lock:
            caller = self._callers.get(request.task_id)
            if caller is not None:
                caller.put(execution)
                return execution
        threading.Thread(target=execution.run, name="chongming-worker-inline", daemon=True).start()
        return execution

    def serve(self, task_id: str, begin: Callable[[Callable[[], None]], Callable[[], bool]]) -> None:
        """Run the attempts of one record in this thread, unless another thread runs them already.

        Args:
            task_id: The record.
            begin: Sets it going. It is given a function that makes this thread look again, and returns one that tells
                whether more attempts are to be expected; if so, this thread will be made to look again.
        """
        attempts: SimpleQueue[LocalExecution | None] = SimpleQueue()
        with self._lock:
            mine = self._callers.setdefault(task_id, attempts) is attempts
        if not mine:
            begin(lambda: None)
            return
        try:
            expected = begin(lambda: attempts.put(None))
            while expected():
                execution = attempts.get()
                if execution is not None:
                    execution.run()
        finally:
            self._leave(task_id, attempts)

    def _leave(self, task_id: str, attempts: SimpleQueue[LocalExecution | None]) -> None:
        """Serve the record no longer; what was handed over at the last moment gets a thread of its own."""
        with self._lock:
            del self._callers[task_id]
        while not attempts.empty():
            execution = attempts.get()
            if execution is not None:
                threading.Thread(target=execution.run, name="chongming-worker-inline", daemon=True).start()

    def close(self) -> None:
        """Nothing to let go of."""
