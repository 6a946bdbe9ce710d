"""The engine's hold on an attempt whose worker speaks from another process, whatever line it speaks over."""

from __future__ import annotations

import threading
from collections.abc import Callable

from chongming_task.core.ports import AttemptRequest, Deliver, Emitted, ProgressReported
from chongming_task.core.records import Progress
from chongming_task.core.triggers import Ended, Started
from chongming_task.runtime.executors.pickling import load
from chongming_task.runtime.executors.wire import Beat, Told, Wrote
from chongming_task.runtime.output import OutputSink

__all__ = ["RelayedExecution"]


class RelayedExecution:
    """What is heard of an attempt in another process. Subclasses know how it is told something.

    Args:
        request: What to run.
        deliver: Takes its reports.
        serial: Tells it from other attempts on the same line.
        monotonic: The engine's monotonic clock.
    """

    def __init__(self, request: AttemptRequest, deliver: Deliver, serial: int, monotonic: Callable[[], float]) -> None:
        self.error: BaseException | None = None  # the exception object lives, and dies, in the other process
        self.serial = serial
        self.last_checkpoint: float | None = None  # on the engine's monotonic clock
        self.progress: Progress | None = None
        self.attempt = request.attempt
        self._request: AttemptRequest | None = request  # until it is sent
        self._deliver = deliver
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._started = False
        self._over = False
        self._output: OutputSink | None = None  # what the process has relayed, once it has

    def taken(self, *, over: bool) -> AttemptRequest | None:
        """The request, once: what is sent need not be held here as well."""
        request, self._request = self._request, None
        return None if over else request

    def received(self, message: Beat | Wrote | Told) -> None:
        """Take what the worker says of this attempt."""
        if isinstance(message, Wrote):
            if self._output is None:
                self._output = OutputSink(self.attempt, self._deliver)
            self._output.add(message.batch)
        elif isinstance(message, Beat):
            if message.age is not None:
                self.last_checkpoint = self._monotonic() - message.age
            self.progress = message.progress
            if message.news:
                self._deliver(ProgressReported(self.attempt))
        elif isinstance(message.report, Ended):
            self.finish(message.report)
        elif isinstance(message.report, Emitted):
            self._deliver(_opened(message.report))
        else:
            self._started = self._started or isinstance(message.report, Started)
            self._deliver(message.report)

    def finish(self, ended: Ended) -> None:
        """Tell the end, once; the worker is free before anybody hears of it."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._request = None
        self._released()
        if self._output is not None:
            self._output.close()
        self._deliver(ended)

    def _released(self) -> None:
        """Let go of the worker."""
        raise NotImplementedError


def _opened(emitted: Emitted) -> Emitted:
    """An emitted payload as the object it was; its class may be known in the other process only."""
    try:
        return Emitted(emitted.attempt, emitted.kind, load(emitted.payload))
    except Exception as error:
        return Emitted(emitted.attempt, emitted.kind, f"<a payload that cannot be read here: {error!r}>")
