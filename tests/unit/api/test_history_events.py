"""Events from the store are those that were told, with their ids and in their order."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest

from chongming_task import (
    AdminOverride,
    AttemptEnded,
    AttemptFailed,
    AttemptStarted,
    ConfigurationError,
    Controller,
    ProgressUpdated,
    RetryPolicy,
    SqliteTaskStore,
    TaskCreated,
    TaskEmitted,
    TaskHeartbeat,
    TaskLogLine,
    TaskOutput,
    TaskStatusChanged,
    UnknownTask,
    task,
)
from tests.unit.runtime.test_bus import drained

STORED = (TaskCreated, TaskStatusChanged, AttemptStarted, AttemptEnded, AdminOverride, TaskOutput, TaskLogLine)


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    return None if request.param == "memory" else SqliteTaskStore(tmp_path / "runs.db")


def told_and_stored(controller, steer):
    """What subscribers hear of one record while ``steer`` plays with it, and what the store says of it then."""
    heard = []
    subscription = controller.watch(heard.append)
    handle = steer(controller)
    controller.output(handle)  # the last lines are in
    history = list(controller.events(handle))
    drained(subscription)
    return [event for event in heard if event.task_id == handle.id], history, handle


def as_one(event):
    """Everything an event says, but for the snapshot that cannot be had any more."""
    return {
        name: getattr(event, name)
        for cls in type(event).__mro__
        for name in getattr(cls, "__slots__", ())
        if name != "snapshot"
    }


def compare(heard, history):
    """The stored events are those told, one by one and word for word, with the newest progress among them."""
    told = [event for event in heard if isinstance(event, STORED)]
    progress = [event for event in heard if isinstance(event, ProgressUpdated)]
    stored = [event for event in history if isinstance(event, STORED)]
    assert [event.event_id for event in stored] == [event.event_id for event in told]
    assert stored == told
    assert [as_one(event) for event in stored] == [as_one(event) for event in told]
    assert [e for e in history if isinstance(e, ProgressUpdated)] == progress[-1:]
    assert len(history) == len(stored) + len(progress[-1:])


def test_a_life_with_output_failure_and_retry(store):
    """Two attempts that print, log and report; real threads, real streams."""
    tries = []

    @task(retry=RetryPolicy(max_attempts=2), tags={"etl"})
    def chatty(ctx):
        tries.append(1)
        print("first line of", len(tries))
        ctx.progress(len(tries), 2)
        ctx.log.warning("a warning")
        ctx.emit("note", 1)
        print("last line of", len(tries))
        if len(tries) < 2:
            raise ValueError("not yet")

    def steer(controller):
        handle = controller.submit(chatty)
        handle.wait(10)
        return handle

    with Controller(store=store, echo=False) as controller:
        heard, history, _ = told_and_stored(controller, steer)
        compare(heard, history)
    assert isinstance(history[0], TaskCreated)
    assert {event.tags for event in history} == {frozenset({"etl"})}
    assert sum(isinstance(event, TaskOutput) for event in history) == 4
    assert sum(isinstance(event, TaskLogLine) for event in history) == 2
    assert sum(isinstance(event, TaskEmitted) for event in heard) == 2  # not stored


def test_a_life_by_hand(rig):
    """Pause, resume, a failure, a retry, an override: the edges and what comes with them."""

    def steer(controller):
        handle, worker = rig.running()
        rig.advance(1)
        controller.pause(handle, wait=False)
        rig.settle()
        worker.checkpoint()
        rig.advance(7)
        controller.resume(handle)
        worker.report(1, 2)
        rig.settle()
        worker.fail(ValueError("x"))
        rig.settle()
        controller.retry(handle, force=True)
        rig.worker(handle).begin()
        rig.settle()
        controller.force_transition(handle, "succeeded", reason="fine", actor="ana")
        rig.settle()
        return handle

    heard, history, _ = told_and_stored(rig.controller, steer)
    told = [event for event in heard if isinstance(event, STORED)]
    assert history == told
    assert [as_one(event) for event in history] == [as_one(event) for event in told]
    assert any(isinstance(event, TaskHeartbeat) for event in heard)


def test_a_reset_forgets_attempts_and_keeps_the_trail(rig):
    """What failed before it is not there any more; its changes are; attempts count anew."""

    def steer(controller):
        handle, worker = rig.running()
        worker.fail(ValueError("x"))
        rig.settle()
        controller.reset(handle, confirm=True)
        controller.start(handle)
        rig.settle()
        rig.worker(handle).begin()
        rig.worker(handle).fail(ValueError("y"))
        rig.settle()
        return handle

    heard, history, _ = told_and_stored(rig.controller, steer)
    assert [e for e in heard if not (isinstance(e, AttemptFailed) and e.failure.message == "x")] == history
    assert [event.attempt for event in history if isinstance(event, AttemptStarted)] == [1, 1]
    assert [event.failure.message for event in history if isinstance(event, AttemptFailed)] == ["y"]


def test_an_attempt_given_up_and_one_stopped(rig):
    """The one is lost, the other cancelled: both have failed."""

    def steer(controller):
        handle, _ = rig.running()
        controller.stop(handle, timeout=1, wait=False)
        rig.advance(2)
        assert handle.status == "lost"
        controller.retry(handle, force=True)
        rig.worker(handle).begin()
        rig.settle()
        controller.stop(handle, wait=False)
        rig.settle()
        rig.worker(handle).checkpoint()
        rig.settle()
        assert handle.status == "stopped"
        return handle

    heard, history, _ = told_and_stored(rig.controller, steer)
    assert history == heard
    assert sum(isinstance(event, AttemptFailed) for event in history) == 2


def test_since_and_types(store):
    """From a moment on, or after an event; only some classes."""
    with Controller(store=store, echo=False) as controller:
        handle = controller.submit(print, "hello")
        handle.wait(10)
        history = list(controller.events(handle))
        for number, event in enumerate(history):
            assert list(controller.events(handle.id, since=event.event_id)) == history[number + 1 :]
        changes = [event for event in history if isinstance(event, TaskStatusChanged)]
        assert list(controller.events(handle, types=TaskStatusChanged)) == changes
        assert next(controller.events(handle, types=[TaskOutput])).text == "hello"
        after = history[1].event_id
        assert next(controller.events(handle, since=after, types=[TaskOutput, TaskCreated])).text == "hello"
        ended = changes[-1].at
        assert changes[-1] in list(controller.events(handle, since=ended))
        assert list(controller.events(handle, since=ended + timedelta(microseconds=1))) == []
        for wrong in ("nobody", datetime(2030, 1, 1), 5):
            with pytest.raises(ConfigurationError, match="since"):
                controller.events(handle, since=wrong)
        with pytest.raises(ConfigurationError, match="types"):
            controller.events(handle, types=[int])
        with pytest.raises(UnknownTask):
            controller.events("nobody")


def test_another_process_reads_the_same_history(tmp_path):
    """From the store alone, by its id."""
    path = tmp_path / "runs.db"
    with Controller(store=path, echo=False) as one, Controller(store=path) as two:
        handle = one.submit(print, "hello")
        handle.wait(10)
        mine = list(one.events(handle))
        assert list(two.events(handle.id)) == mine
        assert [as_one(event) for event in two.events(handle.id)] == [as_one(event) for event in mine]


def test_progress_twice_in_a_moment_is_two_events(rig):
    """The newer is not taken for the older one."""
    heard, second = [], threading.Event()

    def note(event):
        heard.append(event)
        if len(heard) == 2:
            second.set()

    subscription = rig.controller.watch(note, types=[ProgressUpdated])
    handle, worker = rig.running()
    worker.report(1, 10)
    rig.settle()
    worker.report(2, 10)
    rig.settle()
    assert second.wait(10)
    drained(subscription)
    assert [event.progress.done for event in heard] == [1, 2]
    assert heard[0] != heard[1]
    assert list(rig.controller.events(handle, types=[ProgressUpdated])) == heard[1:]
