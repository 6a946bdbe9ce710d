"""How an attempt begins and ends: started, held, returned, failed, retried, stopped; and what comes too late."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chongming_task.core.effects import ClearTimer, Launch, SetTimer
from chongming_task.core.failures import RETRIED_KINDS, Failure, FailureKind
from chongming_task.core.policies import ExponentialBackoff, RetryPolicy, TaskPolicy
from chongming_task.core.records import AttemptRecord, Progress
from chongming_task.core.rules import Step
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.core.triggers import Dispatched, Ended, Held, Started, Timer
from chongming_task.errors import AttemptsExhausted
from tests.unit.core.situations import NOW, POLICY, SITUATIONS, STARTED, apply, policy, record

S = TaskStatus
K = FailureKind
LIVE = [name for name, (_, fields) in SITUATIONS.items() if fields.get("live")]
IDLE = [name for name in SITUATIONS if name not in LIVE]


def raised(kind: FailureKind = K.EXCEPTION, message: str = "boom", *, retryable: bool = True) -> Failure:
    return Failure(kind, message, retryable=retryable)


def path(made) -> list[tuple[str, str]]:
    return [(edge.to_status.name, edge.trigger) for edge in made.transitions]


# a grant


def test_a_grant_opens_an_attempt():
    """Durable before user code runs: the record is STARTING, live, and has begun."""
    made = apply(record("QUEUED", progress=Progress(1, 2), failure=raised(), pid=5), Dispatched())

    assert path(made) == [("STARTING", "scheduler:dispatch")]
    assert made.effects == (Launch(1),)
    assert made.attempt == AttemptRecord("t1", 1, S.STARTING, NOW, executor="manual", owner="me")
    after = made.snapshot
    assert (after.attempt, after.live, after.started_at) == (1, True, NOW)
    assert (after.progress, after.failure, after.pid, after.ended_at, after.last_heartbeat_at) == (None,) * 5


@pytest.mark.parametrize("situation", [name for name in SITUATIONS if name != "QUEUED"])
def test_a_grant_for_a_record_that_is_not_queued_is_stale(situation):
    """It was stopped or paused a moment before."""
    before = record(situation)
    assert apply(before, Dispatched()).snapshot is before


def test_a_grant_without_an_attempt_left_raises():
    """A record never gets more attempts than it was allowed."""
    before = record("QUEUED", attempt=3)

    with pytest.raises(AttemptsExhausted, match="used its 3 attempts") as caught:
        apply(before, Dispatched())

    assert (caught.value.current, caught.value.requested) == (S.QUEUED, S.STARTING)
    assert apply(before._replace(max_attempts=4), Dispatched()).snapshot.attempt == 4


# reports of a worker


def test_a_started_attempt_runs():
    """The process id is kept where there is one."""
    made = apply(record("STARTING"), Started(1, pid=77))

    assert path(made) == [("RUNNING", "worker:started")]
    assert (made.snapshot.pid, made.snapshot.last_heartbeat_at) == (77, NOW)


@pytest.mark.parametrize("situation", ["RUNNING", "PAUSING", "PAUSED P•", "STOPPING"])
def test_a_late_start_tells_the_process_only(situation):
    """Asked to pause or stop while starting: the status stays what it is."""
    before = record(situation)

    assert apply(before, Started(1)).snapshot is before
    made = apply(before, Started(1, pid=77))
    assert made.snapshot == before._replace(pid=77)
    assert not made.acted
    assert apply(made.snapshot, Started(1, pid=77)).snapshot is made.snapshot


def test_a_held_worker_is_paused_in_place():
    """It keeps its slot and its attempt."""
    made = apply(record("PAUSING"), Held(1, request=7))

    assert path(made) == [("PAUSED", "worker:held")]
    assert made.effects == (ClearTimer(Timer.PAUSE_WINDOW),)
    assert (made.snapshot.live, made.snapshot.requested_action) == (True, None)


@pytest.mark.parametrize("request_", [0, 6, 8])
def test_a_worker_held_for_an_earlier_pause_does_not_count(request_):
    """Pause, resume, pause: the first answer is no answer to the second."""
    before = record("PAUSING")
    assert apply(before, Held(1, request=request_)).snapshot is before


@pytest.mark.parametrize("situation", [name for name in LIVE if name != "PAUSING"])
def test_a_held_worker_nobody_asked_to_pause_changes_nothing(situation):
    """The pause was withdrawn, or became a stop."""
    before = record(situation)
    assert apply(before, Held(1, request=7)).snapshot is before


def reports(attempt: int) -> list[Started | Held | Ended]:
    failures = [None, raised(), raised(K.CANCELLED), raised(K.LOST)]
    return [Started(attempt, 9), Held(attempt, 7), *(Ended(attempt, failure=failure) for failure in failures)]


@pytest.mark.parametrize("situation", IDLE)
def test_nobody_listens_to_a_worker_of_a_record_that_holds_none(situation):
    """The attempt was over already."""
    before = record(situation, attempt=1)
    for report in reports(1):
        assert apply(before, report) == Step(before), report


@pytest.mark.parametrize("situation", LIVE)
def test_nobody_listens_to_another_attempt(situation):
    """Late news of an earlier attempt must not end the present one."""
    before = record(situation, attempt=2)
    for attempt in (0, 1, 3):
        for report in reports(attempt):
            assert apply(before, report) == Step(before), report


# a value


@pytest.mark.parametrize(
    ("situation", "edges"),
    [
        ("STARTING", [("RUNNING", "worker:started"), ("SUCCEEDED", "worker:returned")]),
        ("RUNNING", [("SUCCEEDED", "worker:returned")]),
        ("PAUSING", [("RUNNING", "pause:withdrawn"), ("SUCCEEDED", "worker:returned")]),
        ("PAUSED P•", [("RUNNING", "pause:withdrawn"), ("SUCCEEDED", "worker:returned")]),
        ("STOPPING", [("SUCCEEDED", "worker:returned")]),
    ],
)
def test_a_value_ends_the_record_whatever_was_asked(situation, edges):
    """A pause is withdrawn first; a stop that came too late is forgotten."""
    made = apply(record(situation), Ended(1, outcome={"rows": 3}, seconds=4.5, paused_seconds=1.5))

    assert path(made) == edges
    after = made.snapshot
    assert (after.outcome, after.ended_at, after.live, after.requested_action) == ({"rows": 3}, NOW, False, None)
    assert after.status_version == 7 + len(edges)
    assert made.attempt == AttemptRecord(*("t1", 1, S.SUCCEEDED, STARTED, NOW, 4.5, 1.5), executor="manual", owner="me")


@pytest.mark.parametrize("action", ["stop", "cancel"])
def test_a_value_in_spite_of_a_stop_is_told_as_such(action):
    """So that nobody wonders why a record that was asked to stop has succeeded."""
    before = record("STOPPING", requested_action=RequestedAction(action))
    (edge,) = apply(before, Ended(1, outcome=1)).transitions
    assert edge.reason == f"asked to {action}; it returned all the same"


# errors


@pytest.mark.parametrize("situation", ["STARTING", "RUNNING"])
@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (K.EXCEPTION, "worker:raised"),
        (K.NONZERO_EXIT, "worker:exited"),
        (K.TIMEOUT_START, "timeout:start"),
        (K.TIMEOUT_ATTEMPT, "timeout:attempt"),
        (K.TIMEOUT_IDLE, "timeout:idle"),
    ],
)
def test_an_error_that_may_be_retried_waits_its_back_off(situation, kind, cause):
    """Base 8, factor 2, after the second failure, half of it by chance: 8 seconds."""
    made = apply(record(situation, attempt=2), Ended(2, failure=raised(kind, "boom\nmore")), chance=0.5)

    assert path(made) == [("RETRY_WAIT", cause)]
    assert made.transitions[0].reason == "boom"
    after = made.snapshot
    assert (after.retry_at, after.live, after.ended_at) == (NOW + timedelta(seconds=8), False, None)
    assert after.failure == raised(kind, "boom\nmore")
    assert made.effects == (SetTimer(Timer.RETRY, 8.0),)
    assert made.attempt is not None
    assert (made.attempt.attempt, made.attempt.status, made.attempt.failure) == (2, S.FAILED, after.failure)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.999])
def test_full_jitter_draws_the_wait_from_nothing_up(chance):
    """The dice are given, never thrown here."""
    made = apply(record("RUNNING"), Ended(1, failure=raised()), chance=chance)
    (wait,) = made.effects
    assert isinstance(wait, SetTimer)
    assert wait.seconds == pytest.approx(8 * chance)


def test_every_attempt_may_fail_and_the_last_one_ends_the_record():
    """Three tries, waits of 8 and 16 seconds, then FAILED by exhaustion."""
    task, waits, edges = record("QUEUED", max_attempts=3), [], []
    for number in (1, 2, 3):
        task = apply(task, Dispatched()).snapshot
        made = apply(apply(task, Started(number)).snapshot, Ended(number, failure=raised()))
        task, edges = made.snapshot, edges + path(made)
        waits += [effect.seconds for effect in made.effects]
        if task.status is S.RETRY_WAIT:
            task = task._replace(status=S.QUEUED)

    assert waits == [8.0, 16.0]
    assert edges == [("RETRY_WAIT", "worker:raised")] * 2 + [("FAILED", "retry:exhausted")]
    assert (task.attempt, task.ended_at, task.failure) == (3, NOW, raised())


def test_a_record_of_one_attempt_names_the_error_not_the_exhaustion():
    """Nothing was exhausted: no retry had been promised."""
    made = apply(record("RUNNING", max_attempts=1), Ended(1, failure=raised()))
    assert path(made) == [("FAILED", "worker:raised")]
    assert made.transitions[0].reason == "boom"


@pytest.mark.parametrize("message", ["", "  \n\n"])
def test_an_error_without_words_gives_no_reason(message):
    """None, not an empty text."""
    made = apply(record("RUNNING", max_attempts=1), Ended(1, failure=raised(message=message)))
    assert made.transitions[0].reason is None


@pytest.mark.parametrize("kind", sorted(set(K) - RETRIED_KINDS - {K.LOST}))
def test_some_kinds_are_never_retried(kind):
    """Whatever the failure claims: a result that cannot be stored, a cancel nobody asked for."""
    made = apply(record("RUNNING"), Ended(1, failure=raised(kind)))

    assert made.snapshot.status is S.FAILED
    assert made.effects == ()
    assert {"result_invalid", "cancelled", "dependency_failed", "condition_false"} == set(K) - RETRIED_KINDS - {K.LOST}


@pytest.mark.parametrize("kind", sorted(RETRIED_KINDS))
def test_what_the_policy_does_not_answer_is_not_retried(kind):
    """``give_up_on`` reaches the rules as ``retryable=False``."""
    made = apply(record("RUNNING"), Ended(1, failure=raised(kind, retryable=False)))
    assert made.snapshot.status is S.FAILED


@pytest.mark.parametrize("situation", ["PAUSING", "PAUSED P•"])
def test_an_error_of_a_paused_attempt_withdraws_the_pause_first(situation):
    """Two audited edges, and the retry follows as ever."""
    made = apply(record(situation), Ended(1, failure=raised()))
    assert path(made) == [("RUNNING", "pause:withdrawn"), ("RETRY_WAIT", "worker:raised")]
    assert made.snapshot.requested_action is None


@pytest.mark.parametrize("situation", LIVE)
def test_a_lost_worker_loses_the_record_at_once(situation):
    """Never retried by itself, and no pause is withdrawn: nobody knows what runs."""
    made = apply(record(situation), Ended(1, failure=raised(K.LOST, "the pipe broke")))

    assert path(made) == [("LOST", "worker:lost")]
    assert (made.snapshot.live, made.snapshot.requested_action, made.snapshot.ended_at) == (False, None, NOW)
    assert made.attempt is not None
    assert made.attempt.status is S.LOST


# while stopping


@pytest.mark.parametrize("kind", [K.CANCELLED, K.TIMEOUT_START, K.TIMEOUT_ATTEMPT, K.TIMEOUT_IDLE])
@pytest.mark.parametrize(("action", "end"), [("stop", S.STOPPED), ("cancel", S.CANCELLED)])
def test_an_obeyed_stop_ends_as_it_was_asked(kind, action, end):
    """Also when its time had run out before: a person's word wins, and it is no error."""
    before = record("STOPPING", requested_action=RequestedAction(action), grace_until=NOW)
    made = apply(before, Ended(1, failure=raised(kind)))

    assert path(made) == [(end.name, "worker:obeyed")]
    after = made.snapshot
    assert after.failure == Failure(K.CANCELLED, "boom")
    assert (after.requested_action, after.grace_until, after.live) == (None, None, False)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [(K.EXCEPTION, "worker:raised"), (K.NONZERO_EXIT, "worker:exited"), (K.RESULT_INVALID, "worker:failed")],
)
def test_an_error_of_the_clean_up_fails_and_is_not_retried(kind, cause):
    """A stop is never followed by another attempt."""
    made = apply(record("STOPPING"), Ended(1, failure=raised(kind)))
    assert path(made) == [("FAILED", cause)]
    assert made.effects == ()


# a back-off of any size


@pytest.mark.parametrize("seconds", [1e9, 1e18, 1e300])
def test_a_back_off_longer_than_the_calendar_is_no_accident(seconds):
    """The record waits as long as a date can say; the rules do not raise."""
    made = apply(record("RUNNING"), Ended(1, failure=raised(), retry_after=seconds), policy=policy())

    assert made.snapshot.status is S.RETRY_WAIT
    assert made.snapshot.retry_at > NOW + timedelta(days=3650)


@pytest.mark.parametrize("answer", [None, "soon", float("nan"), -1.0, ValueError("broken")])
def test_a_broken_back_off_does_not_keep_the_record_from_its_next_attempt(answer):
    """It is a caller's code: whatever it does, the attempt is over and the record waits for another."""

    class Broken:
        def delay(self, failed: int, chance: float) -> float:
            if isinstance(answer, Exception):
                raise answer
            return answer

    made = apply(record("RUNNING"), Ended(1, failure=raised()), policy=policy(Broken()))
    (wait,) = made.effects
    assert made.snapshot.status is S.RETRY_WAIT
    assert isinstance(wait, SetTimer)
    assert 0 <= wait.seconds <= 300


def test_the_policy_s_own_back_off_is_asked_with_the_number_of_failures():
    """After the second, the wait has grown by one factor; the moment's chance is its jitter."""
    retry = TaskPolicy(RetryPolicy(3, ExponentialBackoff(base=2.0, factor=3.0)), POLICY.timeout)
    made = apply(record("RUNNING", attempt=2), Ended(2, failure=raised()), policy=retry, chance=0.125)
    assert made.snapshot.retry_at == NOW + timedelta(seconds=2.0 * 3.0 * 0.125)
