"""What the processes do that `test_kills.py` kills: one works, one commands, one takes over."""

from __future__ import annotations

import json
import logging
import os
import random
import sys
from contextlib import suppress
from itertools import count

from chongming_task import Controller, FixedBackoff, RetryPolicy, TaskError, task
from chongming_task.core.states import TERMINAL, Verb

if "pytest" not in sys.modules:  # in a process of its own
    logging.getLogger("chongming_task.task").addHandler(logging.NullHandler())  # many fail and are lost, as they should
OPEN = 16  # records a worker has at once
VERBS = (Verb.STOP, Verb.CANCEL, Verb.PAUSE, Verb.RESUME, Verb.RETRY, Verb.SKIP)


@task(restartable=True)
def walk(ctx, steps: int) -> int:
    """Goes on in another process, from the beginning."""
    for number in range(steps):
        print("step", number)
        ctx.sleep(0.003)
    return steps


@task
def stroll(ctx, steps: int) -> int:
    """Ends with its process."""
    return walk(ctx, steps)


@task(restartable=True, retry=RetryPolicy(max_attempts=4, backoff=FixedBackoff(0.02)))
def stumble(ctx) -> int:
    """Needs a few attempts."""
    if ctx.attempt < 3:
        raise OSError("again")
    return ctx.attempt


@task(restartable=True)
def stay(ctx) -> None:
    """Runs until it is stopped."""
    while True:
        ctx.sleep(60)


def opened(path: str) -> Controller:
    """A controller that can run them all."""
    controller = Controller(store=path, max_parallel=6, echo=False)
    controller.register_all(walk, stumble, stay)
    return controller


def work(path: str, seed: str) -> None:
    """Submit and steer without end; prints the ids of records that are stored."""
    controller, dice = opened(path), random.Random(seed)
    handles = []
    while True:
        new = [
            controller.submit(walk, dice.randrange(20)),
            controller.submit(stroll, dice.randrange(20), start=dice.random() < 0.8),
            controller.submit(stumble),
            controller.submit(stay),
        ]
        controller.counts()  # which waits until they are stored
        print("\n".join(handle.id for handle in new), flush=True)
        handles += new
        for handle in dice.sample(handles, min(4, len(handles))):
            verb = dice.choice(["pause", "resume", "stop", "pause", "cancel"])
            with suppress(TaskError):
                options = {} if verb == "resume" else {"wait": False}
                getattr(controller, verb)(handle.id, **options)
        handles = [handle for handle in handles if handle.status not in TERMINAL]
        while len(handles) > OPEN:
            with suppress(TaskError):
                handles.pop(0).stop(timeout=5)


def command(path: str, seed: str) -> None:
    """Ask things of others' newest records without end; prints the reason of every command that is stored."""
    controller, dice = opened(path), random.Random(seed)
    for number in count():
        found = controller.list_tasks(limit=24)
        if not found:
            continue
        wanted, verb = dice.choice(found).task_id, dice.choice(VERBS)
        reason = f"command {os.getpid()}-{number}"
        options = {"wait": False} if verb in (Verb.STOP, Verb.CANCEL, Verb.PAUSE) else {}
        with suppress(TaskError):  # what is no verb for it as it stands, or was taken over by somebody else just now
            getattr(controller, verb)(wanted, reason=reason, **options)
        if any(sent.args["reason"] == reason for sent in controller.commands(wanted)):
            print(reason, flush=True)


def take_over(path: str, on_orphan: str) -> None:
    """Reconcile, let what can end come to its end, and leave; prints what was found."""
    controller = opened(path)
    print("begins", flush=True)
    report = controller.reconcile(on_orphan=on_orphan)
    print(json.dumps(report._asdict()), flush=True)
    controller.close(timeout=5)
    print("closed", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
