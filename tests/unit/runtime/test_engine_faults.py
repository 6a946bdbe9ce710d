"""What others do wrong does not end the engine, and nobody is left waiting."""

from __future__ import annotations

import logging

import pytest

from chongming_task import RetryPolicy, TaskError, TaskStatusChanged
from tests.support.rig import job


def test_one_bad_message_does_not_end_the_engine(rig, caplog):
    """It is logged; what came with it is handled."""
    handle, worker = rig.running()
    rig.engine.inbox.put(lambda: 1 / 0)
    worker.finish("fine")
    rig.settle()
    assert handle.result() == "fine"
    assert "ZeroDivisionError" in caplog.text


def test_a_caller_that_raises_on_its_answer_keeps_nobody_waiting(rig, caplog):
    """The answers after it still go out."""
    handle, _ = rig.running()
    heard = []
    rig.controller.ask("pause", [handle.id], actor="panel", done=lambda answers: 1 / 0)
    rig.controller.ask("resume", [handle.id], actor="panel", done=heard.extend)
    rig.settle()
    assert [answer.ok for answer in heard] == [True]
    assert "a caller raised" in caplog.text


def test_a_trigger_the_engine_cannot_apply_is_answered(rig):
    """Whoever waits for it is told, instead of waiting for ever."""
    handle, _ = rig.running()
    with pytest.raises(TaskError, match="could not"):
        rig.controller._link.ask(handle.id, "no trigger at all")
    assert handle.status == "running"


@pytest.mark.parametrize("method", ["stop", "pause", "resume"])
def test_an_executor_that_raises_when_told(rig, caplog, method):
    """The engine keeps the windows all the same."""
    handle, worker = rig.running()

    def broken(*args):
        raise OSError("the pipe is broken")

    setattr(worker, method, broken)
    if method == "stop":
        handle.stop(timeout=1, wait=False)
        rig.advance(1)
        assert handle.status == "lost"
    elif method == "pause":
        handle.pause(timeout=1, wait=False)
        rig.advance(1)
        assert handle.status == "running"
    else:
        handle.pause(wait=False)
        worker.checkpoint()
        rig.settle()
        handle.resume()
        assert handle.status == "running"
    assert "the pipe is broken" in caplog.text


def test_a_kill_that_raises_ends_lost(make_rig):
    """It was not confirmed."""
    rig = make_rig(killable=True)
    handle, worker = rig.running()
    worker.kill = lambda reason: 1 / 0
    handle.stop(timeout=1, wait=False)
    rig.advance(1)
    rig.advance(5)
    assert handle.status == "lost"


class Unreadable:
    """A worker whose progress cannot be read."""

    @property
    def progress(self):
        raise OSError("unreadable")


def test_progress_that_cannot_be_read_does_not_swallow_the_end(rig):
    """The record ends, and its slot comes back."""
    handle, worker = rig.running()
    worker.__class__ = type("Broken", (Unreadable, type(worker)), {})
    worker.finish(1)
    rig.settle()
    assert handle.status == "succeeded"


class RaisingBackoff:
    """A back-off of the caller's own with a fault in it."""

    def delay(self, failed, chance):
        raise KeyError("no such delay")


def test_a_back_off_that_raises_loses_no_end(rig):
    """The attempt's end counts; some back-off follows."""
    handle, worker = rig.running(retry=RetryPolicy(2, backoff=RaisingBackoff()))
    worker.fail(ValueError("x"))
    rig.settle()
    assert handle.status in ("retry_wait", "failed")
    assert not rig.engine.ready.holding


def test_a_view_that_raises_stops_nothing(rig, caplog):
    """Taps are ours, and still not trusted."""
    untap = rig.controller.tap(lambda changed: 1 / 0)
    handle = rig.submit()
    assert handle.status == "starting"
    untap()
    assert "a view raised" in caplog.text


def test_a_filter_that_raises_stops_nothing(rig, caplog):
    """What subscribers want is asked on the engine's thread."""

    def accepts(event):
        raise TypeError("not like this")

    heard = []
    with (
        rig.engine.bus.subscribe(heard.append, accepts),
        rig.controller.watch(heard.append, types=[TaskStatusChanged]) as good,
    ):
        handle = rig.submit()
        assert handle.status == "starting"
    good._thread.join(10)
    assert [event.to_status for event in heard] == ["queued", "starting"]


def test_a_timer_that_cannot_be_handled_does_not_end_the_tick(rig, caplog):
    """The others of the same moment still fire."""
    one, _ = rig.running()
    two, _ = rig.running()
    for handle in (one, two):
        handle.stop(timeout=1, wait=False)
    elapsed = rig.engine.supervisor.elapsed
    rig.engine.supervisor.elapsed = lambda live, timer: 1 / 0 if live.snapshot is one.snapshot else elapsed(live, timer)
    with caplog.at_level(logging.ERROR):
        rig.advance(1)
    assert (one.status, two.status) == ("stopping", "lost")
    assert "timer" in caplog.text


def test_submissions_come_in_while_the_engine_handles_others(rig):
    """A message that posts messages does not hold the tick up: they are for the next one."""
    rig.engine.call(lambda: rig.controller.submit(job, name="from inside"))
    rig.settle()
    assert rig.controller.list_tasks(name_prefix="from")[0].status == "starting"
