"""Limits, back-off, and a wall clock that cannot be trusted."""

from __future__ import annotations

import pytest

from chongming_task import ExponentialBackoff, FixedBackoff, RetryPolicy, TaskTimeout, Timeout
from tests.support.rig import job


class FarAway:
    """A back-off of the caller's own, as long as it likes."""

    def __init__(self, seconds):
        self.seconds = seconds

    def delay(self, failed, chance):
        return self.seconds


def test_a_worker_that_does_not_begin_in_time(rig):
    """The start limit runs from the launch; a worker that obeys in its grace gives TIMEOUT_START."""
    handle = rig.submit(timeout=Timeout(start=10, grace=5))
    rig.advance(9.9)
    assert rig.worker(handle).stop_reason is None
    rig.advance(0.1)
    assert rig.worker(handle).stop_reason == "timeout_start"
    rig.worker(handle).checkpoint()
    rig.settle()
    assert (handle.status, handle.failure.kind) == ("failed", "timeout_start")


def test_the_attempt_limit_begins_with_user_code(rig):
    """Time spent starting is not the task's."""
    handle = rig.submit(timeout=Timeout(per_attempt=10))
    rig.advance(100)
    worker = rig.worker(handle)
    worker.begin()
    rig.settle()
    rig.advance(9.9)
    assert worker.stop_reason is None
    rig.advance(0.2)
    assert worker.stop_reason == "timeout_attempt"
    worker.checkpoint()
    rig.settle()
    assert (handle.status, handle.failure.kind) == ("failed", "timeout_attempt")
    with pytest.raises(TaskTimeout):
        handle.result()


def test_the_idle_limit_is_fed_by_checkpoints_and_not_by_progress(rig):
    """Progress says how far, a checkpoint that it still moves."""
    handle, worker = rig.running(timeout=Timeout(idle=10))
    for _ in range(5):
        rig.advance(9)
        worker.checkpoint()
    rig.advance(9)
    worker.report(1, 10)
    rig.advance(1)
    assert worker.stop_reason == "timeout_idle"
    worker.checkpoint()
    rig.settle()
    assert handle.failure.kind == "timeout_idle"


def test_a_thread_that_overruns_its_grace_is_lost_and_not_retried(rig):
    """A retry would run two copies at once."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10, grace=5), retry=RetryPolicy(3, backoff="none"))
    rig.advance(10)
    rig.advance(4.9)
    assert handle.status == "running"
    rig.advance(0.1)
    assert handle.status == "lost"
    assert "overran its attempt limit of 10 s" in handle.failure.message
    rig.advance(1000)
    assert len(rig.executor.launched) == 1
    assert worker.stop_reason == "detached"


def test_a_process_that_overruns_its_grace_is_killed_and_retried(make_rig):
    """It is gone for certain, so TIMEOUT_* may be answered with another attempt."""
    rig = make_rig(killable=True)
    handle, worker = rig.running(timeout=Timeout(per_attempt=10, grace=5), retry=RetryPolicy(2, backoff="none"))
    rig.advance(10)
    rig.advance(5)
    assert worker.killed
    assert (handle.status, handle.snapshot.attempt) == ("starting", 2)
    assert handle.attempts[0].failure.kind == "timeout_attempt"


def test_grace_zero_ends_at_once(rig):
    """No grace: the overrun itself is the end."""
    handle, _ = rig.running(timeout=Timeout(per_attempt=10, grace=0))
    rig.advance(10)
    assert handle.status == "lost"


def test_time_paused_does_not_count(rig):
    """Neither for the attempt limit nor for the idle limit, whenever the pauses come."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10, idle=6))
    for _ in range(3):
        rig.advance(2)
        handle.pause(wait=False)
        worker.checkpoint()
        rig.settle()
        rig.advance(1000)
        assert handle.status == "paused"
        handle.resume()
        worker.checkpoint()
    rig.advance(3.9)
    assert worker.stop_reason is None
    rig.advance(0.1)
    assert worker.stop_reason == "timeout_attempt"
    worker.checkpoint()
    rig.settle()
    (attempt,) = handle.attempts
    assert (attempt.seconds, attempt.paused_seconds) == (pytest.approx(3010), pytest.approx(3000))


def test_a_limit_is_kept_while_pausing(rig):
    """A pause that has not come true stops no clock; the timeout wins and the pause is withdrawn."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10))
    rig.advance(9)
    handle.pause(timeout=100, wait=False)
    rig.advance(1)
    assert (handle.status, worker.stop_reason) == ("pausing", "timeout_attempt")
    worker.checkpoint()
    rig.settle()
    assert (handle.status, handle.failure.kind) == ("failed", "timeout_attempt")
    assert rig.trail(handle)[-3:] == ["pausing", "running", "failed"]


def test_a_worker_told_of_its_timeout_cannot_hide_in_a_pause(rig):
    """It was held as its time ran out, and does not end: the grace runs all the same."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10, grace=5))
    handle.pause(timeout=100, wait=False)
    rig.clock.advance(10)
    rig.driver.settle()
    worker.stop_reason = None  # it swallows the stop and answers the pause
    worker.checkpoint()
    rig.settle()
    assert handle.status == "paused"
    rig.advance(5)
    assert handle.status == "lost"


def test_a_user_stop_during_the_grace_of_a_timeout(rig):
    """The stop takes over: its window counts, and the end is STOPPED."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10, grace=5), retry=RetryPolicy(3, backoff="none"))
    rig.advance(10)
    handle.stop(timeout=60, wait=False)
    rig.advance(30)
    assert handle.status == "stopping"
    worker.checkpoint()
    rig.settle()
    assert handle.status == "stopped"


def test_a_worker_that_obeys_the_timeout_after_a_user_stop_is_stopped(rig):
    """It had been told of its time before it was told of the stop; either way it stopped."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10), retry=RetryPolicy(3, backoff="none"))
    rig.advance(10)
    rig.controller.ask("stop", [handle.id], actor="user", done=lambda answers: None)
    worker.checkpoint()
    rig.settle()
    assert (handle.status, handle.failure.kind) == ("stopped", "cancelled")
    assert len(rig.executor.launched) == 1


def test_a_limit_that_runs_out_while_stopping_changes_nothing(rig):
    """The window of the stop is what counts."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=10, grace=1))
    rig.advance(9)
    handle.stop(timeout=60, wait=False)
    rig.advance(30)
    assert (handle.status, worker.stop_reason) == ("stopping", "stop")


def test_a_doubled_start_report_does_not_prolong_the_limit(rig):
    """User code began once."""
    _, worker = rig.running(timeout=Timeout(per_attempt=10))
    rig.advance(9)
    worker.begin()
    rig.settle()
    rig.advance(1)
    assert worker.stop_reason == "timeout_attempt"


@pytest.mark.parametrize("jump", [86_400.0 * 400, -86_400.0 * 400])
def test_a_wall_clock_that_jumps_causes_nothing(rig, jump):
    """No timeout, no early end of a window or back-off, no negative duration."""
    limits = Timeout(start=50, per_attempt=50, idle=50)
    handle, worker = rig.running(timeout=limits, retry=RetryPolicy(2, backoff=FixedBackoff(10)))
    rig.clock.jump(jump)
    rig.advance(5)
    assert (handle.status, worker.stop_reason) == ("running", None)
    handle.pause(timeout=20, wait=False)
    rig.clock.jump(-jump)
    worker.checkpoint()
    rig.settle()
    rig.advance(5)
    assert handle.status == "paused"
    handle.resume()
    worker.fail(ValueError("x"))
    rig.clock.jump(jump)
    rig.settle()
    assert handle.status == "retry_wait"
    rig.advance(9.9)
    assert handle.status == "retry_wait"
    rig.advance(0.1)
    assert handle.status == "starting"
    handle.stop(timeout=10, wait=False)
    rig.clock.jump(jump)
    rig.advance(9)
    assert handle.status == "stopping"
    rig.advance(1)
    assert [(a.seconds, a.paused_seconds) for a in handle.attempts] == [(10, 5), (10, 0)]


def test_the_back_off_is_kept_and_spread(make_rig):
    """Exponential with full jitter: the dice decide where below the ceiling."""
    rig = make_rig()
    rig.engine.reports._dice = lambda: 0.5
    handle, worker = rig.running(retry=RetryPolicy(4, backoff=ExponentialBackoff(base=8, factor=2, max=100)))
    for seconds in (4, 8, 16):
        worker.fail(ValueError("x"))
        rig.settle()
        assert handle.status == "retry_wait"
        assert (handle.snapshot.retry_at - rig.clock.now()).total_seconds() == seconds
        rig.advance(seconds - 0.001)
        assert handle.status == "retry_wait"
        rig.advance(0.001)
        worker = rig.worker(handle)
        worker.begin()
    worker.fail(ValueError("last"))
    rig.settle()
    assert (handle.status, rig.triggers(handle)[-1]) == ("failed", "retry:exhausted")


def test_the_timer_of_an_earlier_back_off_does_not_shorten_a_later_one(rig):
    """A user retried by hand; the next failure comes just when the first back-off would have ended."""
    handle, worker = rig.running(retry=RetryPolicy(5, backoff=FixedBackoff(10)))
    worker.fail(ValueError("1"))
    rig.settle()
    rig.advance(1)
    handle.retry()
    rig.settle()
    rig.worker(handle).begin()
    rig.settle()
    rig.clock.advance(9)
    rig.worker(handle).fail(ValueError("2"))
    rig.settle()
    assert handle.status == "retry_wait"
    rig.advance(9.9)
    assert handle.status == "retry_wait"
    rig.advance(0.1)
    assert (handle.status, handle.snapshot.attempt) == ("starting", 3)


@pytest.mark.parametrize("seconds", [1e9, 1e12, 1e300])
def test_far_away_limits_do_not_trouble_the_engine(rig, seconds):
    """A limit beyond what a lock can wait for is either refused or kept; the engine goes on."""
    try:
        limits = Timeout(per_attempt=seconds, start=seconds, idle=seconds)
    except ValueError:
        limits = Timeout()
    _, worker = rig.running(timeout=limits)
    rig.controller.submit(job, retry=RetryPolicy(2, backoff=FarAway(seconds)))
    rig.settle()
    rig.executor.launched[-1].fail(ValueError("x"))
    rig.settle()
    patience = rig.engine._patience(None)
    assert patience is not None
    assert patience < 9e9
    worker.finish()
