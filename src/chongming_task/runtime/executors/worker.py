"""A worker process, as the controller's process sees it: started, spoken to, listened to and ended.

Each has two threads here: one starts the process, drains its line and waits for its end; one writes. So neither a line
that is full nor a process that is slow to start can hold the engine up.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from chongming_task.runtime.executors.wire import Frames, Quit, pack

__all__ = ["Household", "Worker"]

_CHUNK = 1 << 18  # bytes read at once
_TERM_SECONDS = 0.5  # between being told to end and being ended
_ROOT = str(Path(__file__).resolve().parents[3])  # where this package is found
_CODE = f"import sys; sys.path.append({_ROOT!r}); from chongming_task.runtime.executors.child import main; main()"
_logger = logging.getLogger("chongming_task.engine")
_WINDOWS = sys.platform == "win32"


class Household(Protocol):
    """Who keeps workers. Called from the workers' threads."""

    def received(self, worker: Worker, message: Any) -> None:
        """A worker said something."""
        ...

    def idled(self, worker: Worker) -> None:
        """Nothing was heard of a worker for ``patience`` seconds."""
        ...

    def gone(self, worker: Worker, exit_code: int | None, error: Exception | None) -> None:
        """A worker's process has ended, or (without a code) could not be started. Nothing more comes from it."""
        ...


class Worker:
    """One process.

    Args:
        number: For the names of its threads.
        household: Hears of it.
        patience: Seconds of silence after which ``idled`` is called, again and again.
    """

    def __init__(self, number: int, household: Household, patience: float) -> None:
        self.tenant: Any = None  # what it runs; the household's own
        self.served = 0  # attempts so far; the household's own
        self.used = False  # an attempt was sent to it
        self.doomed = False  # not to be used again; the household's own
        self._number = number
        self._household = household
        self._patience = patience
        self._outbox: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._unwanted = False
        self._born = threading.Event()  # or could not be
        self._gone = threading.Event()

    def start(self) -> None:
        """Start the process, in the background."""
        self._thread("worker", self._keep)

    @property
    def alive(self) -> bool:
        """Whether the process is there, or on its way. Asks the system, not the line."""
        process = self._process
        return not self._gone.is_set() if process is None else process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process; None before it was started."""
        return None if self._process is None else self._process.pid

    def post(self, make: Callable[[], Any]) -> None:
        """Send what ``make`` returns, in the background and in order; nothing for None."""
        self._outbox.put(make)

    def dismiss(self) -> None:
        """Let an idle process end. One that never had an attempt holds nothing that wants a farewell."""
        if self.used:
            self.post(Quit)
        else:
            self._unwanted = True
            self.end_by_force()

    def end_by_force(self) -> None:
        """Terminate the process and what it started, and kill it if it is not gone in a moment. In the background."""
        self._thread("killer", self._kill)

    def _thread(self, role: str, run: Callable[[], None]) -> None:
        threading.Thread(target=run, name=f"chongming-{role}-{self._number}", daemon=True).start()

    def _kill(self) -> None:
        self._born.wait()
        self._signal("SIGTERM")
        if not self._gone.wait(_TERM_SECONDS):
            self._signal("SIGKILL")

    def _signal(self, name: str) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        if _WINDOWS:
            process.terminate()
            return
        try:
            os.killpg(process.pid, getattr(signal, name))  # it leads a group: what it started goes with it
        except ProcessLookupError:
            return  # gone by itself

    def _keep(self) -> None:
        """The worker's thread: from the start of the process to its end."""
        code, failed = None, None
        try:
            if self._unwanted:
                raise ChildProcessError("it was no longer wanted")
            process, line = _spawn()
        except Exception as error:  # no descriptors, no memory, no interpreter: told to whoever waits for it
            failed = error
            self._born.set()
        else:
            self._process = process
            self._born.set()
            self._thread("writer", lambda: self._write(line))
            self._listen(process, line)
            code = process.wait()
            self._outbox.put(None)
            _close(line)
        self._gone.set()
        self._household.gone(self, code, failed)

    def _listen(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        """Drain the line until the process has ended. Its death counts, not the end of the line: what the task has
        forked holds the line open."""
        frames = Frames()
        with _Ending(process) as ending, _selector() as selector:
            selector.register(line, selectors.EVENT_READ)
            selector.register(ending, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select(self._patience)]
                if ending in ready:
                    self._drain(line, frames)
                    return
                if not ready:
                    self._household.idled(self)
                elif not self._read(line, frames):
                    selector.unregister(line)  # it will say no more: whatever it does now, it is of no use
                    self.end_by_force()

    def _read(self, line: socket.socket, frames: Frames) -> bool:
        """Take what has come; False at the end of the line."""
        try:
            data = line.recv(_CHUNK)
            messages = list(frames.feed(data))
        except BlockingIOError:
            raise
        except Exception:  # reset; or the task wrote into our line, and nothing after it can be understood
            return False
        for message in messages:
            try:
                self._household.received(self, message)
            except Exception:  # a fault of ours: it must not cost the line, and with it the end of the attempt
                _logger.exception("could not take %s from worker process %s", type(message).__name__, self.pid)
        return bool(data)

    def _drain(self, line: socket.socket, frames: Frames) -> None:
        """Take what it said last."""
        line.settimeout(0.0)
        try:
            while self._read(line, frames):
                pass
        except BlockingIOError:
            return

    def _write(self, line: socket.socket) -> None:
        """The writer's thread."""
        while (make := self._outbox.get()) is not None:
            message = make()
            if message is None:
                continue
            try:
                line.sendall(pack(message))
            except OSError:  # the process is gone: the other thread tells
                return
            del make, message  # an idle worker holds on to nothing


def _spawn() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a fresh interpreter and give it one end of a line."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, *subprocess._args_from_interpreter_flags(), "-P", "-c", _CODE]  # type: ignore[attr-defined]
    try:
        if _WINDOWS:
            return _spawn_on_windows(command, theirs), ours
        process = subprocess.Popen(
            [*command, str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C, and a notebook's interrupt, are meant for the controller's process
        )
        return process, ours
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()


def _spawn_on_windows(command: list[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, creationflags=flags)
    assert process.stdin is not None
    process.stdin.write(theirs.share(process.pid))  # type: ignore[attr-defined,unused-ignore]  # Windows only
    process.stdin.close()
    return process


def _close(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)  # wakes the writer, should it still wait for somebody to read
    except OSError:
        pass  # the other end was closed first
    line.close()


def _selector() -> selectors.BaseSelector:
    """One that needs no descriptor of its own, and knows no limit where the system has one."""
    kind: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)
    return kind()


class _Ending:
    """The end of a process as something to wait for beside its line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        try:
            self._descriptor = os.pidfd_open(process.pid)
            self._bell: socket.socket | None = None
        except (AttributeError, OSError):  # not on Linux, or not allowed there: a thread waits and rings
            self._bell, ringer = socket.socketpair()
            self._descriptor = self._bell.fileno()
            threading.Thread(target=self._ring, args=(process, ringer), name="chongming-waiter", daemon=True).start()

    @staticmethod
    def _ring(process: subprocess.Popen[bytes], ringer: socket.socket) -> None:
        process.wait()
        ringer.close()

    def fileno(self) -> int:
        """What to wait for: readable once the process has ended."""
        return self._descriptor

    def __enter__(self) -> _Ending:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bell is not None:
            self._bell.close()
        else:
            os.close(self._descriptor)
