"""One record and everything that can happen to it, in any order, late and doubled: what must hold whatever comes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chongming_task.core.effects import Detach, Kill, Launch, SetTimer, Signal, TellWorker
from chongming_task.core.failures import TIMEOUT_KINDS, Failure, FailureKind
from chongming_task.core.policies import ExponentialBackoff, RetryPolicy, TaskPolicy, Timeout
from chongming_task.core.ports import Touch, Write
from chongming_task.core.records import TaskSnapshot, Transition
from chongming_task.core.rules import Step, step
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.states import OCCUPIED, REVIVABLE, TERMINAL, RequestedAction, TaskStatus, Verb, edge_exists
from chongming_task.core.triggers import (
    Asked,
    Dispatched,
    Elapsed,
    Ended,
    Forced,
    Held,
    Now,
    Orphaned,
    Resolved,
    Started,
    Timer,
    Trigger,
)
from chongming_task.core.verbs import refusal
from chongming_task.errors import AttemptsExhausted, StillRunning
from chongming_task.stores.memory import MemoryTaskStore
from chongming_task.testing import FakeClock, check_audit

S = TaskStatus
WORKER_NEWS = (Started, Held, Ended)
POLICY = TaskPolicy(
    RetryPolicy(max_attempts=3, backoff=ExponentialBackoff(base=4, jitter="full")),
    Timeout(start=10, per_attempt=60, idle=20),
)

attempts = st.sampled_from([0, -1, 1, -2])  # beside the present one
requests = st.sampled_from([0, -1, -2, 1])
limits = st.sampled_from(sorted(TIMEOUT_KINDS))
failures = st.builds(
    Failure, st.sampled_from(FailureKind), st.sampled_from(["", "boom", "boom\nmore"]), retryable=st.booleans()
)


def at(*statuses: TaskStatus) -> Callable[[OneRecord], bool]:
    """Where a rule makes sense, so that most steps lead on; nonsense comes from ``ask`` and ``late_news``."""
    return lambda machine: machine.task.status in statuses


class OneRecord(RuleBasedStateMachine):
    """Everything but overrides."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.store = MemoryTaskStore()
        self.open: int | None = None  # the attempt that was opened and not closed
        self.closed: set[int] = set()
        self.told_to_end = False  # by a person; only a person leads on
        self.given_up = False  # some worker was, and may still run

    @initialize(max_attempts=st.integers(1, 3))
    def submit(self, max_attempts: int) -> None:
        task = TaskSnapshot("t1", "demo", self.clock.now(), max_attempts=max_attempts)
        self.machine = StateMachine(task, self.clock.now, POLICY)
        assert not self.store.commit([Write(task, None)])

    # what can happen

    @rule(verb=st.sampled_from(Verb), force=st.booleans(), graceful=st.booleans(), blocked=st.booleans())
    def ask(self, verb: Verb, force: bool, graceful: bool, blocked: bool) -> None:
        before, asked = self.task, Asked(verb, "ada", "because", force, graceful, 7.0, blocked)
        refused = refusal(before, verb, force=force)
        if refused is None:
            made = self.happen(asked)
            assert {edge.actor for edge in made.transitions} <= {"ada"}
            return
        with pytest.raises(type(refused)) as caught:
            self.happen(asked)
        assert str(caught.value) == str(refused)
        assert self.task is before
        assert not isinstance(refused, StillRunning) or (before.abandoned and not force)
        assert not isinstance(refused, AttemptsExhausted) or (before.attempt >= before.max_attempts and not force)

    @precondition(at(S.PENDING, S.BLOCKED))
    @rule(blocked=st.booleans())
    def begin(self, blocked: bool) -> None:
        self.happen(Asked(Verb.START, blocked=blocked))

    @precondition(at(S.QUEUED))
    @rule()
    def grant(self) -> None:
        self.happen(Dispatched())

    @precondition(at(S.STARTING, S.PAUSING))
    @rule(pid=st.none() | st.integers(1, 9))
    def start(self, pid: int | None) -> None:
        self.happen(Started(self.task.attempt, pid))

    @precondition(at(S.STARTING, S.RUNNING))
    @rule()
    def pause(self) -> None:
        self.happen(Asked(Verb.PAUSE))

    @precondition(at(S.PAUSING))
    @rule()
    def hold(self) -> None:
        self.happen(Held(self.task.attempt, self.task.status_version))

    @precondition(at(S.STARTING, S.RUNNING, S.PAUSING, S.PAUSED))
    @rule(verb=st.sampled_from([Verb.STOP, Verb.CANCEL, Verb.RESUME]))
    def steer(self, verb: Verb) -> None:
        if refusal(self.task, verb) is None:
            self.happen(Asked(verb))

    @precondition(at(S.STARTING, S.RUNNING, S.PAUSING, S.PAUSED, S.STOPPING))
    @rule(failure=st.none() | failures, seconds=st.integers(0, 9))
    def end(self, failure: Failure | None, seconds: int) -> None:
        self.happen(Ended(self.task.attempt, "value", failure, float(seconds), seconds / 2))

    @precondition(at(S.STARTING, S.RUNNING, S.PAUSING, S.PAUSED, S.STOPPING))
    @rule(chance=st.floats(0, 1, exclude_max=True))
    def fail(self, chance: float) -> None:
        boom = Failure(FailureKind.EXCEPTION, "boom", retryable=True)
        self.happen(Ended(self.task.attempt, failure=boom, seconds=1.0), chance)

    @precondition(at(S.QUEUED, S.RETRY_WAIT))
    @rule(verb=st.sampled_from([Verb.PAUSE, Verb.STOP, Verb.CANCEL, Verb.RETRY]))
    def step_in(self, verb: Verb) -> None:
        if refusal(self.task, verb) is None:
            self.happen(Asked(verb))

    @precondition(at(S.RETRY_WAIT))
    @rule()
    def back_off_is_over(self) -> None:
        self.happen(Elapsed(Timer.RETRY, self.task.attempt))

    @precondition(at(*TERMINAL))
    @rule(verb=st.sampled_from([Verb.RETRY, Verb.RESET]))
    def revive(self, verb: Verb) -> None:
        if refusal(self.task, verb, force=True) is None:
            self.happen(Asked(verb, force=True))

    @precondition(at(S.STARTING, S.RUNNING, S.PAUSING, S.PAUSED, S.STOPPING))
    @rule(timer=st.sampled_from(Timer), limit=limits, killable=st.booleans())
    def elapse(self, timer: Timer, limit: FailureKind, killable: bool) -> None:
        self.happen(Elapsed(timer, self.task.attempt, limit, killable, 5.0, 1.0))

    @precondition(at(S.PENDING, S.BLOCKED))
    @rule(to=st.sampled_from([S.QUEUED, S.CANCELLED, S.SKIPPED]), failure=st.none() | failures)
    def resolve(self, to: TaskStatus, failure: Failure | None) -> None:
        self.happen(Resolved(to, failure))

    @rule(attempt=attempts, request=requests, failure=st.none() | failures)
    def late_news(self, attempt: int, request: int, failure: Failure | None) -> None:
        """Everything a worker and a clock can say, of this attempt or another, in one go."""
        number, version = self.task.attempt + attempt, self.task.status_version + request
        self.happen(Held(number, version))
        self.happen(Started(number))
        self.happen(Dispatched())
        self.happen(Resolved(S.SKIPPED))
        if number != self.task.attempt:
            self.happen(Ended(number, failure=failure))
            for timer in Timer:
                self.happen(Elapsed(timer, number, FailureKind.TIMEOUT_IDLE))

    @precondition(lambda self: self.task.status_version > 12)
    @rule()
    def orphan(self) -> None:
        self.happen(Orphaned("reconciler", "its process is gone"))
        self.given_up = False

    @precondition(lambda self: self.given_up)
    @rule()
    def given_up_worker_is_gone(self) -> None:
        self.machine.snapshot = self.task._replace(abandoned=False)
        self.store.touch([Touch("t1", abandoned=False)])
        self.given_up = False

    # how it is applied, and what must hold of every step

    @property
    def task(self) -> TaskSnapshot:
        return self.machine.snapshot

    def happen(self, trigger: Trigger, chance: float = 1.0) -> Step:
        before = self.task
        self.clock.advance(1)
        made = self.machine.apply(trigger, chance=chance)
        assert made == step(before, trigger, Now(self.clock.now(), chance), POLICY), (
            "a step depends on what it is given"
        )
        self.check_edges(before, made)
        self.check_staleness(before, trigger, made)
        self.check_worker(before, made)
        self.check_withdrawal(before, trigger, made)
        self.check_will(before, made)
        if made.snapshot is not before:
            self.commit(before, made)
        return made

    def check_edges(self, before: TaskSnapshot, made: Step) -> None:
        """The trail goes on without a gap, along edges that exist; an end is left by a person alone."""
        status, version = before.status, before.status_version
        for edge in made.transitions:
            assert (edge.from_status, edge.version) == (status, version + 1)
            assert edge_exists(edge.from_status, edge.to_status, edge.trigger)
            assert edge.at == self.clock.now()
            if status in TERMINAL:
                self.check_exit(edge)
            status, version = edge.to_status, edge.version
        assert (made.snapshot.status, made.snapshot.status_version) == (status, version)

    def check_exit(self, edge: Transition) -> None:
        if edge.trigger == "user:retry":
            assert edge.from_status in REVIVABLE
        elif edge.trigger == "user:skip":
            assert edge.from_status is S.FAILED
        else:
            assert edge.trigger in {"user:reset", "force:override"}

    def check_staleness(self, before: TaskSnapshot, trigger: Trigger, made: Step) -> None:
        """News of another attempt, or of a record that holds no worker, is no news."""
        attempt = getattr(trigger, "attempt", before.attempt)
        stale = attempt != before.attempt
        stale |= isinstance(trigger, WORKER_NEWS) and not before.live
        stale |= isinstance(trigger, Held) and trigger.request != before.status_version
        if stale:
            assert made == Step(before)
        if made == Step(before):
            assert made.snapshot is before

    def check_worker(self, before: TaskSnapshot, made: Step) -> None:
        """Attempts are opened once and closed once; workers are told only while there is one."""
        record = made.attempt
        if record is not None and record.ended_at is None:
            assert self.open is None
            assert record.attempt == before.attempt + 1
            assert record.attempt not in self.closed
            assert made.effects == (Launch(record.attempt),)
            assert made.snapshot.status is S.STARTING
            self.open = record.attempt
        elif record is not None:
            assert record.attempt == self.open == before.attempt
            assert record.status in TERMINAL
            self.closed.add(record.attempt)
            self.open = None
        if made.clear_attempts:
            assert self.open is None
            self.closed.clear()
        assert made.snapshot.live is (self.open is not None)
        for effect in made.effects:
            if isinstance(effect, TellWorker | Kill | Detach):
                assert before.live or before.overridden
            if isinstance(effect, TellWorker) and effect.signal is Signal.PAUSE:
                assert effect.request == made.snapshot.status_version
            if isinstance(effect, Detach):
                assert made.snapshot.abandoned
                assert not made.snapshot.live
                self.given_up = True
        waits = [
            effect.seconds for effect in made.effects if effect == SetTimer(Timer.RETRY, getattr(effect, "seconds", 0))
        ]
        entered = bool(made.transitions) and made.snapshot.status is S.RETRY_WAIT
        assert len(waits) == entered
        if entered:
            assert made.snapshot.retry_at == self.clock.now() + timedelta(seconds=waits[0])

    def check_withdrawal(self, before: TaskSnapshot, trigger: Trigger, made: Step) -> None:
        """A task that ends while it is paused, or on its way there, withdraws the pause first."""
        if not (isinstance(trigger, Ended) and made.acted and before.status in (S.PAUSING, S.PAUSED)):
            return
        if made.snapshot.status is S.LOST:
            assert len(made.transitions) == 1
            return
        withdrawn, ended = made.transitions
        assert (withdrawn.to_status, withdrawn.trigger) == (S.RUNNING, "pause:withdrawn")
        assert ended.to_status in {S.SUCCEEDED, S.FAILED, S.RETRY_WAIT}

    def check_will(self, before: TaskSnapshot, made: Step) -> None:
        """What a person stopped or cancelled does not run again by itself."""
        for edge in made.transitions:
            if edge.trigger in {"user:stop", "user:cancel"}:
                self.told_to_end = True
            elif edge.trigger in {"user:retry", "user:reset", "force:override"}:
                self.told_to_end = False
            elif self.told_to_end:
                assert edge.to_status in TERMINAL

    def commit(self, before: TaskSnapshot, made: Step) -> None:
        records = () if made.attempt is None else (made.attempt,)
        write = Write(made.snapshot, before.status_version, made.transitions, records, made.clear_attempts)
        assert not self.store.commit([write])

    # what must hold at every moment

    @invariant()
    def the_store_holds_a_history_that_can_have_happened(self) -> None:
        if hasattr(self, "machine"):
            assert check_audit(self.store) == 1
            assert self.store.get("t1") == self.task
            assert {a.attempt for a in self.store.attempts("t1") if a.ended_at is None} == ({self.open} - {None})

    @invariant()
    def the_record_makes_sense(self) -> None:
        if not hasattr(self, "machine"):
            return
        task = self.task
        assert task.attempt <= task.max_attempts
        assert (task.ended_at is not None) is (task.status in TERMINAL)
        assert (task.retry_at is not None) is (task.status is S.RETRY_WAIT)
        assert (task.grace_until is not None) <= (task.status is S.STOPPING)
        assert not task.live or task.status in OCCUPIED | {S.PAUSED}
        assert task.status is not S.RUNNING or task.started_at is not None
        assert task.status is not S.SUCCEEDED or task.failure is None
        if task.status in OCCUPIED and not task.overridden:
            assert task.live
        if not task.overridden:
            wanted = {S.PAUSING: {RequestedAction.PAUSE}, S.STOPPING: {RequestedAction.STOP, RequestedAction.CANCEL}}
            assert task.requested_action in wanted.get(task.status, {None})
        if task.status in TERMINAL:
            assert task.requested_action is None
        if task.live:
            assert task.started_at is not None

    @invariant()
    def there_is_a_way_on(self) -> None:
        """No dead end: whatever the state, some verb is accepted."""
        if hasattr(self, "machine"):
            assert any(refusal(self.task, verb, force=True) is None for verb in Verb)


class OneRecordWithOverrides(OneRecord):
    """And an operator who sets statuses by hand."""

    @rule(to=st.sampled_from(TaskStatus))
    def force(self, to: TaskStatus) -> None:
        made = self.happen(Forced(to, "ops", "by hand"))
        (edge,) = made.transitions
        assert (edge.to_status, edge.trigger, edge.actor) == (to, "force:override", "ops")
        assert self.task.overridden


def _settings(examples: int) -> Any:
    return settings(max_examples=examples, stateful_step_count=40, deadline=None)


TestOneRecord = OneRecord.TestCase
TestOneRecord.settings = _settings(150)
TestOneRecordWithOverrides = OneRecordWithOverrides.TestCase
TestOneRecordWithOverrides.settings = _settings(100)
