"""Who watches records, and whether they still live.

Every controller holds one lease in its store, renewed however busy its tasks are. Beside the lease stands its process:
on the same machine the process table tells the truth at once, so that a task that hogs the interpreter for minutes is
not taken for dead, and a dead controller is found without waiting. Elsewhere the lease decides.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from datetime import datetime, timedelta

from chongming_task.core.records import OwnerLease, TaskSnapshot
from chongming_task.core.states import TERMINAL

__all__ = ["LEASE_SECONDS", "Watchers", "is_alive", "new_owner", "this_process"]

LEASE_SECONDS = 30.0
"""How long a controller that says nothing is taken to live."""

_serials = itertools.count(1)


def new_owner() -> str:
    """What the next controller of this process calls itself: ``host:pid:start:serial``; never used twice."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_started(pid) or 0}:{next(_serials)}"


def this_process() -> str:
    """This process as the others on the machine can find it: ``host:namespace:pid:start``."""
    pid = os.getpid()
    return f"{_host()}:{_namespace()}:{pid}:{_started(pid) or 0}"


class Watchers:
    """The controllers on a store at one moment.

    Args:
        leases: Theirs.
        now: The moment.
        lease_seconds: How long a record without any lease is taken to be watched, from its creation.
    """

    def __init__(self, leases: Iterable[OwnerLease], now: datetime, lease_seconds: float = LEASE_SECONDS) -> None:
        known = {lease.owner: lease for lease in leases}
        self.living = {owner: lease for owner, lease in known.items() if _lives(lease, now)}
        self.gone = known.keys() - self.living.keys()  # of these nobody lives
        self._known = known.keys()
        self._long_ago = now - timedelta(seconds=lease_seconds)

    def watch(self, task: TaskSnapshot) -> bool:
        """Whether somebody watches a record. One whose owner has no lease is given the time to get one, unless it has
        ended: then its owner has most likely been closed, and nothing is going on that could be disturbed."""
        if task.owner in self.living:
            return True
        return task.owner not in self._known and task.status not in TERMINAL and task.created_at > self._long_ago


def _lives(lease: OwnerLease, now: datetime) -> bool:
    found = None if lease.process is None else is_alive(lease.process)
    return lease.lease_until > now if found is None else found


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")


def _namespace() -> int:
    """Which process table this is: containers that share a host's name have tables of their own."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - pathlib costs 6 ms
    except OSError:
        return 0


def is_alive(process: str) -> bool | None:
    """Whether a process lives, by what it calls itself with :func:`this_process`.

    None where the process table cannot say anything: another machine, a name that is no process.
    """
    place, _, rest = process.rpartition(":")
    place, _, pid = place.rpartition(":")
    if place != f"{_host()}:{_namespace()}" or not pid.isdecimal() or not rest.isdecimal():
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
    """When a process began, in the system's own unit, 0 for a dead one that is still listed; None where that cannot be
    told, or there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs 6 ms
            text = file.read()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return 0 if fields[0] in "ZX" else int(fields[19])  # dead, and its parent has not looked yet
