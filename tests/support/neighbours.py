"""Two controllers in two processes on one store: both submit, run, and steer each other's records."""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chongming_task import Controller, FixedBackoff, RetryPolicy, TaskError, task
from chongming_task.core.ports import TaskStore
from chongming_task.core.records import Command
from chongming_task.core.states import Verb
from chongming_task.testing import check_audit
from tests.support.evidence import answered_once, none_ran_twice_at_once, nothing_lost_or_doubled
from tests.support.forge import forge

if "pytest" not in sys.modules:  # in a process of its own
    logging.getLogger("chongming_task.task").addHandler(logging.NullHandler())  # some fail, as they should
SLOTS = 8
OPEN = 24  # records that each has at once
COMMANDS_BETWEEN_LOOKS = 20
HELD = 3  # as many of its own may be paused
REST_SECONDS = 0.02  # between two commands of one sender, and between two looks for answers
VERBS = (Verb.STOP, Verb.PAUSE, Verb.RESUME, Verb.RETRY, Verb.CANCEL, Verb.SKIP)
PATIENCE_SECONDS = 20.0


def note(log: str, task_id: str, what: str) -> None:
    """One line, whole, whoever else writes."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{task_id} {what} {time.monotonic_ns()}\n".encode())
    os.close(file)


@task(restartable=True, retry=RetryPolicy(max_attempts=4, backoff=FixedBackoff(0.05)))
def shift(ctx, log: str, steps: int, failures: int) -> int:
    """Says when it begins and ends; its first attempts fail. Either could run it, so nothing but the rules keeps it at
    one."""
    note(log, ctx.task_id, "begins")
    try:
        for _ in range(steps):
            ctx.sleep(0.02)
        if ctx.attempt <= failures:
            raise OSError("not yet")
        return steps
    finally:
        note(log, ctx.task_id, "ends")


class Neighbour:
    """One of them.

    Args:
        store: Where they meet.
        log: Where attempts say when they begin and end.
    """

    def __init__(self, store: str, log: str) -> None:
        self.controller = Controller(store=store, max_parallel=SLOTS, echo=False)
        self.controller.register(shift)
        self.log = log
        self.dice = random.Random(os.getpid())
        self.handles: list = []
        self.sent = 0
        self.waiting: dict[str, datetime] = {}  # commands by id, and when they were made
        self.seconds: list[float] = []  # from there until the answer was seen here
        self.over = threading.Event()

    def submit(self) -> None:
        """As many as are missing; and let go on what others have paused for long."""
        self.handles = [handle for handle in self.handles if not handle.snapshot.is_terminal]
        for _ in range(OPEN - len(self.handles)):
            self.handles.append(
                self.controller.submit(shift, self.log, self.dice.randrange(20), self.dice.choice([0, 0, 0, 1, 2]))
            )
        for handle in [handle for handle in self.handles if handle.status == "paused"][HELD:]:
            with suppress(TaskError):
                handle.resume()

    def command(self) -> None:
        """Ask one thing of a record of the other."""
        theirs = [each for each in self.controller.list_tasks(limit=60) if each.owner != self.controller.owner]
        if not theirs:
            return
        wanted, verb = self.dice.choice(theirs).task_id, self.dice.choice(VERBS)
        reason = f"{os.getpid()}-{self.sent}"
        options = {"wait": False} if verb in (Verb.STOP, Verb.CANCEL, Verb.PAUSE) else {}
        try:
            getattr(self.controller, verb)(wanted, reason=reason, **options)
        except TaskError:  # no verb for it as it stands
            return
        (sent,) = [each for each in self.controller.commands(wanted) if each.args["reason"] == reason]
        self.waiting[sent.id] = sent.created_at
        self.sent += 1

    def watch(self) -> None:
        """See the answers, until all are there."""
        store, mark = self.controller._link.store, None
        while self.waiting or not self.over.is_set():
            mark = store.wait_for_change(0, mark)
            for command_id, made_at in list(self.waiting.items()):
                found = store.command(command_id)
                if found is not None and found.completed_at is not None:
                    self.seconds.append((datetime.now(UTC) - made_at).total_seconds())
                    del self.waiting[command_id]
            time.sleep(REST_SECONDS / 2)  # under load there is always news
            store.wait_for_change(0.5, mark)


def live(store: str, log: str, seconds: str) -> None:
    """Be one of them for so long. Prints "quiet" when it has an answer to everything, and its figures at the end."""
    one = Neighbour(store, log)
    watcher = threading.Thread(target=one.watch)
    watcher.start()
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        one.submit()
        one.command()
        if one.sent % COMMANDS_BETWEEN_LOOKS == 0:  # nobody is gone, so there is nothing to take over
            report = one.controller.reconcile(on_orphan="requeue")
            assert not any(report._replace(untouched=())), report
        time.sleep(REST_SECONDS)
    one.over.set()
    watcher.join(PATIENCE_SECONDS)
    print("quiet" if not watcher.is_alive() else f"no answer: {one.waiting}", flush=True)
    input()  # the other has all answers as well
    one.controller.close(timeout=5)
    print(json.dumps(one.seconds), flush=True)


@dataclass(frozen=True, slots=True)
class Story:
    """What two neighbours did."""

    records: int
    attempts: int
    commands: list[Command]
    answered: list[float]  # seconds from command to answer
    seen: list[float]  # and until its sender saw it


def tell(target: str, store: TaskStore, folder: Path, seconds: float) -> Story:
    """Let two live side by side, and prove that nothing was lost, and nothing ran twice at once.

    Args:
        target: What they open: a path or a DSN.
        store: The same, opened here.
        folder: For the log.
        seconds: How long.
    """
    log = folder / "log"
    with ExitStack() as stack:
        made = stack.enter_context(forge(Path(__file__)))
        both = [made.start("live", target, log, seconds) for _ in range(2)]
        for each in both:
            assert each.readline(seconds + 2 * PATIENCE_SECONDS) == "quiet"
        for each in both:
            each.tell("end")
        seen = [figure for each in both for figure in json.loads(each.readline())]
        for each in both:
            each.wait()
    nothing_lost_or_doubled(store)
    records = check_audit(store, settled=True)
    commands = answered_once(store, ())
    assert len(commands) == len(seen) > 0
    answered = [(command.completed_at - command.created_at).total_seconds() for command in commands]
    return Story(records, none_ran_twice_at_once(log), commands, answered, seen)


def figures(story: Story) -> tuple[float, float, float, float]:
    """Milliseconds: half and 95 of 100 commands are answered, and seen to be, within these."""
    return tuple(percentile_ms(values, share) for values in (story.answered, story.seen) for share in (0.5, 0.95))


def percentile_ms(values: Collection[float], share: float) -> float:
    """The value that a share of all does not exceed, in milliseconds."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] * 1e3
