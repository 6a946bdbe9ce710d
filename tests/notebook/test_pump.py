"""The publisher: `notebook/pump.py`, round by round on a fake clock, and as a real thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from chongming_task.core.states import TaskStatus
from chongming_task.errors import StoreError
from chongming_task.notebook.inbound import Signal
from chongming_task.notebook.outlet import Outlet
from chongming_task.notebook.pump import LOOK_AFTER, Clock, Pump
from tests.notebook.sample_tasks import FakeController, FakeHealth, ended, one_of_each, running, task

THREAD = "chongming-pump"


class HandClock(Clock):
    """Moved by the test."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    @property
    def now(self) -> float:
        """Seconds."""
        return self.seconds

    @property
    def unix_ms(self) -> int:
        """Milliseconds."""
        return round(self.seconds * 1000)

    @property
    def idle_since(self) -> float | None:
        """No cell has ever run."""
        return 0.0


@dataclass
class Widget:
    """Collects what the pump sends, and from which threads."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def deliver(self, message: dict[str, Any]) -> None:
        """As the widget's."""
        with self.arrived:
            self.messages.append(message)
            self.threads.add(threading.current_thread().name)
            self.arrived.notify_all()

    def save(self, table: dict[str, Any]) -> None:
        """As the widget's."""
        self.deliver({"kind": "save", **table})

    def wait_for(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that fits, when it has come."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: any(map(found, self.messages)), timeout=10)
            return next(filter(found, self.messages))


def kind(name: str) -> Callable[[dict[str, Any]], bool]:
    """Messages of a kind."""
    return lambda message: message["kind"] == name


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def pump(clock) -> Pump:
    """A pump whose rounds the test calls."""
    return Pump(clock, threaded=False)


def show(pump: Pump, controller: FakeController) -> tuple[Outlet, Widget]:
    """A displayed view of the controller."""
    widget = Widget()
    outlet = pump.add(controller, pump.feed_of(controller), widget)
    pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
    pump.round()
    return outlet, widget


def test_a_change_reaches_every_view_of_its_controller_and_no_other(pump, clock):
    """Views of one controller share its rows."""
    first, other = FakeController([task(1, "a")]), FakeController([task(9, "z")], name="other")
    (one, widget_1), (two, widget_2), (_, widget_3) = show(pump, first), show(pump, first), show(pump, other)
    assert one.feed is two.feed
    assert len(first.taps) == 1
    clock.seconds += 1
    first.change(running(1, "a", 0))
    pump.round()
    assert [w.messages[-1]["kind"] for w in (widget_1, widget_2, widget_3)] == ["patch", "patch", "reset"]


def test_a_change_between_listing_and_listening_is_not_missed(pump, clock):
    """The tap is set before the tasks are listed."""
    controller = FakeController([task(1, "a")])
    listed = controller.list_tasks

    def list_slowly() -> Any:
        tasks = listed()
        if controller.taps:
            controller.change(running(1, "a", 0))  # committed just after the list was made
        return tasks

    controller.list_tasks = list_slowly  # type: ignore[method-assign]
    outlet, _ = show(pump, controller)
    assert outlet.feed.row(0).attempt == 1


def test_the_last_of_several_snapshots_counts(pump, clock):
    """However many batches came between two rounds."""
    controller = FakeController([task(1, "a")])
    outlet, widget = show(pump, controller)
    clock.seconds += 1
    controller.change(running(1, "a", 5))
    controller.change(ended(1, "a", TaskStatus.SUCCEEDED, 0))
    pump.round()
    assert widget.messages[-1]["counts"] == {"succeeded": 1}
    assert outlet.feed.row(0).ended is not None


def test_a_controller_is_let_go_while_nobody_looks(pump, clock):
    """No tap, no work for the engine; a hello brings everything up to date."""
    controller = FakeController([task(1, "a")])
    outlet, widget = show(pump, controller)
    clock.seconds += 61
    pump.round()
    pump.round()
    assert not controller.taps
    controller.change(running(1, "a", 0), task(2, "b"))
    pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
    pump.round()
    assert len(controller.taps) == 1
    resets = [message["counts"] for message in widget.messages if message["kind"] == "reset"]
    assert resets == [{"queued": 1}, {"queued": 1, "running": 1}]


def test_a_controller_that_cannot_be_followed_does_not_stop_the_others(pump, clock, caplog):
    """It is told once in the log; its views keep what they show, and say why it may be behind."""
    broken, sound = FakeController([task(1, "a")]), FakeController([task(2, "b")])
    show(pump, sound)
    feed = pump.feed_of(broken)
    pump.remove(pump.add(broken, feed, Widget()))  # from now on it is not followed

    def fails() -> Any:
        raise RuntimeError("store closed")

    broken.list_tasks = fails  # type: ignore[method-assign]
    widget = Widget()
    outlet = pump.add(broken, feed, widget)
    for _ in range(3):
        pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
        pump.round()
        clock.seconds += 1
    assert widget.messages[-1]["counts"] == {"queued": 1}
    assert caplog.messages == ["a view cannot follow its controller (RuntimeError), and tries again"]


def test_a_round_says_when_the_next_is_due(pump, clock):
    """The thread sleeps until then, and without awake views until something happens."""
    outlet, _ = show(pump, FakeController([task(1, "a")]))
    assert pump.round() == pytest.approx(clock.now + LOOK_AFTER)
    clock.seconds += 61
    assert pump.round() is None
    assert not outlet.awake


def test_the_thread_lives_with_the_views():
    """One thread for all; it is the only one that touches widgets; with the last view it ends."""
    pump, controller = Pump(), FakeController([task(1, "a")])
    outlets, widgets = [], []
    for _ in range(3):
        widget = Widget()
        outlet = pump.add(controller, pump.feed_of(controller), widget)
        pump.post(lambda outlet=outlet: outlet.hear(Signal.HELLO, pump.now))
        outlets.append(outlet)
        widgets.append(widget)
    for widget in widgets:
        widget.wait_for(kind("reset"))
    controller.change(running(1, "a", 0))
    for widget in widgets:
        widget.wait_for(kind("patch"))
        assert widget.threads == {THREAD}
    assert [t.name for t in threading.enumerate()].count(THREAD) == 1
    for outlet in outlets:
        pump.remove(outlet)
    assert THREAD not in [t.name for t in threading.enumerate()]
    assert not controller.taps


def test_a_pump_can_begin_again():
    """A notebook closes its panel and opens another."""
    pump, controller = Pump(), FakeController([task(1, "a")])
    for _ in range(2):
        widget = Widget()
        outlet = pump.add(controller, pump.feed_of(controller), widget)
        pump.post(lambda outlet=outlet: outlet.hear(Signal.HELLO, pump.now))
        widget.wait_for(kind("reset"))
        pump.remove(outlet)
    assert THREAD not in [t.name for t in threading.enumerate()]


def test_a_fault_in_a_round_is_told_and_survived(caplog):
    """The thread serves every view; it does not die of one fault."""
    pump, controller, widget = Pump(), FakeController([task(1, "a")]), Widget()
    outlet = pump.add(controller, pump.feed_of(controller), widget)

    def fault() -> None:
        raise ZeroDivisionError

    pump.post(fault)
    pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
    widget.wait_for(kind("reset"))
    pump.remove(outlet)
    assert "a round of the panel's publisher failed" in caplog.text


def test_a_busy_engine_does_not_make_the_thread_spin():
    """However many commits there are, there are at most twenty rounds a second."""
    pump, controller, widget = Pump(), FakeController([task(1, "a")]), Widget()
    rounds = 0
    inner = pump.round

    def counted() -> float | None:
        nonlocal rounds
        rounds += 1
        return inner()

    pump.round = counted  # type: ignore[method-assign]
    outlet = pump.add(controller, pump.feed_of(controller), widget)
    pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
    widget.wait_for(kind("reset"))
    began, rounds, commits = pump.now, 0, 0
    while pump.now < began + 0.5:  # load, not patience
        commits += 1
        controller.taps[0]([task(commits % 500, "n")])
    took = pump.now - began
    pump.remove(outlet)
    assert commits > 1000
    assert rounds <= took / 0.05 + 2


def test_a_source_in_trouble_is_told_of_and_when_it_is_over(pump, clock):
    """Within a second; no change of a row is needed for it."""
    controller = FakeController(one_of_each())
    _, widget = show(pump, controller)
    clock.seconds += 2
    pump.round()
    widget.messages.clear()
    for trouble in ("the store has failed since 12:03:07 UTC (disk full)", None):
        controller.health = FakeHealth(trouble)
        clock.seconds += LOOK_AFTER + 0.01
        due = pump.round()
        assert widget.messages[-1]["trouble"] == trouble
        assert due is not None
        assert due <= clock.now + LOOK_AFTER
    clock.seconds += LOOK_AFTER + 0.01
    told = len(widget.messages)
    pump.round()
    assert [message for message in widget.messages[told:] if message["kind"] == "patch"] == []


def test_a_store_that_cannot_be_read_is_tried_again(pump, clock, monkeypatch):
    """Meanwhile the view says so; afterwards it knows what it has missed."""
    controller = FakeController(one_of_each())
    feed = pump.feed_of(controller)
    pump.remove(pump.add(controller, feed, Widget()))
    widget = Widget()
    outlet = pump.add(controller, feed, widget)

    def fail() -> None:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(controller, "list_tasks", fail)
        pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
        pump.round()
        assert widget.messages[-1]["trouble"] == "its store cannot be read: the disk is gone"
        assert controller.taps == []
    controller.change(controller.tasks[0]._replace(name="changed meanwhile"))
    clock.seconds += LOOK_AFTER + 0.01
    pump.round()
    clock.seconds += 1
    pump.round()
    assert feed.row(0).name == "changed meanwhile"
    assert feed.trouble is None
    assert len(controller.taps) == 1


def test_the_tasks_are_listed_once_for_a_view(pump, clock, monkeypatch):
    """And what changes before it is there is not missed."""
    controller = FakeController(one_of_each())
    listings: list[int] = []
    listed = controller.list_tasks
    monkeypatch.setattr(controller, "list_tasks", lambda: listings.append(1) or listed())
    feed = pump.feed_of(controller)
    controller.change(controller.tasks[0]._replace(name="changed meanwhile"))
    widget = Widget()
    outlet = pump.add(controller, feed, widget)
    pump.post(lambda: outlet.hear(Signal.HELLO, pump.now))
    pump.round()
    assert feed.row(0).name == "changed meanwhile"
    assert len(listings) == len(controller.taps) == 1


def test_a_view_that_does_not_come_leaves_nothing(pump):
    """Nor does one whose tasks cannot be listed."""
    controller = FakeController(one_of_each())
    pump.forget(pump.feed_of(controller))
    assert controller.taps == []

    def fail() -> None:
        raise StoreError("the disk is gone")

    controller.list_tasks = fail  # type: ignore[assignment,method-assign]
    with pytest.raises(StoreError):
        pump.feed_of(controller)
    assert controller.taps == []
