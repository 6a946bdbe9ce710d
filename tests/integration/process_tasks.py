"""Tasks that the process tests submit; a module, so that another process can import them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

from chongming_task import RetryPolicy, TaskContext, Timeout, task


@task
def pid_of_worker() -> int:
    """Who ran it."""
    return os.getpid()


@task
def double(number: int) -> int:
    """Decorated: the module holds a TaskFunction, the worker needs what it wraps."""
    return 2 * number


def spin() -> None:
    """Pure Python, no call into C, no checkpoint."""
    while True:
        pass


def say_and_spin(where: str) -> None:
    """Leaves its pid and that of a child of its own, then spins."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    target = Path(where)
    target.with_suffix(".tmp").write_text(f"{os.getpid()} {child.pid}")
    target.with_suffix(".tmp").rename(target)
    spin()


def clean_up_at_stop(ctx: TaskContext, where: str) -> None:
    """Cooperative: leaves its pid, and at the stop a word."""
    Path(where).write_text(str(os.getpid()))
    try:
        while True:
            ctx.sleep(0.01)
    finally:
        Path(where).with_suffix(".clean").write_text("clean")


@task(timeout=Timeout(per_attempt=0.3, grace=0.2))
def overrun() -> None:
    """Never ends."""
    spin()


@task(timeout=Timeout(idle=0.4, grace=0.2))
def go_silent(ctx: TaskContext) -> None:
    """Passes checkpoints for longer than the limit, then none."""
    for _ in range(16):
        ctx.sleep(0.05)
    spin()


class SlowToLoad:
    """Takes for ever to arrive in another process."""

    def __init__(self, home: int) -> None:
        self.home = home

    def __setstate__(self, state: dict[str, int]) -> None:
        spin()


@task(timeout=Timeout(start=0.5, grace=0.2))
def never_begins(argument: object) -> None:
    """Its argument never arrives."""


@task(retry=RetryPolicy(max_attempts=2))
def crash_at_first(ctx: TaskContext) -> int:
    """Crashes the first time."""
    if ctx.attempt == 1:
        os._exit(3)
    return ctx.attempt


def exit_at_once(code: int) -> None:
    """Ends the process past everything."""
    os._exit(code)


def segfault() -> None:
    """Reads where nothing is."""
    ctypes.string_at(0)


def kill_yourself() -> None:
    """As the system does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def leave_a_fork_and_die() -> None:
    """The fork holds the line to the controller open."""
    if os.fork() == 0:
        time.sleep(5)
        os._exit(0)
    os._exit(9)


def write_into_the_line() -> None:
    """What no task should do: the only socket here is the worker's own."""
    for descriptor in range(3, 32):
        with contextlib.suppress(OSError):  # not open
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"\xff" * 64)


class DiesOnArrival:
    """Ends the process that it arrives in."""

    def __reduce__(self) -> object:
        return os._exit, (4,)


def take(argument: object) -> str:
    """Takes anything."""
    return repr(argument)


def big(size: int) -> str:
    """Returns much."""
    return "x" * size


def flood(ctx: TaskContext, size: int, times: int) -> None:
    """Emits much."""
    for _ in range(times):
        ctx.emit("chunk", b"x" * size)


def emit_a_lock(ctx: TaskContext) -> None:
    """Emits what cannot cross."""
    ctx.emit("lock", threading.Lock())


def surroundings() -> list[object]:
    """What the worker looks like, and a change that must not last."""
    found = [os.environ.get("CHONGMING_TEST"), str(Path.cwd())]
    os.environ["CHONGMING_TEST"] = "dirty"
    os.chdir("/")
    return found


class OwnError(Exception):
    """An exception of the task's own."""

    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(f"{detail} ({code})")


@task(retry=RetryPolicy(max_attempts=2, give_up_on=(OwnError,)))
def fail_for_good() -> None:
    """Raises what the policy does not answer."""
    raise OwnError(7, detail="no use")
