"""What a test must not leave behind: threads, child processes, file descriptors, open controllers."""

from __future__ import annotations

import gc
import os
import threading
import time
from dataclasses import dataclass

import psutil

from chongming_task.runtime import capture

LIBRARY_PREFIX = "chongming-"  # every thread of the library is named so
LOOP_PREFIX = "asyncio_"  # an event loop keeps its pool until it ends; Playwright's outlives a test
PATIENCE_SECONDS = 3.0  # what was told to end may take this long
SPARE_DESCRIPTORS = 10  # caches of the interpreter and of libraries


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds at one moment."""

    threads: frozenset[threading.Thread]
    children: frozenset[psutil.Process]
    descriptors: int
    captures: int  # controllers that capture what is printed: open ones


def held() -> Held:
    """Takes stock."""
    me = psutil.Process()
    return Held(frozenset(threading.enumerate()), frozenset(me.children()), me.num_fds(), capture._capture.users)


def leaks(before: Held, *, check_threads: bool = True) -> list[str]:
    """One sentence for each thing that was not there `before`; things get a short time to end by themselves."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    found = _threads(before, deadline) if check_threads else []
    found += _children(before, deadline)
    if capture._capture.users > before.captures:
        found.append("a controller is open that captures what is printed")
    if psutil.Process().num_fds() > before.descriptors + SPARE_DESCRIPTORS:
        gc.collect()
        opened = psutil.Process().num_fds() - before.descriptors
        if opened > SPARE_DESCRIPTORS:
            found.append(f"{opened} more file descriptors are open than before the test")
    return found


def _threads(before: Held, deadline: float) -> list[str]:
    found = []
    for thread in frozenset(threading.enumerate()) - before.threads:
        if not thread.name.startswith(LIBRARY_PREFIX) and (thread.daemon or thread.name.startswith(LOOP_PREFIX)):
            continue
        if not _ended(thread, deadline):
            found.append(f"thread {thread.name!r} still runs")
    return found


def _ended(thread: threading.Thread, deadline: float) -> bool:
    """Whether a thread is over by then; one that is listed may only just be starting, and cannot be joined yet."""
    while True:
        try:
            thread.join(max(0.0, deadline - time.monotonic()))
        except RuntimeError:
            if time.monotonic() < deadline:
                os.sched_yield()
                continue
        return not thread.is_alive()


def _children(before: Held, deadline: float) -> list[str]:
    new = [child for child in psutil.Process().children() if child not in before.children]
    _, alive = psutil.wait_procs([c for c in new if not _outlives_tests(c)], max(0.0, deadline - time.monotonic()))
    return [f"child process {child.pid} still runs: {_command(child)[:200]}" for child in alive]


def _outlives_tests(child: psutil.Process) -> bool:
    """multiprocessing keeps one resource tracker for the whole run, on purpose."""
    return "multiprocessing.resource_tracker" in _command(child)


def _command(child: psutil.Process) -> str:
    try:
        return " ".join(child.cmdline())
    except psutil.Error:
        return "(ended)"
