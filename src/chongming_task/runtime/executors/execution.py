"""The engine's hold on an attempt that runs in another process."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, Protocol

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, FailureKind, describe_exception
from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.triggers import Ended
from chongming_task.runtime.executors.pickling import dump
from chongming_task.runtime.executors.relayed import RelayedExecution
from chongming_task.runtime.executors.wire import Pause, Resume, Run, Stop, Surroundings
from chongming_task.runtime.executors.worker import Worker

__all__ = ["Pool", "ProcessExecution"]


class Pool(Protocol):
    """Who lends the process."""

    def monotonic(self) -> float:
        """The engine's monotonic clock."""
        ...

    def released(self, worker: Worker, execution: ProcessExecution) -> None:
        """The attempt is over; its process is free."""
        ...


class ProcessExecution(RelayedExecution):
    """The engine's hold on an attempt in another process.

    Args:
        request: What to run.
        deliver: Takes its reports.
        serial: Tells it from earlier attempts of the same process.
        worker: The process.
        pool: Whose process it is.
    """

    killable = True
    worker = None  # the record has its pid

    def __init__(self, request: AttemptRequest, deliver: Deliver, serial: int, worker: Worker, pool: Pool) -> None:
        super().__init__(request, deliver, serial, pool.monotonic)
        self._worker = worker
        self._pool = pool
        self._sent = False
        self._killed: StopReason | None = None

    @property
    def running(self) -> bool:
        """Whether the process is there and has not told the end."""
        return not self._over and self._worker.alive

    def stop(self, reason: StopReason) -> None:
        """Raise in it at its next checkpoint; one that was not sent yet ends here and now."""
        with self._lock:
            if self._sent:
                self._post(Stop(self.serial, reason))
                return
        self.finish(Ended(self.attempt, failure=reason.obeyed("stopped before it began")))

    def pause(self, request: int) -> bool:
        """Hold it at its next checkpoint."""
        self._post(Pause(self.serial, request))
        return True

    def resume(self) -> None:
        """Let it go on."""
        self._post(Resume(self.serial))

    def kill(self, reason: StopReason) -> None:
        """End its process, and what that started; see :class:`~chongming_task.core.ports.ExecutionHandle`."""
        with self._lock:
            if self._over:  # the process may serve the next one already
                return
            self._killed = reason
            self._worker.doomed = True
        self._worker.end_by_force()

    def _post(self, message: Any) -> None:
        if not self._over:
            self._worker.post(lambda: message)

    # the worker's side: its threads

    def message(self) -> Run | None:
        """What the worker is to run; None when there is nothing any more. Pickling runs user code: never on the engine
        thread."""
        with self._lock:
            request = self.taken(over=self._over)
            self._sent = not self._over
            self._worker.used |= self._sent
        if request is None:
            return None
        try:
            return _run_of(self.serial, request)
        except BaseException as error:  # it was checked when it was submitted, and has changed since
            self.finish(Ended(self.attempt, failure=describe_exception(error)))
            return None

    def gone(self, pid: int | None, code: int | None, error: Exception | None) -> None:
        """Take the end of the process."""
        if self._killed is not None:
            how = f"process {pid} was killed ({_exit(code)})"
            failure = self._killed.obeyed(how, code)
        elif error is not None:
            failure = describe_exception(error, retryable=True)
        else:
            failure = _died(pid, code, started=self._started)
        self.finish(Ended(self.attempt, failure=failure))

    def _released(self) -> None:
        self._pool.released(self._worker, self)


def _run_of(serial: int, request: AttemptRequest) -> Run:
    request = request._replace(kwargs=dict(request.kwargs))  # a mapping proxy cannot be pickled
    return Run(serial, request.attempt, _surroundings(), dump(request))


def _surroundings() -> Surroundings:
    try:
        cwd = str(Path.cwd())
    except OSError:  # removed under our feet
        cwd = None
    return Surroundings(list(sys.path), cwd, dict(os.environ))


def _died(pid: int | None, code: int | None, *, started: bool) -> Failure:
    """How an attempt counts whose process ended without being told to."""
    if started:
        what = "half-way: how far the task came is unknown, and side effects are possible"
    else:
        what = "before the task began: nothing of it ran, a retry is clean"
    message = f"process {pid} ended ({_exit(code)}) {what}"
    return Failure(FailureKind.NONZERO_EXIT, message, retryable=True, exit_code=code)


def _exit(code: int | None) -> str:
    """An exit code in words."""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown to this system"
    hint = "; the system does that when memory runs out" if name == "SIGKILL" else ""
    return f"signal {-code}, {name}{hint}"
