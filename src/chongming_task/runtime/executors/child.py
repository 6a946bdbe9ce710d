"""What runs in a worker process: one attempt after the other, in its main thread.

A second thread listens to the controller: stops and pauses reach the attempt's own token at once. The same thread sends
the attempt's vital signs, and ends the process when the controller's process is gone.
"""

from __future__ import annotations

import faulthandler
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import describe_exception
from chongming_task.core.ports import AttemptRequest, Emitted, OutputSource, OutputWritten, ProgressReported, Report
from chongming_task.core.records import Progress
from chongming_task.core.triggers import Ended
from chongming_task.errors import ConfigurationError
from chongming_task.runtime import capture
from chongming_task.runtime.executors.pickling import dump, load
from chongming_task.runtime.executors.wire import (
    Beat,
    Frames,
    Pause,
    Quit,
    Ready,
    Resume,
    Run,
    Stop,
    Surroundings,
    Told,
    Wrote,
    pack,
)
from chongming_task.runtime.invoke import invoke
from chongming_task.runtime.token import CancellationToken

__all__ = ["main"]

_BEAT_SECONDS = 0.1  # how often the vital signs of a running attempt go out, if they changed
_LOOK_SECONDS = 2.0  # how often an idle worker looks whether its parent lives
_CHUNK = 1 << 16  # bytes read at once
_FAREWELL_SECONDS = 2.0  # what is left of the task may take this long when the process has to end


class Channel(Protocol):
    """The line to the controller's process."""

    def fileno(self) -> int:
        """What to wait for."""
        ...

    def receive(self) -> bytes:
        """What has come; empty when the other end is gone."""
        ...

    def send(self, data: bytes) -> None:
        """Send all of it."""
        ...


class Attempt:
    """The attempt that runs now, and what it says.

    Args:
        run: What to run.
        send: Takes messages to the controller's process.
    """

    def __init__(self, run: Run, send: Callable[[Any], None]) -> None:
        self.run = run
        self.token = CancellationToken(run.attempt, self.deliver)
        self._send = send
        self._signs: tuple[float | None, Progress | None] = (None, None)  # last sent
        self._source: OutputSource | None = None  # of output that waits to be relayed
        self._relaying = threading.Lock()  # the listener relays on the way, the task's thread at the end

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
        self._send(Told(self.run.serial, report))

    def relay(self) -> None:
        """Send what the attempt has written."""
        with self._relaying:
            source = self._source
            batch = None if source is None else source.take()
            if batch is not None:
                self._send(Wrote(self.run.serial, batch))
            if source is self._source and (batch is None or batch.final):
                self._source = None  # until the next word of it

    def beat(self, *, news: bool = False) -> None:
        """Send the vital signs, if they changed or are ``news``."""
        signs = self.token.last_checkpoint, self.token.progress
        if news or signs != self._signs:
            self._signs = signs
            age = None if signs[0] is None else time.monotonic() - signs[0]  # negative: it sleeps till then
            self._send(Beat(self.run.serial, age, signs[1], news))


class Child:
    """A worker process.

    Args:
        channel: The line to the controller's process.
        parent: The pid of that process; None where the system does not tell a child that it is gone.
    """

    def __init__(self, channel: Channel, parent: int | None) -> None:
        self._channel = channel
        self._sending = threading.Lock()  # the task's threads and the listener share the line
        self._attempts: SimpleQueue[Attempt | None] = SimpleQueue()
        self._current: Attempt | None = None
        self._parent = parent

    def serve(self) -> None:
        """Run attempts until there are no more to come."""
        capture.start()
        threading.Thread(target=self._listen, name="chongming-listener", daemon=True).start()
        self._send(Ready())
        while (attempt := self._attempts.get()) is not None:
            ended = _run(attempt)
            _flush()
            attempt.beat()
            attempt.relay()
            self._current = None
            self._send(Told(attempt.run.serial, ended))
            del attempt, ended  # an idle worker holds on to nothing

    def _send(self, message: Any) -> None:
        frame = pack(message)
        with self._sending:
            self._channel.send(frame)

    def _listen(self) -> None:
        """The listener's thread: obey until the controller is gone."""
        try:
            frames = Frames()
            while self._wait() and (data := self._channel.receive()):
                for message in frames.feed(data):
                    self._obey(message)
        except OSError:  # gone, and it had not read everything
            return
        finally:
            self._farewell()

    def _wait(self) -> bool:
        """Wait for word from the controller; False when there is nobody any more."""
        while True:
            attempt = self._current
            patience = _LOOK_SECONDS if attempt is None else _BEAT_SECONDS
            if select.select([self._channel], [], [], patience)[0]:
                return True
            if self._parent not in (None, os.getppid()):  # others may hold the line open: whoever it has forked
                return False
            if attempt is not None:
                attempt.beat()
                attempt.relay()

    def _obey(self, message: Run | Stop | Pause | Resume | Quit) -> None:
        attempt = self._current
        if isinstance(message, Run):
            attempt = self._current = Attempt(message, self._send)
            self._attempts.put(attempt)
        elif isinstance(message, Quit):
            self._attempts.put(None)
        elif attempt is None or attempt.run.serial != message.serial:
            return  # it has ended meanwhile
        elif isinstance(message, Stop):
            attempt.token.stop(message.reason)
        elif isinstance(message, Pause):
            attempt.token.pause(message.request)
        else:
            attempt.token.resume()

    def _farewell(self) -> None:
        """Stop the task, give it a moment for its cleanup, and end, whatever it does."""
        attempt = self._current
        if attempt is not None:
            attempt.token.stop(StopReason.STOP)
        self._attempts.put(None)
        end_within(_FAREWELL_SECONDS)


def _run(attempt: Attempt) -> Ended:
    """One attempt, to its end, whatever that is."""
    try:
        request = _request(attempt.run)
    except BaseException as error:  # imports and __setstate__ are user code: what they raise ends the attempt only
        return Ended(attempt.run.attempt, failure=describe_exception(error, retryable=True))
    return invoke(request, attempt.token, attempt.deliver, keep=lambda error: None, pid=os.getpid())


def _request(run: Run) -> AttemptRequest:
    _settle_in(run.surroundings)
    request: AttemptRequest = load(run.request)
    return request


def _settle_in(there: Surroundings) -> None:
    """Look like the controller's process: it, or an earlier task here, may have changed these."""
    sys.path[:] = there.path
    if dict(os.environ) != there.environ:
        os.environ.clear()
        os.environ.update(there.environ)
    if there.cwd is not None:
        os.chdir(there.cwd)


def _payload(emitted: Emitted) -> bytes:
    try:
        return dump(emitted.payload)
    except Exception as error:
        raise ConfigurationError(
            f"emit({emitted.kind!r}, ...) cannot send that payload to the controller's process: "
            f"{type(error).__name__}: {error}. Emit plain data"
        ) from error


def _flush() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            if stream is not None:
                stream.flush()
        except Exception:  # the task has closed or replaced it: the next one gets the process's own again
            setattr(sys, name, getattr(sys, f"__{name}__"))


def end_within(seconds: float) -> None:
    """End this process in a while, even if the interpreter does not: the task may have left threads behind."""
    watch = threading.Timer(seconds, os._exit, [1])
    watch.name, watch.daemon = "chongming-watchdog", True
    watch.start()


class _Pipe:
    """The line where a descriptor is inherited."""

    def __init__(self, descriptor: int) -> None:
        # The lowest free number, since select knows none above 1023 and our parent may have more open; and one that a
        # program which the task starts does not inherit, so that it cannot hold the line open.
        self._descriptor = os.dup(descriptor)
        os.close(descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def receive(self) -> bytes:
        return os.read(self._descriptor, _CHUNK)

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


class _Socket:
    """The line on Windows, where a socket is handed over by value."""

    def __init__(self, shared: bytes) -> None:
        import socket  # costs 5 ms that nobody else pays

        self._socket = socket.fromshare(shared)  # type: ignore[attr-defined,unused-ignore]  # Windows only

    def fileno(self) -> int:
        return int(self._socket.fileno())

    def receive(self) -> bytes:
        return bytes(self._socket.recv(_CHUNK))

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)


def main() -> None:
    """Serve the process that started this one.

    The arguments are the descriptor of the line and the pid of that process; on Windows, where a child cannot inherit
    the one nor learn the end of the other, there are none, and the line comes on stdin.
    """
    if sys.stderr is not None:
        faulthandler.enable()  # a crash says where
    if sys.argv[1:]:
        descriptor, pid = map(int, sys.argv[1:])
        child = Child(_Pipe(descriptor), pid)
    else:
        child = Child(_Socket(sys.stdin.buffer.read()), None)
    try:
        child.serve()
    except (KeyboardInterrupt, OSError):  # told by hand to end, or the controller's process is gone
        pass
    end_within(_FAREWELL_SECONDS)
