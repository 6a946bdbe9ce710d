"""The stateful face over the rules keeps history and attempts as a store would."""

from __future__ import annotations

from itertools import count

import pytest

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.states import TaskStatus, Verb
from chongming_task.core.triggers import Dispatched, Elapsed, Ended, Started, Timer
from chongming_task.errors import ConfigurationError, InvalidTransition
from chongming_task.testing import FakeClock
from tests.unit.core.situations import policy

S = TaskStatus


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def machine(clock):
    return StateMachine(TaskSnapshot("t1", "demo", clock.now(), max_attempts=2), clock.now, policy())


def test_a_life_with_a_retry(machine, clock):
    """Every edge in order, both attempts kept, times from the clock it was given."""
    boom = Failure(FailureKind.EXCEPTION, "boom", retryable=True)
    machine.ask(Verb.START)
    for trigger in (Dispatched(), Started(1), Ended(1, failure=boom), Elapsed(Timer.RETRY, 1), Dispatched()):
        clock.advance(1)
        machine.apply(trigger)
    clock.advance(1)
    made = machine.apply(Ended(2, outcome=7))

    assert machine.status is S.SUCCEEDED
    assert machine.snapshot is made.snapshot
    path = [edge.to_status.name for edge in machine.history]
    assert path == ["QUEUED", "STARTING", "RUNNING", "RETRY_WAIT", "QUEUED", "STARTING", "RUNNING", "SUCCEEDED"]
    assert [edge.version for edge in machine.history] == list(range(1, 9))
    assert [(n, a.status) for n, a in machine.attempts.items()] == [(1, S.FAILED), (2, S.SUCCEEDED)]
    assert machine.snapshot.ended_at == clock.now()


def test_a_refused_verb_leaves_it_as_it_was(machine):
    """History included."""
    before = machine.snapshot
    with pytest.raises(InvalidTransition):
        machine.ask(Verb.RESUME)
    with pytest.raises(ConfigurationError):
        machine.force(S.LOST, actor="", reason="x")
    assert machine.snapshot is before
    assert machine.history == []


def test_a_reset_forgets_the_attempts_and_keeps_the_history(machine):
    """The audit trail keeps the reset itself."""
    machine.ask(Verb.START)
    machine.apply(Dispatched())
    machine.force(S.FAILED, actor="ops", reason="stuck")
    assert list(machine.attempts) == [1]
    machine.apply(Elapsed(Timer.RETRY, 1))
    machine.ask(Verb.RESET, force=True, reason="afresh", actor="ada")
    assert machine.attempts == {}
    assert (machine.history[-1].trigger, machine.history[-1].actor, len(machine.history)) == ("user:reset", "ada", 4)


def test_can_takes_force_into_account(machine):
    """The same question as the verb's."""
    machine.ask(Verb.START)
    for _ in count():
        if machine.snapshot.attempt == 2:
            break
        machine.apply(Dispatched())
        machine.apply(Ended(machine.snapshot.attempt, failure=Failure(FailureKind.EXCEPTION, retryable=True)))
        machine.apply(Elapsed(Timer.RETRY, machine.snapshot.attempt))
    assert machine.status is S.FAILED
    allowed, why = machine.can(Verb.RETRY)
    assert not allowed
    assert why is not None
    assert "force=True" in why
    assert machine.can(Verb.RETRY, force=True) == (True, None)
