"""Stop and cancel: the grace window, the races, and what was never started."""

from __future__ import annotations

import pytest

from chongming_task import FailureKind, RetryPolicy
from chongming_task.core.failures import Failure


def test_the_engine_keeps_the_grace_window_though_nobody_waits(rig):
    """A thread that does not obey is LOST when its window ends, not before, and still listed as running."""
    handle, worker = rig.running()
    assert handle.stop(timeout=10, wait=False) is False
    assert (handle.status, handle.snapshot.requested_action) == ("stopping", "stop")
    assert handle.snapshot.grace_until == rig.clock.now().replace(second=10)
    rig.advance(9.9)
    assert handle.status == "stopping"
    rig.advance(0.1)
    assert handle.status == "lost"
    assert handle.failure.kind is FailureKind.LOST
    assert handle.snapshot.abandoned
    assert handle.running
    assert [task.task_id for task in rig.controller.abandoned()] == [handle.id]
    assert worker.stop_reason == "detached"  # it is told that it is on its own
    assert handle.snapshot.requested_action is None


def test_a_worker_that_is_given_up_is_named(rig):
    """Where it has a name: that is where somebody has to look."""
    handle, worker = rig.running()
    worker.worker = "tcp://10.0.0.7:4001"
    handle.stop(timeout=1, wait=False)
    rig.advance(1)
    assert handle.failure.message.startswith("the worker tcp://10.0.0.7:4001 was asked to stop")


def test_a_process_is_killed_when_its_window_ends(make_rig):
    """What can be killed is, and ends as it was asked to."""
    rig = make_rig(killable=True)
    handle, worker = rig.running()
    handle.cancel(timeout=3, wait=False)
    rig.advance(2.9)
    assert not worker.killed
    rig.advance(0.1)
    assert worker.killed
    assert (handle.status, handle.failure.kind) == ("cancelled", "cancelled")


def test_a_process_that_survives_its_kill_is_lost(make_rig):
    """A kill that brings no end is not shown as one."""
    rig = make_rig(killable=True)
    handle, worker = rig.running()
    worker.kill = lambda reason: None
    handle.stop(timeout=1, wait=False)
    rig.advance(1)
    assert handle.status == "stopping"
    rig.advance(5)
    assert handle.status == "lost"


@pytest.mark.parametrize("first", ["end", "stop"])
def test_a_stop_that_arrives_as_the_task_completes(rig, first):
    """One terminal state and one audit row for it, whichever came first in the tick."""
    handle, worker = rig.running()
    refused = []
    if first == "end":
        worker.finish(1)
    rig.controller.ask("stop", [handle.id], actor="user", done=refused.extend)
    if first == "stop":
        worker.finish(1)
    rig.settle()
    assert handle.status == "succeeded"
    assert rig.trail(handle).count("succeeded") == 1
    assert refused[0].ok is (first == "stop")
    rig.advance(60)
    assert handle.status == "succeeded"


def test_an_error_while_stopping_is_told_and_not_retried(rig):
    """A clean-up that raises is a failure; a stop is never followed by another attempt."""
    handle, worker = rig.running(retry=RetryPolicy(5))
    handle.stop(wait=False)
    worker.fail(ValueError("in the clean-up"))
    rig.advance(1000)
    assert (handle.status, handle.failure.message) == ("failed", "in the clean-up")
    assert len(rig.executor.launched) == 1


def test_a_stop_during_starting_waits_for_the_worker(rig):
    """A worker that was asked for is told; it never runs user code, and the record never retries."""
    handle = rig.submit(retry=RetryPolicy(5))
    handle.stop(wait=False)
    assert (handle.status, rig.worker(handle).stop_reason) == ("stopping", "stop")
    rig.worker(handle).checkpoint()
    rig.advance(1000)
    assert handle.status == "stopped"
    assert rig.trail(handle) == ["queued", "starting", "stopping", "stopped"]


def test_a_stop_in_the_same_tick_as_the_submission_starts_nothing(rig):
    """What is stopped before the scheduler saw it never gets a worker."""
    handle = rig.controller.submit(lambda: None)
    assert rig.controller.stop(handle.id)
    rig.advance(1000)
    assert rig.executor.launched == []
    assert rig.trail(handle) == ["queued", "stopped"]


def test_a_stop_during_the_back_off_ends_it_for_good(rig):
    """RETRY_WAIT becomes STOPPED at once, and no timer brings it back."""
    handle, worker = rig.running(retry=RetryPolicy(5, backoff="fixed"))
    worker.fail(ValueError("x"))
    rig.settle()
    assert handle.status == "retry_wait"
    assert handle.stop()
    rig.advance(1000)
    assert handle.status == "stopped"
    assert len(rig.executor.launched) == 1


def test_a_stop_while_queued_behind_a_full_limit(make_rig):
    """It ends at once, holds up nobody, and is not started when the limit frees."""
    rig = make_rig(max_parallel=1)
    _, occupant = rig.running()
    queued, behind = rig.submit(), rig.submit()
    assert queued.stop()
    occupant.finish()
    rig.settle()
    assert (queued.status, behind.status) == ("stopped", "starting")
    assert queued.attempts == []


def test_a_second_stop_with_less_patience_ends_the_window(rig):
    """graceful=False on a record that is stopping gives its worker up now."""
    handle, _ = rig.running()
    handle.stop(timeout=100, wait=False)
    assert handle.stop(wait=False) is False  # asked again: nothing changes
    rig.advance(50)
    assert handle.status == "stopping"
    handle.stop(graceful=False, wait=False)
    rig.settle()
    assert handle.status == "lost"


def test_cancel_ends_cancelled(rig):
    """A consequence, not a wish: the same path with another end."""
    handle, worker = rig.running()
    handle.cancel("upstream is gone", wait=False)
    assert (handle.snapshot.requested_action, worker.stop_reason) == ("cancel", "cancel")
    worker.checkpoint()
    rig.settle()
    assert handle.status == "cancelled"
    assert rig.trail(handle)[-2:] == ["stopping", "cancelled"]


def test_stopping_a_paused_record_wakes_its_worker(rig):
    """A record paused in place still owns its thread, so it passes through STOPPING."""
    handle, worker = rig.running()
    handle.pause(wait=False)
    worker.checkpoint()
    rig.settle()
    assert handle.status == "paused"
    handle.stop(wait=False)
    assert (handle.status, worker.stop_reason) == ("stopping", "stop")
    worker.checkpoint()
    rig.settle()
    assert handle.status == "stopped"


def test_a_worker_that_vanishes_while_stopping_is_lost(rig):
    """Nobody saw it stop."""
    handle, worker = rig.running()
    handle.stop(wait=False)
    worker.fail(Failure(FailureKind.LOST, "the child is gone"))
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned) == ("lost", False)


def test_a_stop_without_grace_of_a_process_kills_it(make_rig):
    """graceful=False skips the window, not the kill."""
    rig = make_rig(killable=True)
    handle, worker = rig.running()
    assert handle.stop(graceful=False)
    assert worker.killed
    assert handle.status == "stopped"
