"""One task as traits: `notebook/task_model.py`, on a real controller."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest
import traitlets

from chongming_task import Controller, RetryPolicy, TaskHandle, TaskSnapshot, TaskStatus
from chongming_task.notebook import task_model_desk
from chongming_task.notebook.pump import PUMP
from chongming_task.notebook.task_model import TaskModel
from chongming_task.notebook.task_model_desk import BEAT, DESK, MODELS_A_ROUND, TICK, Desk
from tests.notebook.sample_tasks import ended, running, task
from tests.support.waiting import until


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Open until the end, and then nothing of the models runs any more."""
    controller = Controller(echo=False)
    yield controller
    controller.close()
    until(lambda: DESK._thread is None, "the desk has told everything")
    until(lambda: PUMP._thread is None, "the pump has nothing to do")


class Gate:
    """A task that reports, and waits to be let on."""

    def __init__(self) -> None:
        self.there, self.on = threading.Event(), threading.Event()

    def __call__(self, ctx: Any, fail: bool = False) -> str:
        ctx.progress(3, 10, "rows", "reading")
        self.there.set()
        while not self.on.wait(0.02):
            ctx.checkpoint()
        if fail:
            raise ValueError("bad header\nin line 3")
        return "read"


def reaches(model: TaskModel, trait: str, value: Any) -> None:
    """Waits until a trait has that value."""
    told = threading.Event()
    model.observe(lambda change: told.set() if change.new == value else None, trait)
    assert getattr(model, trait) == value or told.wait(20), f"{trait} is {getattr(model, trait)!r}"


def test_a_model_follows_its_task(controller):
    """From its first state to its last."""
    gate = Gate()
    handle = controller.submit(gate, name="read it", start=False)
    model = TaskModel(handle)
    assert (model.task_id, model.name, model.status, model.attempt) == (handle.id, "read it", "pending", 0)
    assert (model.progress, model.done, model.total, model.elapsed, model.ended) == (0, None, None, 0, False)
    handle.start()
    reaches(model, "message", "reading")
    assert (model.done, model.total, model.unit, model.progress) == (3, 10, "rows", 0.3)
    reaches(model, "status", "running")
    gate.on.set()
    reaches(model, "status", "succeeded")
    assert (model.progress, model.ended, model.error, model.attempt) == (1, True, "", 1)


def test_a_failure_and_what_was_asked_are_told(controller):
    """The failure in one line; a retried task goes on in the same model."""
    gate = Gate()
    model = TaskModel(handle := controller.submit(gate, fail=True, retry=RetryPolicy(max_attempts=2, backoff="none")))
    gate.on.set()
    reaches(model, "status", "failed")
    assert (model.error, model.attempt, model.max_attempts) == ("ValueError: bad header", 2, 2)
    gate.on.clear()
    gate.there.clear()
    handle.retry(force=True)
    reaches(model, "status", "running")
    assert model.ended is False
    handle.pause()
    reaches(model, "status", "paused")
    handle.stop()
    reaches(model, "status", "stopped")
    assert model.ended is True


def test_elapsed_goes_on_while_the_task_runs(controller):
    """Though the task says nothing."""
    gate = Gate()
    model = TaskModel(controller.submit(gate))
    assert gate.there.wait(20)
    seen: list[float] = []
    three = threading.Event()
    model.observe(lambda change: (seen.append(change.new), three.set() if len(seen) > 3 else None), "elapsed")
    assert three.wait(20)
    assert seen == sorted(seen)
    gate.on.set()
    reaches(model, "ended", True)
    assert model.elapsed == pytest.approx(seen[-1], abs=2)


def test_any_widget_can_follow(controller):
    """Linked one way; the widget has the last word of the task, too."""
    gate = Gate()
    handle = controller.submit(gate)
    model, bar, text = TaskModel(handle), ipywidgets.FloatProgress(max=1), ipywidgets.Label()
    links = [
        traitlets.dlink((model, "progress"), (bar, "value")),
        traitlets.dlink((model, "status"), (text, "value"), "it is {}".format),
    ]
    reaches(model, "progress", 0.3)
    assert bar.value == 0.3
    gate.on.set()
    reaches(model, "status", "succeeded")
    assert (bar.value, text.value) == (1, "it is succeeded")
    for widget in (*links, bar, text):
        widget.unlink() if isinstance(widget, traitlets.dlink) else widget.close()


def test_the_pump_alone_sets_traits(controller):
    """Whoever changes the task."""
    threads: set[str] = set()
    gate = Gate()
    model = TaskModel(handle := controller.submit(gate))
    model.observe(lambda change: threads.add(threading.current_thread().name))
    assert gate.there.wait(20)
    handle.pause()
    handle.resume()
    gate.on.set()
    reaches(model, "status", "succeeded")
    assert threads == {"chongming-pump"}
    with pytest.raises(traitlets.TraitError, match="read-only"):
        model.status = "failed"


def test_an_observer_that_raises_silences_nobody(controller, caplog):
    """It is logged; the other traits and models are told."""
    gate = Gate()
    handle = controller.submit(gate)
    broken, whole = TaskModel(handle), TaskModel(handle)

    def raise_it(change: Any) -> None:
        raise RuntimeError("no such widget")

    broken.observe(raise_it, ["done", "message", "ended"])
    gate.on.set()
    reaches(whole, "status", "succeeded")
    reaches(broken, "status", "succeeded")
    assert "no such widget" in caplog.text
    assert "'ended'" in caplog.text


def test_of_many_changes_the_last_one_arrives(controller):
    """And only some of those between: a task that reports all the time does not flood a widget."""

    def count(ctx: Any) -> None:
        for n in range(200_001):
            ctx.progress(n, 200_000)

    model = TaskModel(handle := controller.submit(count, start=False))
    seen: list[float] = []
    model.observe(lambda change: seen.append(change.new), "done")
    handle.start()
    handle.wait(50)
    reaches(model, "status", "succeeded")
    assert seen[-1] == model.done == 200_000
    assert len(seen) <= 2 + 10 * (model.elapsed + 1)


def test_many_models_share_one_thread_and_all_are_told(controller):
    """More than go in one round; every final state arrives."""
    models = [TaskModel(controller.submit(pow, 2, n)) for n in range(6 * MODELS_A_ROUND)]
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("chongming-models") <= 1
    for model in models:
        reaches(model, "status", "succeeded")
    assert len(controller._link.engine.bus._taps) == 1
    for model in models:
        model.close()
    assert controller._link.engine.bus._taps == ()


def test_a_closed_model_stands_still(controller):
    """Others of the same task go on."""
    gate = Gate()
    handle = controller.submit(gate)
    closed, other = TaskModel(handle), TaskModel(handle)
    reaches(closed, "status", "running")
    closed.close()
    closed.close()
    gate.on.set()
    reaches(other, "status", "succeeded")
    assert closed.status == "running"


def test_closing_the_controller_is_told():
    """What it stops ends in its models as well."""
    controller = Controller(echo=False)
    gate = Gate()
    model = TaskModel(controller.submit(gate))
    reaches(model, "status", "running")
    controller.close()
    reaches(model, "status", "stopped")
    until(lambda: PUMP._thread is None, "the pump has nothing to do")


def test_nothing_keeps_a_forgotten_controller():
    """Nor its models, though nobody closed them."""
    controller = Controller(echo=False)
    handle: TaskHandle[Any] = controller.submit(pow, 2, 3)
    model = TaskModel(handle)
    reaches(model, "status", "succeeded")
    controller.close()
    until(lambda: PUMP._thread is None, "the pump has nothing to do")
    dead = [weakref.ref(controller), weakref.ref(model)]
    del controller, handle, model
    gc.collect()
    assert [each() for each in dead] == [None, None]


def test_a_model_of_a_task_that_has_ended_knows_how(controller):
    """Made late, it is right at once."""
    handle = controller.submit(int, "x")
    handle.wait(20)
    model = TaskModel(handle)
    assert (model.status, model.ended) == ("failed", True)
    assert model.error.startswith("ValueError: invalid literal")


# the desk: whose turn it is


class Shown:
    """A model that remembers what it was shown."""

    def __init__(self, number: int) -> None:
        self.task_id = task(number, "").task_id
        self.seen: list[str] = []

    def show(self, each: TaskSnapshot) -> None:
        self.seen.append(each.status.value)


class Source:
    """A controller whose tap is kept."""

    name = None

    def list_tasks(self) -> list[TaskSnapshot]:
        return []

    def tap(self, callback: Any) -> Any:
        self.tell = callback
        return lambda: None


@pytest.fixture
def desk() -> tuple[Desk, Source]:
    """A desk whose rounds are made by hand."""
    desk = Desk()
    desk._thread = threading.current_thread()  # so that it starts none
    return desk, Source()


def test_those_that_have_ended_go_first(desk):
    """A final state never waits behind the small talk of others."""
    desk, source = desk
    models = [Shown(number) for number in range(3 * MODELS_A_ROUND)]
    for number, model in enumerate(models):
        desk.add(source, model, lambda number=number: running(number, "", 1))
    source.tell([ended(len(models) - 1, "", TaskStatus.SUCCEEDED, 0)])
    desk._show(threading.Event())
    assert models[-1].seen == ["succeeded"]
    assert sum(bool(model.seen) for model in models) == MODELS_A_ROUND
    desk._show(threading.Event())
    desk._show(threading.Event())
    assert all(len(model.seen) == 1 for model in models)


def test_what_comes_while_a_model_is_added_is_newer_than_the_first_look(desk):
    """The first look may be over before the task ends, and be told after it; the end stays."""
    desk, source = desk
    model = Shown(1)

    def look() -> TaskSnapshot:
        seen = running(1, "", 1)
        source.tell([ended(1, "", TaskStatus.SUCCEEDED, 0)])
        return seen

    desk.add(source, model, look)
    desk._show(threading.Event())
    desk._show(threading.Event())
    assert model.seen == ["succeeded"]


def test_a_model_that_was_closed_meanwhile_is_shown_nothing(desk):
    """Whatever was on its way to it; another one of the same task is told."""
    desk, source = desk
    closed, other = Shown(1), Shown(1)
    close = desk.add(source, closed, lambda: running(1, "", 1))
    desk.add(source, other, lambda: running(1, "", 1))
    close()
    desk._show(threading.Event())
    assert (closed.seen, other.seen) == ([], ["running"])


def test_clocks_are_shown_once_a_second_and_stand_when_nothing_runs(desk, monkeypatch):
    """However often others have news; those of tasks that rest or have ended not at all."""
    now = [100.0]
    monkeypatch.setattr(task_model_desk.time, "monotonic", lambda: now[0])
    desk, source = desk
    runs, rests = Shown(1), Shown(2)
    desk.add(source, runs, lambda: running(1, "", 1))
    desk.add(source, rests, lambda: running(2, "", 1, status=TaskStatus.PAUSED))
    for _ in range(17):
        desk._show(threading.Event())
        now[0] += BEAT
    assert (len(runs.seen), len(rests.seen)) == (1 + 2, 1)
    source.tell([ended(1, "", TaskStatus.FAILED, 0)])
    now[0] += 10 * TICK
    desk._show(threading.Event())
    desk._show(threading.Event())
    assert runs.seen == ["running"] * 3 + ["failed"]
    assert desk._rest() is None
