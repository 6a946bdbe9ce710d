"""The handle: what it shows, what it gives back, how it raises."""

from __future__ import annotations

import pytest

from chongming_task import (
    ConfigurationError,
    RetryPolicy,
    StillRunning,
    TaskCancelled,
    TaskExecutionError,
    TaskTimeout,
    Timeout,
    UnknownTask,
)


def test_it_shows_the_newest_state(rig):
    """Nothing is cached."""
    handle = rig.submit(name="demo", start=False)
    assert (handle.name, handle.status, handle.progress, handle.failure, handle.running) == (
        "demo", "pending", None, None, False,
    )  # fmt: skip
    assert repr(handle) == f"<TaskHandle 'demo' pending {handle.id}>"
    handle.start()
    worker = rig.worker(handle)
    worker.begin()
    worker.report(1, 4)
    rig.settle()
    assert (handle.status, handle.progress.fraction, handle.running) == ("running", 0.25, True)
    assert rig.controller.handle(handle.id).snapshot is handle.snapshot


def test_result_raises_the_tasks_own_exception(rig):
    """The very object, so that its traceback and its fields are there."""
    handle, worker = rig.running()
    error = KeyError("mine")
    worker.fail(error)
    with pytest.raises(KeyError) as raised:
        handle.result()
    assert raised.value is error


@pytest.mark.parametrize("how", ["stop", "cancel", "skip", "lose", "exit"])
def test_result_of_what_has_no_value(rig, how):
    """An error that names the record and how it ended."""
    handle = rig.submit(start=how != "skip")
    if how in ("stop", "cancel"):
        getattr(handle, how)(reason="enough", wait=False)
        rig.worker(handle).checkpoint()
    elif how == "skip":
        handle.skip("not needed")
    elif how == "lose":
        handle.stop(graceful=False)
    else:
        rig.worker(handle).fail(SystemExit(3))
    with pytest.raises(TaskExecutionError) as raised:
        handle.result()
    assert raised.value.task_id == handle.id
    assert raised.value.status == handle.status
    assert isinstance(raised.value.__cause__, SystemExit if how == "exit" else type(None))


def test_result_of_a_timeout(rig):
    """TaskTimeout, from the signal that ended it."""
    handle, worker = rig.running(timeout=Timeout(per_attempt=5))
    rig.advance(5)
    worker.error = TaskCancelled("asked to stop")
    worker.checkpoint()
    with pytest.raises(TaskTimeout, match="failed") as raised:
        handle.result()
    assert isinstance(raised.value.__cause__, TaskCancelled)


def test_result_of_a_thread_that_overran_its_limit(rig):
    """TaskTimeout, too: it ran out of time, though nobody knows what it still does."""
    handle, _ = rig.running(timeout=Timeout(per_attempt=5, grace=1))
    rig.advance(5)
    rig.advance(1)
    assert handle.status == "lost"
    with pytest.raises(TaskTimeout, match="'job' was lost: the worker overran its attempt limit") as raised:
        handle.result()
    assert raised.value.status == "lost"
    assert not isinstance(raised.value, TimeoutError)


def test_result_of_an_exit(rig):
    """Its code alone would say nothing."""
    handle, worker = rig.running()
    worker.fail(SystemExit(2))
    with pytest.raises(TaskExecutionError, match=r"'job' failed: it raised SystemExit\(2\)"):
        handle.result()


def test_the_error_of_an_earlier_attempt_is_not_the_results(rig):
    """A retry that succeeds gives its value."""
    handle, worker = rig.running(retry=RetryPolicy(2, backoff="none"))
    worker.fail(ValueError("first"))
    rig.settle()
    rig.worker(handle).finish("second")
    assert handle.result() == "second"


def test_waiting_changes_nothing(rig):
    """Time runs out, the record goes on; the message says how it stands."""
    handle, worker = rig.running()
    with pytest.raises(TimeoutError, match="'job' has not ended within 5 s: it is running"):
        handle.wait(timeout=5)
    with pytest.raises(TimeoutError, match="nothing moves"):
        handle.wait()
    with pytest.raises(TimeoutError, match="not paused or lost within 0 s"):
        handle.wait_for("paused", "lost", timeout=0)
    with pytest.raises(ConfigurationError, match="no status"):
        handle.wait_for("done")
    assert handle.status == "running"
    worker.finish(1)
    assert handle.wait(timeout=5) == "succeeded"
    assert handle.wait_for("running") == "succeeded"
    assert handle.wait(timeout=1e300) == "succeeded"


def test_a_waiter_that_leaves_does_not_hide_another(rig):
    """One gives up while the engine goes through the list; the next is still woken."""
    from chongming_task.runtime.waiters import Waiter

    handle, worker = rig.running()
    live, woken = handle._live, []
    leaving = Waiter(lambda task: live.unsubscribe(leaving), lambda: None)  # leaves in the middle
    live.subscribe(Waiter(lambda task: task.is_terminal, lambda: woken.append(1)))
    live.waiters.insert(0, leaving)
    live.subscribe(Waiter(lambda task: task.is_terminal, lambda: woken.append(2)))
    worker.finish()
    rig.settle()
    assert woken == [1, 2]
    assert live.waiters == []


def test_wait_all_waits_for_what_tasks_submit(rig):
    """A parent's children are there before it ends, and are waited for."""
    parent, worker = rig.running(name="parent")
    children = []

    def idle():
        if worker.running:
            children.append(rig.controller.submit(print, name="child"))
            worker.finish()
        elif rig.executor.running:
            rig.executor.running[0].finish()
        else:
            return False
        return True

    rig.driver._idle = idle
    rig.controller.wait_all(timeout=100)
    assert (parent.status, children[0].status) == ("succeeded", "succeeded")


def test_wait_all_says_who_has_not_ended(rig):
    """After the time for all of them together."""
    rig.running(name="slow")
    with pytest.raises(TimeoutError, match="'slow' has not ended"):
        rig.controller.wait_all(timeout=3)


def test_its_verbs_take_what_the_refusals_advise(rig):
    """A reset beside a worker that still runs says force=True; and every verb has a reason for the audit trail."""
    handle, _ = rig.running()
    handle.pause(wait=False)
    handle.resume(reason="go")
    handle.stop(graceful=False)
    handle.retry(force=True, reason="again")
    handle.stop(graceful=False)
    with pytest.raises(StillRunning, match="force=True"):
        handle.reset(confirm=True)
    handle.reset(confirm=True, force=True, reason="anew")
    said = {edge.trigger: edge.reason for edge in handle.transitions}
    assert [said[f"user:{verb}"] for verb in ("resume", "retry", "reset")] == ["go", "again", "anew"]


def test_a_record_is_meant_by_its_handle_too(rig):
    """Wherever an id is taken."""
    handle, worker = rig.running()
    controller = rig.controller
    assert controller.get(handle) == handle.snapshot
    assert controller.attempts(handle) == handle.attempts
    assert controller.transitions(handle) == handle.transitions
    assert controller.output(handle) == controller.waiting_for(handle) == []
    assert controller.can(handle, "stop") == (True, None)
    assert controller.pause(handle, wait=False) is False
    worker.checkpoint()
    rig.settle()
    controller.resume(handle)
    answers = []
    controller.ask("stop", [handle], actor="panel", done=answers.extend)
    worker.checkpoint()
    rig.settle()
    assert [answer.ok for answer in answers] == [True]
    assert controller.stop(handle, wait=False) is False
    controller.force_transition(handle, "failed", reason="enough", actor="ann")
    controller.retry(handle, force=True)
    controller.force_transition(handle, "failed", reason="enough", actor="ann")
    controller.skip(handle)
    controller.reset(handle, confirm=True, force=True)
    controller.start(handle)
    assert controller.cancel(handle, wait=False) in (True, False)


def test_a_name_is_no_id(rig):
    """The message says so; and what is neither an id nor a handle is refused."""
    rig.submit()
    for look in (rig.controller.stop, rig.controller.get, rig.controller.start):
        with pytest.raises(UnknownTask, match="not a name"):
            look("job")
        with pytest.raises(ConfigurationError, match="by its id or its handle"):
            look(5)
    with pytest.raises(UnknownTask) as unknown:
        rig.controller.get("01a22dd2-a596-7679-9533-36ccdab991a6")
    assert "name" not in str(unknown.value)
