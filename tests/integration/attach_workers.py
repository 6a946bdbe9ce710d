"""What the processes do that `test_attach.py` attaches to: they work, and do as they are told, a line at a time."""

from __future__ import annotations

import logging
import sys

from chongming_task import Controller, task

if "pytest" not in sys.modules:  # in a process of its own
    logging.getLogger("chongming_task.task").addHandler(logging.NullHandler())  # some fail and are lost, as they should


@task(restartable=True)
def spin(ctx) -> None:
    """Reports and says how far it has come, until it is stopped."""
    done = 0
    while True:
        ctx.sleep(0.02)
        done += 1
        ctx.progress(done, 100_000, "rows")
        if done == 1:
            print("it spins", flush=True)


@task
def fail_once(ctx) -> str:
    """Only its first attempt fails."""
    if ctx.attempt == 1:
        raise ValueError("once")
    return "done"


def serve(target: str, slots: str = "4") -> None:
    """Submit what is told: a task's name, and "spin later" for one that is not started. Prints the id of each."""
    controller = Controller(store=target, max_parallel=int(slots), echo=False)
    print("ready", flush=True)
    for line in sys.stdin:
        name, _, later = line.strip().partition(" ")
        if name == "close":
            controller.close(timeout=5)
            print("closed", flush=True)
            return
        if name == "reconcile":
            controller.register(spin)
            report = controller.reconcile(on_orphan="mark")
            print(len(report.lost), len(report.adopted), len(report.cancelled), flush=True)
            continue
        handle = controller.submit({"spin": spin, "fail_once": fail_once}[name], start=not later)
        controller.counts()  # which waits until it is stored
        print(handle.id, flush=True)
