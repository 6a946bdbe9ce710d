"""Reports that come twice, too late, or from a worker that was given up."""

from __future__ import annotations

import pytest

from chongming_task import FailureKind, RetryPolicy, StillRunning, Timeout
from chongming_task.core.failures import Failure
from chongming_task.core.triggers import Ended, Held, Started


def test_doubled_reports_change_nothing(rig):
    """Each counts once, in any state."""
    handle, worker = rig.running()
    worker.begin()
    rig.settle()
    assert rig.trail(handle) == ["queued", "starting", "running"]
    worker.finish(1)
    worker.finish(2)
    worker.begin()
    rig.settle()
    worker.fail(ValueError("no"))
    worker.deliver_again(Held(1, 3))
    rig.settle()
    assert handle.result() == 1
    assert rig.trail(handle) == ["queued", "starting", "running", "succeeded"]


def test_reports_of_an_earlier_attempt_do_not_touch_the_next(rig):
    """The first attempt's worker speaks up while the second runs."""
    handle, first = rig.running(retry=RetryPolicy(2, backoff="none"))
    first.fail(ValueError("x"))
    rig.settle()
    first.deliver_again(Started(1))
    first.deliver_again(Ended(1, outcome="late"))
    rig.settle()
    assert (handle.status, handle.snapshot.attempt) == ("starting", 2)
    first.deliver_again(Ended(7, outcome="from nowhere"))
    rig.settle()
    assert handle.status == "starting"


@pytest.mark.parametrize("end", ["finish", "fail", "vanish"])
def test_a_worker_that_was_given_up_ends_after_all(rig, end):
    """Noted on its attempt, never a status; it is no longer listed as running."""
    handle, worker = rig.running()
    handle.stop(timeout=1, wait=False)
    rig.advance(1)
    version = handle.snapshot.status_version
    if end == "finish":
        worker.finish("late")
    else:
        worker.fail(ValueError("late") if end == "fail" else Failure(FailureKind.LOST, "gone"))
    rig.settle()
    assert (handle.status, handle.snapshot.status_version) == ("lost", version)
    assert not handle.snapshot.abandoned
    assert not rig.store.get(handle.id).abandoned
    assert not handle.running
    assert rig.controller.abandoned() == []
    assert "the worker that was given up" in handle.attempts[0].note
    assert handle.can("retry", force=True)[0]


def test_a_retry_beside_a_worker_that_still_runs_must_be_forced(rig):
    """Two copies at once only when asked for; the old one never counts."""
    handle, old = rig.running(retry=RetryPolicy(3))
    handle.stop(graceful=False)
    assert handle.status == "lost"
    with pytest.raises(StillRunning, match="force=True"):
        handle.retry()
    with pytest.raises(StillRunning):
        handle.reset(confirm=True)
    handle.retry(force=True)
    new = rig.worker(handle)
    new.begin()
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned, handle.running) == ("running", True, True)
    old.finish("old")
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned) == ("running", False)
    new.finish("new")
    rig.settle()
    assert handle.result() == "new"
    assert handle.attempts[0].note is not None
    assert handle.attempts[1].note is None


def test_a_given_up_worker_outlives_the_next_attempt(rig):
    """The record has succeeded, and says that something of it still runs."""
    handle, old = rig.running(retry=RetryPolicy(3))
    handle.stop(graceful=False)
    handle.retry(force=True)
    rig.worker(handle).finish("new")
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned, handle.running) == ("succeeded", True, True)
    old.finish()
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned, handle.running) == ("succeeded", False, False)


def test_a_reset_beside_a_worker_that_still_runs(rig):
    """Attempts are counted from 1 again; the old attempt 1 is not mistaken for the new one, nor the other way round."""
    handle, old = rig.running()
    handle.stop(graceful=False)
    rig.controller.reset(handle.id, confirm=True, force=True)
    handle.start()
    new = rig.worker(handle)
    assert new is not old
    old.deliver_again(Started(1))
    rig.settle()
    assert handle.status == "starting"
    new.begin()
    old.finish("old")
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned) == ("running", False)
    assert handle.attempts[0].note is None  # the attempt it belonged to is forgotten
    new.finish("new")
    rig.settle()
    assert handle.result() == "new"


def test_the_new_attempt_after_a_reset_may_end_first(rig):
    """And the old one is still listed until it is gone."""
    handle, old = rig.running()
    handle.stop(graceful=False)
    rig.controller.reset(handle.id, confirm=True, force=True)
    handle.start()
    rig.worker(handle).begin()
    rig.worker(handle).finish("new")
    rig.settle()
    assert (handle.status, handle.running, handle.snapshot.abandoned) == ("succeeded", True, True)
    assert old.stop_reason == "detached"
    old.finish("old")
    rig.settle()
    assert (handle.result(), handle.running) == ("new", False)


def test_an_override_detaches_the_live_attempt(make_rig):
    """The worker is told and its end is noted; the slot is free at once; the audit names the operator."""
    rig = make_rig(max_parallel=1)
    handle, worker = rig.running(timeout=Timeout(per_attempt=50))
    waiting = rig.submit()
    handle.force_transition("succeeded", reason="seen on the other side", actor="ana")
    assert (handle.status, handle.snapshot.overridden, handle.snapshot.abandoned) == ("succeeded", True, True)
    assert worker.stop_reason == "detached"
    rig.settle()
    assert waiting.status == "starting"
    worker.fail(ValueError("late"))
    rig.advance(100)
    assert handle.status == "succeeded"
    assert "ValueError" not in str(handle.failure)
    assert "late" in handle.attempts[0].note
    edge = handle.transitions[-1]
    assert (edge.trigger, edge.actor, edge.reason) == ("force:override", "ana", "seen on the other side")


@pytest.mark.parametrize("to", ["pending", "blocked", "queued", "paused", "retry_wait"])
def test_a_record_set_back_by_hand_can_run_again(rig, to):
    """All its attempts were used; what leads to another one grants it."""
    handle, worker = rig.running()
    worker.finish(1)
    rig.settle()
    handle.force_transition(to, reason="again", actor="ana")
    rig.advance(0)
    if to in ("pending", "blocked"):
        assert handle.status == to
        if to == "pending":
            handle.start()
    elif to == "paused":
        handle.resume()
    rig.settle()
    if to != "blocked":
        assert (handle.status, handle.snapshot.attempt) == ("starting", 2)


@pytest.mark.parametrize("verb", ["stop", "cancel"])
@pytest.mark.parametrize("to", ["starting", "running", "pausing", "stopping"])
def test_a_record_that_holds_no_worker_can_still_be_ended(rig, to, verb):
    """Set by hand to a state that waits for a worker: there is none to wait for."""
    handle = rig.submit(start=False)
    handle.force_transition(to, reason="it runs elsewhere", actor="ana")
    assert handle.status == to
    assert getattr(handle, verb)()
    assert handle.status == ("stopped" if verb == "stop" else "cancelled")


def test_a_pause_of_a_record_that_holds_no_worker_rolls_back(rig):
    """Nothing can be held, and it says so."""
    handle = rig.submit(start=False)
    handle.force_transition("running", reason="it runs elsewhere", actor="ana")
    assert handle.pause() is False
    assert handle.status == "running"


def test_an_override_out_of_the_back_off_forgets_its_timer(rig):
    """The record goes its new way undisturbed."""
    handle, worker = rig.running(retry=RetryPolicy(3, backoff="fixed"))
    worker.fail(ValueError("x"))
    rig.settle()
    handle.force_transition("failed", reason="enough", actor="ana")
    assert len(rig.engine.timers) == 0
    rig.advance(1000)
    assert handle.status == "failed"


def test_an_override_as_the_launch_fails_leaves_no_ghost(rig):
    """The attempt is detached before its failed launch is told: no worker was ever there to wait for."""
    handle = rig.controller.submit(print)
    rig.executor.launch = lambda request, deliver: 1 / 0
    rig.engine.tick()
    assert handle.status == "starting"
    failed = list(rig.engine.inbox.drain())  # the failure waits in the inbox; the override overtakes it
    handle.force_transition("stopped", reason="enough", actor="ana")
    for call, args in failed:
        rig.engine.inbox.put(call, *args)
    rig.settle()
    assert (handle.status, handle.snapshot.abandoned, handle.running) == ("stopped", False, False)
