"""The engine's hold on an attempt that runs in another process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Protocol

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, FailureKind, describe_exception
from chongming_task.core.ports import AttemptRequest, Deliver, Emitted, ProgressReported
from chongming_task.core.records import Progress
from chongming_task.core.triggers import Ended, Started
from chongming_task.runtime.executors.pickling import dump, load
from chongming_task.runtime.executors.wire import Beat, Pause, Resume, Run, Stop, Surroundings, Told, Wrote
from chongming_task.runtime.executors.worker import Worker
from chongming_task.runtime.output import OutputSink

__all__ = ["Pool", "ProcessExecution"]


class Pool(Protocol):
    """Who lends the process."""

    def monotonic(self) -> float:
        """The engine's monotonic clock."""
        ...

    def released(self, worker: Worker, execution: ProcessExecution) -> None:
        """The attempt is over; its process is free."""
        ...


class ProcessExecution:
    """The engine's hold on an attempt in another process.

    Args:
        request: What to run.
        deliver: Takes its reports.
        serial: Tells it from earlier attempts of the same process.
        worker: The process.
        pool: Whose process it is.
    """

    killable = True

    def __init__(self, request: AttemptRequest, deliver: Deliver, serial: int, worker: Worker, pool: Pool) -> None:
        self.error: BaseException | None = None  # the exception object lives, and dies, in the other process
        self.serial = serial
        self.last_checkpoint: float | None = None  # on the executor's monotonic clock
        self.progress: Progress | None = None
        self._request: AttemptRequest | None = request  # until it is sent
        self._attempt = request.attempt
        self._deliver = deliver
        self._worker = worker
        self._pool = pool
        self._lock = threading.Lock()
        self._sent = False
        self._started = False
        self._over = False
        self._killed: StopReason | None = None
        self._output: OutputSink | None = None  # what the process has relayed, once it has

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
        self.finish(Ended(self._attempt, failure=reason.obeyed("stopped before it began")))

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
            request, self._request = self._request, None
            self._sent = not self._over
            self._worker.used |= self._sent
        if request is None or self._over:
            return None
        try:
            return _run_of(self.serial, request)
        except BaseException as error:  # it was checked when it was submitted, and has changed since
            self.finish(Ended(self._attempt, failure=describe_exception(error)))
            return None

    def received(self, message: Beat | Wrote | Told) -> None:
        """Take what the worker says of this attempt."""
        if isinstance(message, Wrote):
            if self._output is None:
                self._output = OutputSink(self._attempt, self._deliver)
            self._output.add(message.batch)
        elif isinstance(message, Beat):
            if message.age is not None:
                self.last_checkpoint = self._pool.monotonic() - message.age
            self.progress = message.progress
            if message.news:
                self._deliver(ProgressReported(self._attempt))
        elif isinstance(message.report, Ended):
            self.finish(message.report)
        elif isinstance(message.report, Emitted):
            self._deliver(_opened(message.report))
        else:
            self._started = self._started or isinstance(message.report, Started)
            self._deliver(message.report)

    def gone(self, pid: int | None, code: int | None, error: Exception | None) -> None:
        """Take the end of the process."""
        if self._killed is not None:
            how = f"process {pid} was killed ({_exit(code)})"
            failure = self._killed.obeyed(how, code)
        elif error is not None:
            failure = describe_exception(error, retryable=True)
        else:
            failure = _died(pid, code, started=self._started)
        self.finish(Ended(self._attempt, failure=failure))

    def finish(self, ended: Ended) -> None:
        """Tell the end, once; the worker is free before anybody hears of it."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._request = None
        self._pool.released(self._worker, self)
        if self._output is not None:
            self._output.close()
        self._deliver(ended)


def _run_of(serial: int, request: AttemptRequest) -> Run:
    request = request._replace(kwargs=dict(request.kwargs))  # a mapping proxy cannot be pickled
    return Run(serial, request.attempt, _surroundings(), dump(request))


def _surroundings() -> Surroundings:
    try:
        cwd = str(Path.cwd())
    except OSError:  # removed under our feet
        cwd = None
    return Surroundings(list(sys.path), cwd, dict(os.environ))


def _opened(emitted: Emitted) -> Emitted:
    """An emitted payload as the object it was; its class may be known in the other process only."""
    try:
        return Emitted(emitted.attempt, emitted.kind, load(emitted.payload))
    except Exception as error:
        return Emitted(emitted.attempt, emitted.kind, f"<a payload that cannot be read here: {error!r}>")


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
