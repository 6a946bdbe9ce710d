"""Subscribers can be slow, block or raise: no task notices."""

from __future__ import annotations

import threading

import pytest

from chongming_task import (
    AdminOverride,
    AttemptFailed,
    AttemptStarted,
    ConfigurationError,
    ProgressUpdated,
    TaskCreated,
    TaskEmitted,
    TaskStatusChanged,
)
from chongming_task.core.ports import Emitted
from chongming_task.runtime.bus import Bus


def drained(subscription):
    """Close it, and wait until everything has been told."""
    subscription.close()
    subscription._thread.join(10)
    assert not subscription._thread.is_alive()


def progress(number):
    return ProgressUpdated(event_id=str(number), at=None, task_id="t", progress=number)


def changed(number):
    return TaskStatusChanged(
        event_id=str(number), at=None, task_id="t", from_status="queued", to_status="starting", trigger="x",
        actor="x", reason=None, version=number,
    )  # fmt: skip


def test_the_story_of_a_record(rig):
    """Created, every change, the attempt, what the task said, its failure, the override; in order, each with an id."""
    heard = []
    subscription = rig.controller.watch(heard.append)
    handle, worker = rig.running()
    worker.report(1, 2)
    worker.deliver_again(Emitted(1, "milestone", {"row": 7}))
    worker.fail(ValueError("x"))
    rig.settle()
    handle.force_transition("succeeded", reason="fine", actor="ana")
    drained(subscription)
    assert [type(event) for event in heard] == [
        TaskCreated, TaskStatusChanged, TaskStatusChanged, TaskStatusChanged, AttemptStarted,
        ProgressUpdated, TaskEmitted, TaskStatusChanged, AttemptFailed, TaskStatusChanged, AdminOverride,
    ]  # fmt: skip
    assert len({event.event_id for event in heard}) == len(heard)
    assert [event.version for event in heard if isinstance(event, TaskStatusChanged)] == [1, 2, 3, 4, 5]
    assert heard[6].payload == {"row": 7}
    assert heard[8].failure.message == "x"


def test_watch_by_record_and_by_type(rig):
    """Only what was asked for arrives."""
    one, two = rig.submit(start=False), rig.submit(start=False)
    mine, overrides = [], []
    subscriptions = [
        rig.controller.watch(mine.append, task_id=one.id),
        rig.controller.watch(overrides.append, types=[AdminOverride]),
    ]
    for handle in (one, two):
        handle.skip()
        handle.force_transition("failed", reason="r", actor="a")
    for subscription in subscriptions:
        drained(subscription)
    assert {event.task_id for event in mine} == {one.id}
    assert [type(event) for event in overrides] == [AdminOverride, AdminOverride]


@pytest.mark.parametrize("types", [["TaskStatusChanged"], [int], int, 5])
def test_watching_for_what_is_no_event_is_refused(rig, types):
    """At the call, instead of on the engine's thread."""
    with pytest.raises(ConfigurationError, match="types"):
        rig.controller.watch(print, types=types)
    with pytest.raises(ConfigurationError, match="callback"):
        rig.controller.watch("print")
    assert rig.submit().status == "starting"


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_subscriber_that_raises_hears_the_rest(rig, caplog, error):
    """It is logged; neither tasks nor later events notice."""
    heard = []

    def broken(event):
        heard.append(event)
        raise error("mine")

    subscription = rig.controller.watch(broken, types=[TaskStatusChanged])
    handle, worker = rig.running()
    worker.finish()
    rig.settle()
    drained(subscription)
    assert [str(event.to_status) for event in heard] == ["queued", "starting", "running", "succeeded"]
    assert caplog.text.count("a subscriber raised") == 4
    assert handle.status == "succeeded"


def test_a_blocked_subscriber_loses_progress_and_no_change():
    """A full mailbox drops and counts progress; changes of status always find room."""
    bus, entered, release, heard = Bus(), threading.Event(), threading.Event(), []

    def slow(event):
        entered.set()
        assert release.wait(10)
        heard.append(event)

    subscription = bus.subscribe(slow, lambda event: True, size=10)
    bus.publish([changed(0)], [])
    assert entered.wait(10)
    for number in range(1, 101):
        bus.publish([progress(number), changed(number)], [])
    release.set()
    drained(subscription)
    assert [event.version for event in heard if isinstance(event, TaskStatusChanged)] == list(range(101))
    assert subscription.dropped == 100 - sum(isinstance(event, ProgressUpdated) for event in heard)
    assert subscription.dropped >= 90


def test_a_subscriber_that_blocks_for_ever_changes_nothing_for_others(rig):
    """Another one hears everything, and records end."""
    release, heard = threading.Event(), []
    stuck = rig.controller.watch(lambda event: release.wait(30))
    good = rig.controller.watch(heard.append, types=[TaskStatusChanged])
    handle, worker = rig.running()
    worker.finish()
    rig.settle()
    drained(good)
    assert heard[-1].to_status == handle.status == "succeeded"
    release.set()
    drained(stuck)


def test_closing_tells_what_is_in_the_mailbox_and_ends_the_thread():
    """Idempotent, also as a context manager; nothing arrives after it."""
    bus, heard = Bus(), []
    with bus.subscribe(heard.append, lambda event: True) as subscription:
        bus.publish([changed(1), changed(2)], [])
    drained(subscription)
    assert bus.narrator is None
    bus.publish([changed(3)], [])
    assert [event.version for event in heard] == [1, 2]


def test_closing_the_bus_ends_every_subscription():
    """And the taps."""
    bus, heard, tapped = Bus(), [], []
    subscriptions = [bus.subscribe(heard.append, lambda event: True) for _ in range(3)]
    bus.tap(tapped.append)
    bus.publish([changed(1)], ["snapshot"])
    bus.close()
    for subscription in subscriptions:
        drained(subscription)
    bus.publish([changed(2)], ["snapshot"])
    assert len(heard) == 3
    assert tapped == [["snapshot"]]


def test_no_event_is_made_for_nobody(rig, monkeypatch):
    """Without a subscriber the engine makes none."""
    from chongming_task.runtime import narrate

    monkeypatch.setattr(narrate, "moved", lambda *args: 1 / 0)
    monkeypatch.setattr(narrate, "created", lambda *args: 1 / 0)
    assert rig.submit().status == "starting"


def test_progress_does_not_reach_a_view_after_its_end(rig):
    """untap() is final."""
    seen = []
    untap = rig.controller.tap(seen.append)
    handle = rig.submit()
    untap()
    rig.worker(handle).begin()
    rig.settle()
    assert [task.status for batch in seen for task in batch] == ["starting"]
