"""An attempt on the far side of a line, in its worker's process: it obeys what comes, and what it says goes out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from chongming_task.core.ports import Emitted, OutputSource, OutputWritten, ProgressReported, Report
from chongming_task.core.records import Progress
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.executors.pickling import dump
from chongming_task.runtime.executors.wire import Beat, Pause, Resume, Stop, Told, Wrote
from chongming_task.runtime.token import CancellationToken

__all__ = ["Relay"]


class Relay:
    """What an attempt says and is told, on its worker's side.

    Args:
        serial: Of the launch; it marks everything said about it.
        attempt: The attempt's number.
        send: Takes messages to the controller's process.
    """

    def __init__(self, serial: int, attempt: int, send: Callable[[Any], None]) -> None:
        self.serial = serial
        self.token = CancellationToken(attempt, self.deliver)
        self._send = send
        self._signs: tuple[float | None, Progress | None] = (None, None)  # last sent
        self._source: OutputSource | None = None  # of output that waits to be relayed
        self._relaying = threading.Lock()  # the listener relays on the way, the task's thread at the end

    def obey(self, message: Stop | Pause | Resume) -> None:
        """Do what the controller's process says."""
        if isinstance(message, Stop):
            self.token.stop(message.reason)
        elif isinstance(message, Pause):
            self.token.pause(message.request)
        else:
            self.token.resume()

    def deliver(self, report: Report) -> None:
        """Send a report; an emitted payload goes as bytes, so that only its receiver can stumble over it."""
        if isinstance(report, ProgressReported):
            self.beat(news=True)
            return
        if isinstance(report, OutputWritten):
            self._source = report.source  # the next beat relays it
            return
        if isinstance(report, Emitted):
            report = Emitted(report.attempt, report.kind, _payload(report))
        self._send(Told(self.serial, report))

    def relay(self) -> None:
        """Send what the attempt has written."""
        with self._relaying:
            source = self._source
            batch = None if source is None else source.take()
            if batch is not None:
                self._send(Wrote(self.serial, batch))
            if source is self._source and (batch is None or batch.final):
                self._source = None  # until the next word of it

    def beat(self, *, news: bool = False) -> None:
        """Send the vital signs, if they changed or are ``news``."""
        signs = self.token.last_checkpoint, self.token.progress
        if news or signs != self._signs:
            self._signs = signs
            age = None if signs[0] is None else time.monotonic() - signs[0]  # negative: it sleeps till then
            self._send(Beat(self.serial, age, signs[1], news))


def _payload(emitted: Emitted) -> bytes:
    try:
        return dump(emitted.payload)
    except Exception as error:
        raise ConfigurationError(
            f"emit({emitted.kind!r}, ...) cannot send that payload to the controller's process: "
            f"{type(error).__name__}: {error}. Emit plain data"
        ) from error
