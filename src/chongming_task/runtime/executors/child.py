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
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import describe_exception
from chongming_task.core.ports import AttemptRequest
from chongming_task.core.triggers import Ended
from chongming_task.runtime import capture
from chongming_task.runtime.executors.pickling import load
from chongming_task.runtime.executors.relay import Relay
from chongming_task.runtime.executors.wire import (
    Frames,
    Pause,
    Quit,
    Ready,
    Resume,
    Run,
    Stop,
    Surroundings,
    Told,
    pack,
)
from chongming_task.runtime.invoke import invoke

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


class Attempt(Relay):
    """The attempt that runs now.

    Args:
        run: What to run.
        send: Takes messages to the controller's process.
    """

    def __init__(self, run: Run, send: Callable[[Any], None]) -> None:
        super().__init__(run.serial, run.attempt, send)
        self.run = run


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
            self._send(Told(attempt.serial, ended))
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
        elif attempt is not None and attempt.serial == message.serial:  # else it has ended meanwhile
            attempt.obey(message)

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
