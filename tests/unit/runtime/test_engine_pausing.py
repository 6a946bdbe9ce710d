"""Pause and resume: requests that come true, that roll back, and answers that come too late."""

from __future__ import annotations

from chongming_task.core.triggers import Held


def test_a_pause_holds_at_the_next_checkpoint_and_keeps_the_slot(make_rig):
    """The worker waits in place; nobody else gets its slot."""
    rig = make_rig(max_parallel=1)
    handle, worker = rig.running()
    waiting = rig.submit()
    assert handle.pause(wait=False) is False
    assert (handle.status, handle.snapshot.requested_action) == ("pausing", "pause")
    worker.checkpoint()
    rig.settle()
    assert (handle.status, handle.snapshot.live, handle.snapshot.requested_action) == ("paused", True, None)
    assert waiting.status == "queued"
    handle.resume()
    assert (handle.status, worker.pause_request) == ("running", None)
    worker.finish(1)
    rig.settle()
    assert (handle.status, waiting.status) == ("succeeded", "starting")


def test_a_pause_that_does_not_come_true_rolls_back(rig):
    """The record says that it runs on, and the worker is told to forget the pause."""
    handle, worker = rig.running()
    handle.pause(timeout=5, wait=False)
    rig.advance(4.9)
    assert handle.status == "pausing"
    rig.advance(0.1)
    assert (handle.status, worker.pause_request) == ("running", None)
    assert rig.triggers(handle)[-1] == "pause:timeout"
    assert handle.snapshot.requested_action is None


def test_a_stale_answer_does_not_make_a_second_pause_true(rig):
    """The worker answers the request that rolled back; the new one is still open."""
    handle, worker = rig.running()
    handle.pause(timeout=5, wait=False)
    first = worker.pause_request
    rig.advance(5)
    handle.pause(timeout=5, wait=False)
    worker.deliver_again(Held(1, first))
    rig.settle()
    assert handle.status == "pausing"
    worker.checkpoint()
    rig.settle()
    assert handle.status == "paused"


def test_an_answer_after_the_roll_back_changes_nothing(rig):
    """Held comes in as the record runs again."""
    handle, worker = rig.running()
    handle.pause(timeout=1, wait=False)
    worker.clock_request = request = worker.pause_request
    rig.advance(1)
    worker.deliver_again(Held(1, request))
    rig.settle()
    assert handle.status == "running"


def test_an_old_window_does_not_roll_a_new_pause_back(rig):
    """Resume and pause arrive in the tick in which the first pause's window ends."""
    handle, worker = rig.running()
    handle.pause(timeout=5, wait=False)
    rig.clock.advance(5)
    rig.controller.ask("resume", [handle.id], actor="user", done=lambda answers: None)
    rig.controller.ask("pause", [handle.id], actor="user", done=lambda answers: None, timeout=30)
    rig.settle()
    assert handle.status == "pausing"
    worker.checkpoint()
    rig.settle()
    assert handle.status == "paused"
    rig.advance(1000)
    assert handle.status == "paused"


def test_pause_and_resume_in_one_tick_leave_the_worker_alone(rig):
    """Both are in the trail; the worker ends up with no request."""
    handle, worker = rig.running()
    for verb in ("pause", "resume"):
        rig.controller.ask(verb, [handle.id], actor="user", done=lambda answers: None)
    rig.settle()
    assert (handle.status, worker.pause_request) == ("running", None)
    rig.advance(100)
    assert rig.triggers(handle)[-2:] == ["user:pause", "user:resume"]


def test_an_executor_that_cannot_pause_is_believed_at_once(rig):
    """It says False: the pause rolls back without waiting for its window."""
    handle, worker = rig.running()
    worker.pause = lambda request: False
    assert handle.pause(timeout=1000) is False
    assert handle.status == "running"
    assert rig.trail(handle)[-2:] == ["pausing", "running"]


def test_a_task_that_ends_while_pausing_withdraws_the_pause_first(rig):
    """Two audited transitions: the pause that was not, then the end."""
    handle, worker = rig.running()
    handle.pause(wait=False)
    worker.finish("done")
    rig.settle()
    assert rig.trail(handle)[-3:] == ["pausing", "running", "succeeded"]
    assert "pause:withdrawn" in rig.triggers(handle)
    rig.advance(100)
    assert handle.result() == "done"


def test_a_pause_during_starting_holds_at_the_first_checkpoint(rig):
    """The worker has not begun; the request waits for it."""
    handle = rig.submit()
    handle.pause(wait=False)
    worker = rig.worker(handle)
    worker.begin()
    worker.checkpoint()
    rig.settle()
    assert (handle.status, handle.snapshot.live) == ("paused", True)
    handle.resume()
    worker.finish(None)
    rig.settle()
    assert handle.status == "succeeded"


def test_a_record_paused_before_its_start_holds_no_slot(make_rig):
    """It leaves the queue, lets others pass, and comes back with resume."""
    rig = make_rig(max_parallel=1)
    _, occupant = rig.running()
    paused, next_one = rig.submit(priority=5), rig.submit()
    assert paused.pause()
    occupant.finish()
    rig.settle()
    assert (paused.status, paused.snapshot.live, next_one.status) == ("paused", False, "starting")
    paused.resume()
    assert paused.status == "queued"
    rig.worker(next_one).finish()
    rig.settle()
    assert paused.status == "starting"


def test_a_paused_back_off_does_not_run_out(rig):
    """RETRY_WAIT becomes PAUSED; only resume leads on."""
    from chongming_task import FixedBackoff, RetryPolicy

    handle, worker = rig.running(retry=RetryPolicy(3, backoff=FixedBackoff(10)))
    worker.fail(ValueError("x"))
    rig.settle()
    assert handle.pause()
    rig.advance(1000)
    assert handle.status == "paused"
    handle.resume()
    rig.settle()
    assert (handle.status, handle.snapshot.attempt) == ("starting", 2)
