"""Whose records are whose, and whether that process still lives.

An owner calls itself ``host:pid:start`` by default. On its own host the process table tells the truth at once: a task
that hogs the interpreter for minutes is not taken for dead, and a dead one is found without waiting. Of owners on other
hosts, and of those with names of their own, nothing can be told from here: their records are taken for watched, unless
they carry a lease that is over.
"""

from __future__ import annotations

import os
from datetime import datetime

from chongming_task.core.records import TaskSnapshot

__all__ = ["is_orphan", "this_process"]


def this_process() -> str:
    """What a controller of this process calls itself."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_started(pid) or 0}"


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")


def is_orphan(task: TaskSnapshot, now: datetime) -> bool:
    """Whether nobody watches a record any more.

    Args:
        task: A record that has not ended.
        now: The wall clock.
    """
    alive = _is_alive(task.owner) if task.owner else None
    if alive is not None:
        return not alive
    return task.lease_until is not None and task.lease_until <= now


def _is_alive(owner: str) -> bool | None:
    """What the process table says; None where it cannot say anything: another host, a name that is no process."""
    host, _, rest = owner.rpartition(":")
    host, _, pid = host.rpartition(":")
    if host != _host() or not pid.isdecimal() or not rest.isdecimal():
        return None
    started = _started(int(pid))
    if started is None:
        return _exists(int(pid))
    return started == int(rest)


def _exists(pid: int) -> bool | None:
    if os.name == "nt":  # there a signal of 0 would end the process
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, but there
        return True
    return True


def _started(pid: int) -> int | None:
    """When a process began, in the system's own unit; None where that cannot be told, or there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs 6 ms
            text = file.read()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])
