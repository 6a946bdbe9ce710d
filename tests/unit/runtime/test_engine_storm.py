"""Random storms: thousands of events from a seed, and at the end nothing is held and the history is a possible one."""

from __future__ import annotations

import random

import pytest

from chongming_task import ConcurrencyPolicy, ExponentialBackoff, FailureKind, MemoryTaskStore, RetryPolicy, Timeout
from chongming_task.core.failures import Failure
from chongming_task.core.triggers import Ended, Held, Started
from chongming_task.errors import TaskError
from chongming_task.testing import ManualExecutor, check_audit
from tests.support.rig import Rig

STATUSES = [
    "pending",
    "queued",
    "paused",
    "running",
    "stopping",
    "succeeded",
    "failed",
    "stopped",
    "lost",
    "retry_wait",
]


class RoughExecutor(ManualExecutor):
    """Refuses a launch now and then; some of its workers can be killed."""

    def __init__(self, clock, dice):
        super().__init__(clock)
        self.dice = dice

    def launch(self, request, deliver):
        if self.dice.random() < 0.05:
            raise OSError("no worker to be had")
        execution = super().launch(request, deliver)
        execution.killable = self.dice.random() < 0.5
        return execution


class RoughStore(MemoryTaskStore):
    """Fails for a while now and then."""

    broken = False

    def commit(self, writes):
        if self.broken:
            raise OSError("disk full")
        return super().commit(writes)

    def touch(self, touches):
        if self.broken:
            raise OSError("disk full")
        super().touch(touches)


class Storm:
    """One seeded scenario."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.rig = Rig(
            RoughStore(),
            executor=RoughExecutor(None, self.dice),
            concurrency=ConcurrencyPolicy(
                max_parallel=self.dice.choice([1, 3, 10, None]), limits={"db": 2, "gpu": 1}, max_parallel_per_bucket=2
            ),
            keep_terminal=self.dice.choice([0, 5, 1000]),
        )
        self.rig.executor._monotonic = self.rig.clock.monotonic
        self.rig.engine.reports._dice = self.dice.random
        self.handles = []

    def step(self):
        """One thing happens."""
        acts = [self.submit] * 3 + [self.ask] * 6 + [self.work] * 12 + [self.time] * 4 + [self.odd] * 2
        self.dice.choice(acts)()
        if self.dice.random() < 0.5:
            self.rig.engine.tick()

    def submit(self):
        self.handles.append(
            self.rig.controller.submit(
                print,
                tags=self.dice.sample(["db", "gpu", "free"], self.dice.randint(0, 2)),
                bucket_key=self.dice.choice([None, "a", "b"]),
                priority=self.dice.randint(-2, 2),
                retry=RetryPolicy(self.dice.randint(1, 4), backoff=ExponentialBackoff(base=2)),
                timeout=self.dice.choice([Timeout(), Timeout(start=5, per_attempt=20, idle=8, grace=3)]),
                start=self.dice.random() < 0.9,
            )
        )

    def ask(self):
        if not self.handles:
            return
        verbs = ["start", "stop", "pause", "pause", "resume", "resume", "cancel", "retry", "skip", "reset"]
        self.rig.controller.ask(
            self.dice.choice(verbs),
            [handle.id for handle in self.dice.sample(self.handles, min(3, len(self.handles)))],
            actor="storm",
            done=lambda answers: None,
            force=self.dice.random() < 0.3,
            graceful=self.dice.random() < 0.8,
            timeout=self.dice.choice([0, 1, 5, 30]),
        )

    def work(self):
        running = self.rig.executor.running
        if not running:
            return
        worker = self.dice.choice(running)
        lost = Failure(FailureKind.LOST, "gone")
        self.dice.choice(
            [
                worker.begin,
                worker.begin,
                worker.checkpoint,
                worker.checkpoint,
                worker.checkpoint,
                lambda: worker.report(self.dice.random(), 1),
                worker.finish,
                lambda: worker.fail(ValueError("x")),
                lambda: worker.fail(lost) if self.dice.random() < 0.3 else None,
            ]
        )()

    def time(self):
        if self.dice.random() < 0.1:
            self.rig.clock.jump(self.dice.uniform(-1e6, 1e6))
        self.rig.clock.advance(self.dice.choice([0, 0.5, 3, 3, 10]))

    def odd(self):
        """What should not happen, and does."""
        self.rig.store.broken = self.dice.random() < 0.3
        if self.rig.executor.launched and self.dice.random() < 0.7:
            worker = self.dice.choice(self.rig.executor.launched)
            report = self.dice.choice([Started(1), Held(1, self.dice.randint(1, 9)), Ended(1, "again"), Ended(2)])
            if isinstance(report, Ended) and worker.running:
                return  # an executor never says that what runs has ended
            worker.deliver_again(report)
        elif self.handles:
            handle = self.dice.choice(self.handles)
            try:
                handle.force_transition(self.dice.choice(STATUSES), reason="storm", actor="storm")
            except TaskError:
                return

    def calm(self):
        """Let everything come to its end."""
        self.rig.store.broken = False
        for handle in self.handles:
            try:
                handle.stop(timeout=1, wait=False)
            except TaskError:
                continue
        for _ in range(3):
            for worker in self.rig.executor.running:
                worker.checkpoint()
            self.rig.advance(20)
        for worker in self.rig.executor.running:
            worker.finish()
        self.rig.settle()


@pytest.mark.parametrize("seed", range(40))
def test_a_storm_leaves_nothing_behind(seed, caplog):
    """No slot is held, no timer left, no worker listed, no message lost; the audit finds no fault."""
    storm = Storm(seed)
    for _ in range(400):
        storm.step()
        live = {task_id for task_id, each in storm.rig.engine.tasks.items() if each.draft.live}
        assert set(storm.rig.engine.ready.holding) == live
    storm.calm()
    rig = storm.rig
    assert not rig.engine.ready.holding
    assert len(rig.engine.ready) == 0
    assert rig.engine.ready.usage(("tag", "db")) == (0, 2)
    assert len(rig.engine.timers) == 0
    assert rig.engine.journal.behind == 0
    assert rig.controller.abandoned() == []
    assert rig.controller.desynced_tasks == []
    assert {str(h.status) for h in storm.handles if not h.snapshot.is_terminal} == set()
    assert check_audit(rig.store, settled=True) == len(storm.handles)
    for handle in storm.handles:
        stored = rig.store.get(handle.id)
        assert stored.status == handle.status
        assert not stored.abandoned
        assert all(attempt.seconds is None or attempt.seconds >= 0 for attempt in handle.attempts)
    told = [record for record in caplog.records if record.name == "chongming_task.engine"]
    assert {record.getMessage().split(" ")[0] for record in told} <= {"could"}  # "could not launch", on purpose
    rig.controller.close()
