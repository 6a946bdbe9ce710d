"""A panel on a real controller, without a browser: what is clicked happens, and what happens is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from chongming_task import Controller, task
from chongming_task.notebook.pump import PUMP
from tests.notebook.test_feed import Browser
from tests.notebook.test_panel import Wire


@task
def until_told(ctx: Any, end: threading.Event) -> str:
    """Reaches a checkpoint every few milliseconds."""
    done = 0
    while not end.wait(0.005):
        done += 1
        ctx.progress(done, 1000, "rows")
        ctx.checkpoint()
    return "told"


class Desk:
    """A controller, its panel, and a browser that keeps the table."""

    def __init__(self, controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
        self.controller = controller
        self.panel = controller.panel()
        self.wire = Wire(self.panel, monkeypatch)
        self.serial = 0
        self.wire.say({"id": "v-0", "verb": "hello"})
        self.wire.wait_for(lambda message: message["kind"] == "reset")

    def click(self, verb: str, *ids: str, **args: bool) -> list[dict[str, Any]]:
        """Sends a verb and returns what became of each task."""
        self.serial += 1
        self.wire.say({"id": f"v-{self.serial}", "verb": verb, "ids": list(ids), "args": args})
        return self.wire.answer(f"v-{self.serial}")["results"]

    def wait_shown(self, **expected: int) -> None:
        """Waits until the browser counts exactly that."""
        self.wire.wait_for(lambda message: message.get("counts") == expected)

    def row(self, number: int) -> dict[str, Any]:
        """A row, as the messages so far tell it."""
        browser = Browser()
        for message in [m for m in self.wire.messages if m["kind"] in {"reset", "patch"}]:
            browser.take(message)
        return browser.rows[number]


@pytest.fixture
def end() -> threading.Event:
    return threading.Event()


@pytest.fixture
def desk(monkeypatch, end) -> Iterator[Desk]:
    controller = Controller(max_parallel=2, name="real")
    desk = Desk(controller, monkeypatch)
    yield desk
    end.set()
    desk.panel.close()
    controller.close()


def test_pause_resume_and_stop_of_a_running_task(desk, end):
    """Each is answered, then shown when it has come true."""
    handle = desk.controller.submit(until_told, end)
    desk.wait_shown(running=1)
    assert desk.click("pause", handle.id) == [{"task": handle.id, "ok": True, "acted": True, "error": None}]
    desk.wait_shown(paused=1)
    assert desk.click("pause", handle.id)[0]["acted"] is False
    desk.wire.messages.clear()
    desk.click("resume", handle.id)
    desk.wait_shown(running=1)
    desk.click("stop", handle.id)
    desk.wait_shown(stopped=1)
    assert handle.status == "stopped"
    asked = {t.trigger: t.actor for t in desk.controller.transitions(handle.id) if t.trigger.startswith("user:")}
    assert {trigger: asked[trigger] for trigger in ("user:pause", "user:resume", "user:stop")} == {
        "user:pause": "user:panel", "user:resume": "user:panel", "user:stop": "user:panel",
    }  # fmt: skip


def test_a_refusal_is_the_controllers_own_words(desk):
    """The same text that a caller would get."""
    handle = desk.controller.submit(pow, 2, 3)
    desk.wait_shown(succeeded=1)
    (result,) = desk.click("stop", handle.id)
    assert result["ok"] is False
    assert "cannot stop 'pow': it has succeeded" in result["error"]


def test_a_retry_past_the_last_try_needs_force(desk):
    """Which the button gives."""
    handle = desk.controller.submit(divmod, 1, 0)
    desk.wait_shown(failed=1)
    assert "force=True" in desk.click("retry", handle.id)[0]["error"]
    assert desk.click("retry", handle.id, force=True)[0]["ok"] is True
    desk.wire.wait_for(lambda m: any(2 in block["cols"].get("attempt", []) for block in m.get("blocks", [])))
    assert desk.row(0)["tries_max"] == 2


def test_progress_and_failures_reach_the_rows(desk, end):
    """The first line of the failure, and how far the task has come."""
    desk.controller.submit(divmod, args=(1, 0), name="bad")
    desk.controller.submit(until_told, args=(end,), name="good")
    desk.wait_shown(failed=1, running=1)
    assert desk.row(0)["failure"].startswith("ZeroDivisionError: ")
    desk.wire.wait_for(lambda message: any("done" in block["cols"] for block in message.get("blocks", [])))
    assert desk.row(1)["unit"] == "rows"
    end.set()
    desk.wait_shown(failed=1, succeeded=1)
    assert desk.row(1)["ended"] >= desk.row(1)["started"]


def test_tasks_submitted_before_the_panel_are_shown(monkeypatch):
    """Those of the store as well as those in memory."""
    with Controller() as controller:
        controller.submit(pow, args=(2, 3), name="early").wait(timeout=10)
        desk = Desk(controller, monkeypatch)
        assert desk.row(0)["name"] == "early"
        desk.panel.close()


def test_a_closed_controller_leaves_the_last_state_and_says_why(monkeypatch):
    """The panel outlives its controller."""
    controller = Controller()
    handle = controller.submit(pow, 2, 3)
    handle.wait(timeout=10)
    desk = Desk(controller, monkeypatch)
    controller.close()
    desk.wire.say({"id": "v-9", "verb": "stop", "ids": [handle.id], "args": {}})
    answer = desk.wire.answer("v-9")
    assert answer["ok"] is False
    assert "closed" in answer["error"]
    assert "1 succeeded" in desk.panel._repr_mimebundle_()[0]["text/plain"]
    desk.panel.close()


def test_a_controller_that_was_closed_while_its_panel_slept(monkeypatch, tmp_path, end):
    """Whoever looks again sees how the tasks ended, although the file is closed as well, and reads of no trouble."""
    controller = Controller(tmp_path / "runs.db")
    handle = controller.submit(until_told, args=(end,), name="stopped by the end")
    assert handle.wait_for("running", timeout=10)
    desk = Desk(controller, monkeypatch)
    outlet = desk.panel._outlet
    asleep = threading.Event()

    def sleep() -> None:
        outlet._sleep()
        asleep.set()

    PUMP.post(sleep)
    assert asleep.wait(10)
    while any(line.untap is not None for line in PUMP._lines):
        assert not end.wait(0.01)
    controller.close()
    desk.wire.messages.clear()
    desk.wire.say({"id": "v-9", "verb": "hello"})
    desk.wire.wait_for(lambda message: message.get("counts") == {"stopped": 1})
    assert all(message.get("trouble") is None for message in desk.wire.messages)
    desk.panel.close()
