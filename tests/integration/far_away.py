"""A controller whose process the others cannot see, as one on another machine; `test_fencing.py` stops and wakes it."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from chongming_task import Controller, SqliteTaskStore, TaskError, task
from chongming_task.core.records import OwnerLease

if "pytest" not in sys.modules:  # in a process of its own
    logging.getLogger("chongming_task").addHandler(logging.NullHandler())  # it is told that it has lost its records
LEASE_SECONDS = 1.0
PATIENCE_SECONDS = 20.0


class FarAway(SqliteTaskStore):
    """Says nothing of a process: whether its controller lives is told by its lease alone."""

    def renew_owner(self, lease: OwnerLease) -> None:
        """As on another machine, whose process table nobody here can read."""
        super().renew_owner(lease._replace(process=None))


def note(folder: str, word: str) -> None:
    """One whole line, with this process."""
    with Path(folder, "log").open("a", encoding="utf-8") as file:
        file.write(f"{word} {os.getpid()}\n")


@task(restartable=True)
def quiet(ctx, folder: str) -> None:
    """Changes nothing that its controller would have to store."""
    note(folder, "quiet begins")
    try:
        while True:
            ctx.sleep(60)
    finally:
        note(folder, "quiet ends")


@task(restartable=True)
def busy(ctx, folder: str) -> None:
    """Always has news."""
    note(folder, "busy begins")
    try:
        for number in range(1_000_000):
            ctx.progress(number, 1_000_000, message=str(os.getpid()))
            ctx.sleep(0.01)
    finally:
        note(folder, "busy ends")


@task(restartable=True)
def late(ctx, folder: str) -> int:
    """Looks at no checkpoint, and returns as soon as it may: which process it was."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not Path(folder, f"return {ctx.attempt}").exists() and time.monotonic() < until:
        time.sleep(0.005)
    return os.getpid()


def run(path: str, folder: str) -> None:
    """Run one of each; then tell what their handles show, when they are let go of and when they have ended."""
    controller = Controller(FarAway(path), lease_ttl=LEASE_SECONDS, echo=False)
    handles = [controller.submit(each, folder) for each in (quiet, busy, late)]
    for handle in handles:
        handle.wait_for("running", timeout=PATIENCE_SECONDS)
    print(json.dumps([handle.id for handle in handles]), flush=True)
    for line in sys.stdin:
        if line == "let go\n":  # of what is not ours any more
            until = time.monotonic() + PATIENCE_SECONDS
            while any(handle.running or handle.snapshot.owner == controller.owner for handle in handles):
                assert time.monotonic() < until, handles
                time.sleep(0.01)
        told = {}
        for handle in handles:
            handle.wait_for(*(["running"] if line == "let go\n" else []), "stopped", timeout=PATIENCE_SECONDS)
            told[handle.name] = {"status": handle.status, "owner": handle.snapshot.owner, "running": handle.running}
            with suppress(TaskError, TimeoutError):
                told[handle.name]["result"] = handle.result(timeout=0)
        told["desynced"] = controller.desynced_tasks
        print(json.dumps(told), flush=True)
    controller.close(timeout=5)
