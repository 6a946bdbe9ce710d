"""The executor that runs every attempt in a process of its own: it can be killed, it crashes alone, it has its own GIL.

Processes are fresh interpreters, never forks; a few are kept warm, since one takes about a tenth of a second to start.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.triggers import Started
from chongming_task.errors import ConfigurationError, ControllerClosed
from chongming_task.runtime.executors.execution import ProcessExecution
from chongming_task.runtime.executors.pickling import refuse
from chongming_task.runtime.executors.wire import Beat, Told, Wrote
from chongming_task.runtime.executors.worker import Worker

__all__ = ["ProcessExecutor"]


class ProcessExecutor:
    """Runs every attempt in a process of its own.

    What is submitted must be able to go there: functions that a module holds, and arguments that pickle takes. With
    cloudpickle (``pip install "chongming-task[process]"``) functions of a notebook cell go, too. A task takes over the
    ``sys.path``, working directory and environment variables of this process as they are when it is launched. It may
    start processes itself; those are killed with it.

    A process serves one attempt at a time and is used again while it behaves. It ends within seconds when this process
    is gone. It has no limit of its own: how many attempts run at once is the controller's ``ConcurrencyPolicy``.

    Args:
        monotonic: The engine's monotonic clock.
        spares: How many processes are kept ready, 0 or more, once the first task was submitted.
        max_attempts_per_worker: After so many a process is replaced, for tasks that leak; None: never.
        idle_seconds: How long a process beyond the spares waits for its next attempt.

    Raises:
        ConfigurationError: For numbers that cannot work.

    Example:
        >>> from chongming_task import Controller, ProcessExecutor
        >>> with Controller(executor=ProcessExecutor(max_attempts_per_worker=100)) as controller:
        ...     controller.submit(pow, 2, 10).result(timeout=60)
        1024
    """

    name = "process"
    shares_memory = False  # what a task keeps in memory is gone with its process

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        spares: int = 1,
        max_attempts_per_worker: int | None = None,
        idle_seconds: float = 10.0,
    ) -> None:
        if spares < 0:
            raise ConfigurationError(f"spares must be 0 or more, got {spares!r}")
        if max_attempts_per_worker is not None and max_attempts_per_worker < 1:
            raise ConfigurationError(f"max_attempts_per_worker must be 1 or more, got {max_attempts_per_worker!r}")
        if not idle_seconds > 0:
            raise ConfigurationError(f"idle_seconds must be more than 0, got {idle_seconds!r}")
        self.monotonic = monotonic
        self._spares = spares
        self._max_attempts = max_attempts_per_worker
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []  # ready, or on their way; the last one served last, and is used first
        self._count = 0
        self._closed = False

    # the engine's side

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse what cannot go to another process; see :class:`~chongming_task.core.ports.Executor`."""
        refuse(target, args, kwargs)
        with self._lock:
            if not self._workers:  # it has until the launch to get ready
                self._keep_spares()

    def launch(self, request: AttemptRequest, deliver: Deliver) -> ProcessExecution:
        """See :class:`~chongming_task.core.ports.Executor`."""
        with self._lock:
            if self._closed:
                raise ControllerClosed("the executor is closed")
            worker = self._idle.pop() if self._idle else self._new_worker()
            self._count += 1
            execution = worker.tenant = ProcessExecution(request, deliver, self._count, worker, self)
            worker.served += 1
        worker.post(execution.message)
        return execution

    def close(self) -> None:
        """Let idle processes end; busy ones end with their task."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.dismiss()

    # the workers' side: their threads

    def received(self, worker: Worker, message: Any) -> None:
        """A worker said something; what concerns an earlier attempt has come too late.

        Args:
            worker: The process it is about.
            message: What it told.
        """
        execution = worker.tenant
        if not isinstance(message, (Beat, Told, Wrote)) or execution is None or execution.serial != message.serial:
            return
        if isinstance(message, Told) and isinstance(message.report, Started):
            with self._lock:
                self._keep_spares()  # not at the launch: a cold start would have to share the machine with it
        execution.received(message)

    def released(self, worker: Worker, execution: ProcessExecution) -> None:
        """The attempt is over; its worker can have the next one.

        Args:
            worker: The process it is about.
            execution: The attempt it had.
        """
        with self._lock:
            if worker.tenant is not execution:
                return
            worker.tenant = None
            if worker not in self._workers or worker.doomed:
                return
            if not self._closed and (self._max_attempts is None or worker.served < self._max_attempts):
                self._idle.append(worker)
                return
        worker.dismiss()

    def idled(self, worker: Worker) -> None:
        """A worker beyond the spares waited long enough.

        Args:
            worker: The process it is about.
        """
        with self._lock:
            if worker not in self._idle or len(self._idle) <= self._spares:
                return
            self._idle.remove(worker)
        worker.dismiss()

    def gone(self, worker: Worker, exit_code: int | None, error: Exception | None) -> None:
        """A worker's process has ended.

        Args:
            worker: The process it is about.
            exit_code: Its exit code; negative: the signal that ended it.
            error: Why it could not even be started.
        """
        with self._lock:
            self._workers.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)
            execution = worker.tenant
        if execution is not None:
            execution.gone(worker.pid, exit_code, error)

    # holding the lock

    def _keep_spares(self) -> None:
        while not self._closed and len(self._idle) < self._spares:
            try:
                self._idle.insert(0, self._new_worker())
            except RuntimeError:  # the system gives no more threads: nobody waits for a spare
                return

    def _new_worker(self) -> Worker:
        worker = Worker(len(self._workers) + 1, self, self._idle_seconds)
        worker.start()
        self._workers.add(worker)
        return worker
