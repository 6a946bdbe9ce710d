"""Processes that begin within milliseconds: forked by one that has loaded the library and a script, and done nothing.

Each is a process of its own, with pipes of its own, and can be stopped and killed like any other.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

PATIENCE_SECONDS = 30.0
_LONGEST = 65_536  # bytes of one request


class Forged:
    """A process that runs one function of the forge's script.

    Args:
        pid: Of the process.
        stdin: What it reads.
        stdout: What it prints.
    """

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid = pid
        self.stdin = os.fdopen(stdin, "w", buffering=1)
        self.stdout = os.fdopen(stdout, "r")
        self._handle = os.pidfd_open(pid)

    def readline(self, seconds: float = PATIENCE_SECONDS) -> str:
        """The next line it prints; "" when it has ended. Only for one that prints a line at a time, when asked."""
        assert select.select([self.stdout], [], [], seconds)[0], f"process {self.pid} is silent for {seconds} s"
        return self.stdout.readline().rstrip("\n")

    def tell(self, line: str) -> None:
        """A line for it to read."""
        self.stdin.write(line + "\n")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens when it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> list[str]:
        """Kill it, wait until it is gone, and give the whole lines that were not read yet."""
        self.signal(signal.SIGKILL)
        self.wait()
        return self.stdout.read().split("\n")[:-1]

    def wait(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until it is gone."""
        assert select.select([self._handle], [], [], seconds)[0], f"process {self.pid} has not ended in {seconds} s"

    def close(self) -> None:
        """Kill it if it still runs, and let go of its pipes."""
        self.signal(signal.SIGKILL)
        self.wait()
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        os.close(self._handle)


class Forge:
    """Makes processes.

    Args:
        line: To the process that forks.
        stack: Ends what was made.
    """

    def __init__(self, line: socket.socket, stack: ExitStack) -> None:
        self._line = line
        self._stack = stack

    def start(self, function: str, *args: object) -> Forged:
        """A process that runs a function of the script."""
        to_read, stdin = os.pipe()
        stdout, to_write = os.pipe()
        socket.send_fds(self._line, [json.dumps([function, *map(str, args)]).encode()], [to_read, to_write])
        os.close(to_read)
        os.close(to_write)
        forged = Forged(int(self._line.recv(_LONGEST)), stdin, stdout)
        self._stack.callback(forged.close)
        return forged


@contextmanager
def forge(script: Path) -> Iterator[Forge]:
    """A forge for one script; at the end all that it made is gone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-W", "ignore", __file__, str(script), str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL) as process, ours:
        theirs.close()
        ours.settimeout(PATIENCE_SECONDS)
        with ExitStack() as stack:
            yield Forge(ours, stack)
        ours.close()  # it ends by itself
        process.wait(PATIENCE_SECONDS)


def _main(script: str, number: str) -> None:
    sys.path[0] = str(Path(__file__).parents[2])  # as in a test
    spec = importlib.util.spec_from_file_location(Path(script).stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that have ended
    line = socket.socket(fileno=int(number))
    while True:
        request, descriptors, _, _ = socket.recv_fds(line, _LONGEST, 2)
        if not request:
            return
        function, *args = json.loads(request)
        pid = os.fork()
        if pid == 0:
            line.close()
            _run(getattr(module, function), args, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        line.send(str(pid).encode())


def _run(function: Any, args: list[str], stdin: int, stdout: int) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.close(stdin)
    os.close(stdout)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    code = 1
    try:
        function(*args)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    _main(*sys.argv[1:])
