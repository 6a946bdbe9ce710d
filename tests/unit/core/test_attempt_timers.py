"""What every timer does in every state, with workers that can be killed and workers that cannot."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chongming_task.core.effects import ClearTimer, Detach, Kill, SetTimer, Signal, StopReason, TellWorker
from chongming_task.core.failures import TIMEOUT_KINDS, FailureKind
from chongming_task.core.records import AttemptRecord
from chongming_task.core.rules import KILL_SECONDS, Step
from chongming_task.core.states import RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Elapsed, Timer
from tests.unit.core.situations import NOW, SITUATIONS, STARTED, apply, record

S = TaskStatus
ATTEMPT = FailureKind.TIMEOUT_ATTEMPT


def elapsed(timer: Timer, attempt: int = 1, **more) -> Elapsed:
    more.setdefault("limit", ATTEMPT if timer in (Timer.LIMIT, Timer.OVERDUE) else None)
    return Elapsed(timer, attempt, seconds=9.0, paused_seconds=2.0, **more)


ACTS_IN = {
    Timer.LIMIT: {"STARTING", "RUNNING", "PAUSING"},  # paused time does not count; a stop has its own window
    Timer.OVERDUE: {"STARTING", "RUNNING", "PAUSING", "PAUSED P•"},  # told to stop already: it cannot be paused
    Timer.PAUSE_WINDOW: {"PAUSING"},
    Timer.STOP_WINDOW: {"STOPPING"},
    Timer.KILL_WINDOW: {"STARTING", "RUNNING", "PAUSING", "PAUSED P•", "STOPPING"},
    Timer.RETRY: {"RETRY_WAIT"},
}


@pytest.mark.parametrize("killable", [False, True])
@pytest.mark.parametrize("timer", Timer, ids=str)
def test_a_timer_acts_in_its_states_and_nowhere_else(timer, killable):
    """Elsewhere its time has passed by other means, and it changes nothing and asks for nothing."""
    acted = set()
    for situation in SITUATIONS:
        before = record(situation, attempt=1)
        if apply(before, elapsed(timer, killable=killable)) != Step(before):
            acted.add(situation)

    assert acted == ACTS_IN.get(timer, set())  # the others are looks of the engine, no news for the rules


@pytest.mark.parametrize("timer", Timer, ids=str)
def test_a_timer_of_another_attempt_is_stale(timer):
    """A back-off that was cut short must not cut the next one."""
    for situation in SITUATIONS:
        before = record(situation, attempt=2)
        for attempt in (0, 1, 3):
            assert apply(before, elapsed(timer, attempt)) == Step(before), (situation, attempt)


@pytest.mark.parametrize("timer", Timer, ids=str)
def test_a_status_set_by_hand_has_no_worker_to_time(timer):
    """No attempt is closed that was never opened."""
    for status in (S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING):
        before = record("PENDING", status=status, overridden=True, started_at=STARTED)
        assert apply(before, elapsed(timer, 0)) == Step(before), status


@pytest.mark.parametrize("situation", ["STARTING", "RUNNING", "PAUSING"])
@pytest.mark.parametrize("limit", sorted(TIMEOUT_KINDS))
@pytest.mark.parametrize("killable", [False, True])
def test_an_overrun_limit_is_told_and_the_grace_begins(situation, limit, killable):
    """The status stays: the worker may still obey."""
    before = record(situation)
    made = apply(before, elapsed(Timer.LIMIT, limit=limit, killable=killable))
    assert made.snapshot is before
    assert made.effects == (TellWorker(Signal.STOP, StopReason(limit)), SetTimer(Timer.OVERDUE, 5))


@pytest.mark.parametrize("situation", sorted(ACTS_IN[Timer.OVERDUE]))
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (FailureKind.TIMEOUT_START, "overran its start limit of 10 s"),
        (FailureKind.TIMEOUT_ATTEMPT, "overran its attempt limit of 60 s"),
        (FailureKind.TIMEOUT_IDLE, "overran its idle limit of 20 s"),
    ],
)
def test_a_thread_that_does_not_obey_in_its_grace_is_given_up(situation, limit, words):
    """LOST, abandoned, not retried: two copies would run. Its failure is the limit."""
    made = apply(record(situation), elapsed(Timer.OVERDUE, limit=limit))

    (edge,) = made.transitions
    assert (edge.to_status, edge.trigger) == (S.LOST, "timer:overdue")
    assert words in edge.reason
    assert "may still be running" in edge.reason
    after = made.snapshot
    assert (after.live, after.abandoned, after.ended_at, after.requested_action) == (False, True, NOW, None)
    assert after.failure is not None
    assert (after.failure.kind, after.failure.message) == (limit, edge.reason)
    assert made.effects == (Detach(1),)
    assert made.attempt == AttemptRecord(
        *("t1", 1, S.LOST, STARTED, NOW, 9.0, 2.0, after.failure), executor="manual", owner="me"
    )


@pytest.mark.parametrize("situation", sorted(ACTS_IN[Timer.OVERDUE]))
@pytest.mark.parametrize("limit", sorted(TIMEOUT_KINDS))
def test_a_process_that_does_not_obey_in_its_grace_is_killed(situation, limit):
    """Its end is still to be reported: nothing is claimed before."""
    before = record(situation)
    made = apply(before, elapsed(Timer.OVERDUE, limit=limit, killable=True))
    assert made.snapshot is before
    assert made.effects == (Kill(StopReason(limit)), SetTimer(Timer.KILL_WINDOW, KILL_SECONDS))


@pytest.mark.parametrize("action", [RequestedAction.STOP, RequestedAction.CANCEL], ids=str)
def test_a_stop_that_is_not_obeyed_is_never_shown_as_stopped(action):
    """A thread is given up."""
    made = apply(record("STOPPING", requested_action=action), elapsed(Timer.STOP_WINDOW))
    (edge,) = made.transitions
    assert (edge.to_status, edge.trigger) == (S.LOST, "timer:stop_window")
    assert "asked to stop" in edge.reason
    assert (made.snapshot.abandoned, made.snapshot.requested_action) == (True, None)
    assert made.effects == (Detach(1),)


@pytest.mark.parametrize("action", [RequestedAction.STOP, RequestedAction.CANCEL], ids=str)
def test_a_process_that_does_not_stop_in_time_is_killed(action):
    """With the reason it was asked for."""
    before = record("STOPPING", requested_action=action)
    made = apply(before, elapsed(Timer.STOP_WINDOW, killable=True))
    assert made.snapshot is before
    assert made.effects == (Kill(StopReason(action)), SetTimer(Timer.KILL_WINDOW, KILL_SECONDS))


@pytest.mark.parametrize("situation", sorted(ACTS_IN[Timer.KILL_WINDOW]))
def test_a_killed_process_that_does_not_go_is_lost(situation):
    """Killable or not: the kill was the last word."""
    made = apply(record(situation), elapsed(Timer.KILL_WINDOW, killable=True))
    (edge,) = made.transitions
    assert (edge.to_status, edge.trigger) == (S.LOST, "timer:kill_window")
    assert "was killed and is not gone" in edge.reason
    assert made.effects == (Detach(1),)


def test_a_pause_that_does_not_come_true_rolls_back():
    """And the worker is told to go on, should it come to a checkpoint after all."""
    made = apply(record("PAUSING"), elapsed(Timer.PAUSE_WINDOW))
    (edge,) = made.transitions
    assert (edge.to_status, edge.trigger, edge.reason) == (S.RUNNING, "pause:timeout", "no checkpoint in time")
    assert made.snapshot.requested_action is None
    assert made.effects == (TellWorker(Signal.RESUME),)


def test_a_back_off_ends_in_the_queue():
    """With a fresh time of queuing."""
    made = apply(record("RETRY_WAIT"), elapsed(Timer.RETRY))
    (edge,) = made.transitions
    assert (edge.to_status, edge.trigger) == (S.QUEUED, "retry:due")
    assert (made.snapshot.queued_at, made.snapshot.retry_at) == (NOW, None)


# the windows of stop and pause


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.CANCEL])
def test_the_grace_of_a_stop_is_kept_by_a_timer(verb):
    """It runs whether or not anybody waits; the pause's window is forgotten."""
    made = apply(record("PAUSING"), Asked(verb, window=12.5))
    assert SetTimer(Timer.STOP_WINDOW, 12.5) in made.effects
    assert ClearTimer(Timer.PAUSE_WINDOW) in made.effects
    assert made.snapshot.grace_until == NOW + timedelta(seconds=12.5)


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.CANCEL])
def test_a_stop_without_grace_has_no_window(verb):
    """The worker is told all the same: it may obey before the timer is looked at."""
    made = apply(record("RUNNING"), Asked(verb, window=12.5, graceful=False))
    assert SetTimer(Timer.STOP_WINDOW, 0.0) in made.effects
    assert any(isinstance(effect, TellWorker) for effect in made.effects)
    assert made.snapshot.grace_until == NOW


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.CANCEL])
def test_a_stop_asked_again_without_grace_escalates(verb):
    """Accepted, no edge; the window ends now."""
    before = record("STOPPING")
    made = apply(before, Asked(verb, graceful=False))
    assert made.snapshot is before
    assert made.effects == (SetTimer(Timer.STOP_WINDOW, 0.0),)


def test_a_pause_gets_its_window():
    """Seconds to reach a checkpoint."""
    made = apply(record("RUNNING"), Asked(Verb.PAUSE, window=3.0))
    assert SetTimer(Timer.PAUSE_WINDOW, 3.0) in made.effects


@pytest.mark.parametrize("window", [1e12, 1e300])
def test_a_window_longer_than_the_calendar_is_no_accident(window):
    """Somebody is very patient; the rules do not raise."""
    made = apply(record("RUNNING"), Asked(Verb.STOP, window=window))
    assert made.snapshot.status is S.STOPPING
    assert made.snapshot.grace_until > NOW + timedelta(days=3650)
    assert SetTimer(Timer.STOP_WINDOW, window) in made.effects


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.CANCEL, Verb.PAUSE, Verb.RETRY, Verb.RESET])
def test_whatever_leaves_the_back_off_forgets_its_timer(verb):
    """So that it does not fire later."""
    made = apply(record("RETRY_WAIT"), Asked(verb))
    assert ClearTimer(Timer.RETRY) in made.effects
    assert made.snapshot.retry_at is None
