"""Heartbeats: what a running task is heard of while it says nothing, at one look for all every five seconds."""

from __future__ import annotations

from datetime import timedelta

from chongming_task import TaskHeartbeat
from tests.unit.runtime.test_bus import drained


def test_a_checkpoint_is_told_with_its_moment(make_rig):
    """Once a look, with the time of the newest checkpoint, on the record, in the store and to subscribers."""
    rig = make_rig()
    heard = []
    subscription = rig.controller.watch(heard.append, types=[TaskHeartbeat])
    handle, worker = rig.running(tags=["mine"])
    began = rig.clock.now()
    for _ in range(2):
        rig.advance(1.0)
        worker.checkpoint()
    rig.advance(3.0)
    assert (
        handle.snapshot.last_heartbeat_at == rig.store.get(handle.id).last_heartbeat_at == began + timedelta(seconds=2)
    )
    rig.advance(4.0)
    worker.checkpoint()
    rig.advance(1.0)
    rig.advance(5.0)  # it was silent
    drained(subscription)
    assert [event.at - began for event in heard] == [timedelta(seconds=2), timedelta(seconds=9)]
    assert {event.tags for event in heard} == {frozenset({"mine"})}
    assert handle.snapshot.status_version == 3  # a heartbeat is no change


def test_nothing_is_looked_at_while_nothing_runs(make_rig):
    """The timer comes with the first worker and goes with the last one."""
    rig = make_rig()
    rig.submit(start=False)
    assert len(rig.engine.timers) == 0
    _, one = rig.running()
    _, other = rig.running()
    assert len(rig.engine.timers) == 1
    one.finish()
    rig.settle()
    assert len(rig.engine.timers) == 1
    other.finish()
    rig.settle()
    assert len(rig.engine.timers) == 0
    _, again = rig.running()
    assert len(rig.engine.timers) == 1
    again.finish()


def test_a_thousand_records_are_one_look_and_one_write(make_rig, monkeypatch):
    """All heartbeats of a look go to the store together."""
    rig = make_rig(max_parallel=1_000)
    written = []
    touch = rig.store.touch
    monkeypatch.setattr(rig.store, "touch", lambda touches: (written.append(len(touches)), touch(touches)))
    workers = [rig.running()[1] for _ in range(1_000)]
    rig.advance(1.0)
    for worker in workers[:600]:
        worker.checkpoint()
    rig.advance(4.0)
    assert [count for count in written if count] == [600]


def test_progress_is_a_heartbeat_too(make_rig):
    """Who reports progress is not told of twice, and the time does not go back."""
    rig = make_rig()
    heard = []
    subscription = rig.controller.watch(heard.append, types=[TaskHeartbeat])
    handle, worker = rig.running()
    rig.advance(1.0)
    worker.checkpoint()
    rig.advance(1.0)
    worker.report(1, 2)
    rig.settle()
    told = handle.snapshot.last_heartbeat_at
    rig.advance(5.0)
    assert handle.snapshot.last_heartbeat_at == told
    drained(subscription)
    assert heard == []


def test_a_new_attempt_begins_anew(make_rig):
    """A checkpoint of the first try is none of the second."""
    rig = make_rig()
    handle, worker = rig.running()
    rig.advance(1.0)
    worker.checkpoint()
    rig.advance(5.0)
    worker.fail(ValueError("x"))
    rig.settle()
    handle.retry(force=True)
    rig.worker(handle).begin()
    rig.settle()
    began = rig.clock.now()
    rig.advance(6.0)
    assert handle.snapshot.last_heartbeat_at == began


def test_a_worker_that_cannot_be_read_hides_no_other(make_rig, caplog):
    """An executor's fault is logged."""
    rig = make_rig()
    _, broken = rig.running()
    handle, worker = rig.running()
    broken.__class__ = type("Broken", (type(broken),), {"last_checkpoint": property(lambda self: 1 / 0)})
    rig.advance(1.0)
    worker.checkpoint()
    moment = rig.clock.now()
    rig.advance(4.0)
    assert handle.snapshot.last_heartbeat_at == moment
    assert "could not read the last checkpoint" in caplog.text


def test_a_clock_that_is_set_back_silences_nobody(make_rig):
    """The wall clock says what it says; heartbeats go on."""
    rig = make_rig()
    handle, worker = rig.running()
    rig.clock.jump(-3600)
    rig.advance(1.0)
    worker.checkpoint()
    moment = rig.clock.now()
    rig.advance(4.0)
    assert handle.snapshot.last_heartbeat_at == moment


def test_a_silent_worker_is_not_heard_again(make_rig):
    """However the wall clock is set meanwhile: no new checkpoint is no news."""
    rig = make_rig()
    handle, worker = rig.running()
    rig.advance(1.0)
    worker.checkpoint()
    rig.advance(4.0)
    told = handle.snapshot.last_heartbeat_at
    for seconds in (3600, -7200, 0):
        rig.clock.jump(seconds)
        rig.advance(5.0)
        assert handle.snapshot.last_heartbeat_at == told
