"""The widget: `notebook/panel.py`, without a browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chongming_task.core.states import TaskStatus, Verb
from chongming_task.errors import ConfigurationError, ControllerClosed
from chongming_task.notebook.panel import Panel, panel
from chongming_task.notebook.pump import PUMP
from tests.notebook.sample_tasks import FakeController, ended, one_of_each, running, task


class Wire:
    """Stands between widget and browser."""

    def __init__(self, widget: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.widget = widget
        self.messages: list[dict[str, Any]] = []
        self.arrived = threading.Condition()
        monkeypatch.setattr(widget, "send", self._collect)

    def _collect(self, message: dict[str, Any]) -> None:
        with self.arrived:
            self.messages.append(json.loads(json.dumps(message, allow_nan=False)))
            self.arrived.notify_all()

    def say(self, content: Any) -> None:
        """As the browser."""
        self.widget._handle_custom_msg(content, [])

    def wait_for(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that fits."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: any(map(found, self.messages)), timeout=10)
            return next(filter(found, self.messages))

    def answer(self, request_id: str) -> dict[str, Any]:
        """The answer to a request."""
        return self.wait_for(lambda message: message.get("id") == request_id)


@pytest.fixture
def controller() -> FakeController:
    return FakeController(one_of_each())


@pytest.fixture
def wire(controller, monkeypatch) -> Iterator[Wire]:
    """A panel of the controller, displayed."""
    widget = panel(controller)
    wire = Wire(widget, monkeypatch)
    wire.say({"id": "v-0", "verb": "hello"})
    wire.wait_for(lambda message: message["kind"] == "reset")
    yield wire
    widget.close()


def test_a_click_becomes_a_verb_and_its_answer_comes_back(wire, controller):
    """With the panel as the actor, and what became of each task."""
    ids = [each.task_id for each in controller.tasks[:2]]
    wire.say({"id": "v-1", "verb": "stop", "ids": ids, "args": {"graceful": False}})
    assert wire.answer("v-1") == {
        "kind": "answer",
        "id": "v-1",
        "ok": True,
        "error": None,
        "results": [{"task": each, "ok": True, "acted": True, "error": None} for each in ids],
    }
    assert controller.asked == [(Verb.STOP, tuple(ids), {"actor": "user:panel", "graceful": False})]


def test_a_task_that_was_never_shown_is_not_touched(wire, controller):
    """The others are."""
    known = controller.tasks[0].task_id
    wire.say({"id": "v-1", "verb": "pause", "ids": ["somebody-elses", known], "args": {}})
    results = wire.answer("v-1")["results"]
    assert {result["task"]: result["ok"] for result in results} == {known: True, "somebody-elses": False}
    assert [ids for _, ids, _ in controller.asked] == [(known,)]
    wire.say({"id": "v-2", "verb": "pause", "ids": ["somebody-elses"], "args": {}})
    assert wire.answer("v-2")["results"][0]["error"] == "no such task in this view"


@pytest.mark.parametrize("content", [None, 3, {"verb": "stop"}, {"id": "v", "verb": "eval", "ids": ["x"]}])
def test_nonsense_raises_nothing(wire, controller, content):
    """An exception in a handler would end in somebody's cell."""
    wire.say(content)
    assert not controller.asked
    if isinstance(content, dict) and "id" in content:
        assert wire.answer("v")["ok"] is False


def test_a_closed_controller_answers_with_the_reason(wire, controller, caplog):
    """The panel stays, and says why nothing happens; nobody has to read a traceback for it."""
    controller.refuse = ControllerClosed("this controller is closed; make a new one")
    wire.say({"id": "v-1", "verb": "stop", "ids": [controller.tasks[0].task_id], "args": {}})
    answer = wire.answer("v-1")
    assert (answer["ok"], answer["error"]) == (False, "this controller is closed; make a new one")
    assert not caplog.records


def test_a_change_is_sent_before_the_answer_that_speaks_of_it(wire, controller):
    """So that the line below the table counts what the rows show."""
    target = controller.tasks[0]

    def stopping(verb: Verb, ids: Any, **options: Any) -> None:
        controller.change(target._replace(status=TaskStatus.STOPPING))
        FakeController.ask(controller, verb, ids, **options)

    controller.ask = stopping  # type: ignore[method-assign]
    wire.say({"id": "v-1", "verb": "stop", "ids": [target.task_id], "args": {}})
    wire.answer("v-1")
    assert [message["kind"] for message in wire.messages] == ["reset", "patch", "answer"]


def test_the_widget_is_touched_by_the_pump_alone(wire, controller, monkeypatch):
    """Whichever thread changes tasks or handles clicks."""
    threads: set[str] = set()
    collect = wire._collect
    monkeypatch.setattr(
        wire.widget, "send", lambda message: (threads.add(threading.current_thread().name), collect(message))
    )
    changes = [running(number, f"n{number}", 0) for number in range(30, 36)]
    workers = [threading.Thread(target=controller.change, args=(change,), daemon=True) for change in changes]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wire.say({"id": "v-1", "verb": "pause", "ids": [controller.tasks[0].task_id], "args": {}})
    wire.answer("v-1")
    assert threads == {"chongming-pump"}


def test_the_saved_state_is_a_small_table(controller):
    """A notebook with a huge table stays small, and shows the last known state when it is opened again."""
    controller.tasks = [ended(n, f"part {n}", TaskStatus.SUCCEEDED, n) for n in range(20_000)]
    controller.tasks.append(running(20_000, "a", 1))
    widget = panel(controller)
    try:
        assert len(json.dumps(widget.saved)) < 50_000
        assert widget.saved["counts"] == {"running": 1, "succeeded": 20_000}
        assert widget.get_state(["saved"])["saved"]["blocks"]
    finally:
        widget.close()


def test_front_ends_without_widgets_get_tables(wire):
    """Both are in the mimebundle, beside the widget."""
    data, _ = wire.widget._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain", "text/html"}
    assert data["text/plain"].startswith("nightly-etl: 27 tasks")
    assert "<table>" in data["text/html"]
    assert "<img src=x" not in data["text/html"]


def test_a_closed_panel_lets_go(controller):
    """Of the controller and, as the last one, of the thread."""
    first, second = panel(controller), panel(controller)
    first.close()
    assert "chongming-pump" in [t.name for t in threading.enumerate()]
    second.close()
    second.close()
    assert "chongming-pump" not in [t.name for t in threading.enumerate()]
    assert not controller.taps


def test_a_panel_needs_no_name_and_no_tasks():
    """An empty controller shows an empty table."""
    widget = panel(FakeController(name=None))
    try:
        text = widget._repr_mimebundle_()[0]["text/plain"]
        assert text.startswith("Tasks: no tasks yet\nas of ")
        assert text.endswith("(when this was shown); open the notebook with its kernel for the live view")
    finally:
        widget.close()
    assert PUMP._thread is None


def test_the_panel_speaks_what_it_is_told(controller):
    """The browser decides unless somebody else does; an unknown language is refused before anything is made."""
    for language, trait in ((None, ""), ("zh", "zh"), ("en", "en")):
        widget = panel(controller, language=language)
        assert widget.get_state(["language"]) == {"language": trait}
        widget.close()
    with pytest.raises(ConfigurationError, match="language is 'en', 'zh'"):
        panel(controller, language="de")


def test_new_tasks_can_be_steered(wire, controller):
    """They are known once they are shown."""
    new = task(99, "new")
    controller.change(new)
    wire.wait_for(lambda message: message["kind"] == "patch")
    wire.say({"id": "v-1", "verb": "stop", "ids": [new.task_id], "args": {}})
    assert wire.answer("v-1")["results"][0]["ok"] is True
