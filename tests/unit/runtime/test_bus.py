"""Subscribers can be slow, block or raise: no task notices."""

from __future__ import annotations

import sys
import threading

import pytest

from chongming_task import (
    AdminOverride,
    AttemptEnded,
    AttemptFailed,
    AttemptStarted,
    ConfigurationError,
    Controller,
    Pipeline,
    ProgressUpdated,
    RetryPolicy,
    TaskCreated,
    TaskEmitted,
    TaskStatusChanged,
)
from chongming_task.core.ports import Emitted
from chongming_task.runtime import mailbox
from chongming_task.runtime.bus import Bus
from chongming_task.runtime.waiters import Waiter
from tests.support.rig import Rig


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


def test_every_attempt_tells_its_end_and_its_seconds(rig):
    """One that succeeds as well; by the monotonic clock, whatever happens to the other one."""
    heard = []
    subscription = rig.controller.watch(heard.append, types=[AttemptEnded])
    handle, worker = rig.running(retry=RetryPolicy(max_attempts=2, backoff="none"))
    rig.advance(2)
    rig.clock.jump(-3600)
    worker.fail(ValueError("x"))
    rig.settle()
    rig.worker(handle).begin()
    rig.settle()
    rig.clock.jump(7200)
    rig.advance(5)
    rig.worker(handle).finish()
    rig.settle()
    drained(subscription)
    assert [type(event) for event in heard] == [AttemptFailed, AttemptEnded]
    assert [(event.attempt, event.status, event.seconds) for event in heard] == [(1, "failed", 2), (2, "succeeded", 5)]


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


def test_watch_by_tag(rig):
    """Every event carries the tags of its record; no look at the record is needed."""
    heard = []
    with rig.controller.watch(heard.append, tag="etl") as subscription:
        tagged = rig.submit(tags=["etl", "night"])
        rig.submit(tags=["other"])
        worker = rig.worker(tagged)
        worker.begin()
        worker.report(1, 2)
        worker.deliver_again(Emitted(1, "note", None))
        worker.fail(ValueError("x"))
        rig.settle()
    drained(subscription)
    assert {event.task_id for event in heard} == {tagged.id}
    assert {event.tags for event in heard} == {frozenset({"etl", "night"})}
    assert len(heard) == 9


def test_who_is_woken_has_been_told(rig):
    """Whoever waits for a record's end and then closes his subscription has heard of it; and what is heard is shown."""
    heard, order = [], []
    subscription = rig.controller.watch(heard.append)
    handle, worker = rig.running()
    rig.engine.bus.tap(lambda changed: order.append((handle.status, len(order))))
    handle._live.subscribe(Waiter(lambda task: task.is_terminal, lambda: order.append("woken")))
    worker.finish()
    rig.settle()
    assert order == [("succeeded", 0), "woken"]
    drained(subscription)
    assert heard[-1].status == "succeeded"


def test_a_run_is_told_with_its_nodes():
    """By the run's id or the run: events of its nodes and its own, and nothing else."""
    heard = []
    ended = threading.Event()
    pipeline = Pipeline("two")
    pipeline.add(sum, pipeline.add(sorted, [2, 1], name="numbers"), name="total")
    with Controller() as controller:
        alone, other = controller.submit(len, "abc"), pipeline.submit(controller)
        run = pipeline.submit(controller)
        other.wait(10)
        subscription = controller.watch(
            lambda event: (heard.append(event), ended.set() if getattr(event, "to_status", "") == "skipped" else None),
            pipeline_run_id=run,
        )
        run.wait(10)
        run.handle("total").force_transition("skipped", reason="r", actor="a")
        assert ended.wait(10)
        ids = {run.id, run.handle("numbers").id, run.handle("total").id}
    drained(subscription)
    assert {event.pipeline_run_id for event in heard} == {run.id}
    assert {event.task_id for event in heard} <= ids
    assert alone.done()


@pytest.mark.parametrize("option", [{"tag": ["a"]}, {"pipeline_run_id": 5}, {"task_id": 5}])
def test_a_filter_that_matches_nothing_is_refused(rig, option):
    """A list of tags, a number: told at the call."""
    with pytest.raises(ConfigurationError):
        rig.controller.watch(print, **option)
    with pytest.raises(ConfigurationError):
        rig.controller.stream(**option)


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


def test_a_subscriber_that_never_returns_is_given_up(monkeypatch, caplog):
    """Memory is bounded: after so many changes that came during one and the same event, it is told nothing more."""
    monkeypatch.setattr(mailbox, "STUCK_CHANGES", 50)
    bus, entered, release, heard = Bus(), threading.Event(), threading.Event(), []

    def stuck(event):
        heard.append(event)
        entered.set()
        assert release.wait(10)

    subscription = bus.subscribe(stuck, lambda event: True)
    bus.publish([changed(0)], [])
    assert entered.wait(10)
    for number in range(1, 200):
        bus.publish([changed(number)], [])
    assert (subscription.closed, subscription.waiting, subscription.dropped) == (True, 0, 51)
    assert bus.narrator is None
    assert caplog.text.count("has not returned from one event") == 1
    release.set()
    drained(subscription)
    assert [event.version for event in heard] == [0]


def test_a_slow_subscriber_is_never_given_up(monkeypatch):
    """However many changes wait: as long as it takes one now and then, none is lost."""
    monkeypatch.setattr(mailbox, "STUCK_CHANGES", 50)
    box = mailbox.Mailbox(10)
    for number in range(1_000):
        box.put([changed(number), progress(number)])
        if number % 40 == 0:
            box.take()
    assert (box.given_up, len(box)) == (False, 1_000 + 5 - 25)
    assert box.dropped == 995


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


class Deaf:
    """In the place of a bus: one that nobody can listen to."""

    narrator, dropped = None, 0

    def publish(self, events, changed):
        """To nobody."""

    def close(self):
        """Nothing."""


def calls_of_a_life(monkeypatch, bus):
    """How many calls of Python functions a no-op task takes, from its submission to its end."""
    monkeypatch.setattr("chongming_task.runtime.engine.Bus", bus)
    rig = Rig()
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    for _ in range(2):  # the first one loads and fills what is kept
        calls = 0
        sys.setprofile(count)
        try:
            _, worker = rig.running()
            worker.finish()
            rig.settle()
        finally:
            sys.setprofile(None)
    rig.end()
    return calls


def test_that_somebody_might_listen_costs_next_to_nothing(monkeypatch):
    """Beside an engine that nobody can listen to: 3 % of a no-op task at the most, counted and not timed."""
    assert calls_of_a_life(monkeypatch, Bus) <= calls_of_a_life(monkeypatch, Deaf) * 1.03


def test_progress_does_not_reach_a_view_after_its_end(rig):
    """untap() is final."""
    seen = []
    untap = rig.controller.tap(seen.append)
    handle = rig.submit()
    untap()
    rig.worker(handle).begin()
    rig.settle()
    assert [task.status for batch in seen for task in batch] == ["starting"]


@pytest.mark.parametrize("error", [ValueError("mine"), SystemExit(3)])
def test_a_view_or_filter_that_raises_does_not_stop_the_engine(error, caplog):
    """Also when it is no Exception: the engine has one thread."""

    def broken(subject):
        raise error

    with Controller() as controller:
        controller.tap(broken)
        controller._link.engine.bus.subscribe(print, broken)
        assert controller.submit(pow, 2, 3).result(10) == 8
    assert "a view raised" in caplog.text
    assert "a subscriber's filter raised" in caplog.text
