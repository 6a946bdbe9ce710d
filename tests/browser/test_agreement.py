"""Two panels on one controller, in two real pages: what is lost, reloaded or closed between them and the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.panel import Panel
from tests.browser.harness import View, open_view
from tests.browser.test_panel_view import STATIC, now
from tests.notebook.sample_tasks import FakeController, ago, task

pytestmark = pytest.mark.browser

S = TaskStatus
CHANGES = 10_000
ROUNDS = 50
TASKS = 12  # all of them in sight
LOST = 0.1  # of the messages to a page


class Line:
    """A page and a widget: carries messages both ways, and loses some."""

    def __init__(self, page: Page, controller: FakeController, random: Random) -> None:
        self.page = page
        self.random = random
        self.lossy = True
        self.delivered = 0
        self.lost = 0
        self.queue: list[dict[str, Any]] = []
        self.widget = Panel(controller)
        self.widget.send = self.queue.append  # type: ignore[method-assign]
        self.open()

    def open(self) -> None:
        """Displays the view, or reloads its page."""
        self.view: View = open_view(self.page, STATIC / "panel.js", STATIC / "panel.css", {"saved": {}})
        self.heard = 0

    def carry(self) -> None:
        """Takes what waits on both sides across."""
        for message in self.view.sent()[self.heard :]:
            self.heard += 1
            self.widget._handle_custom_msg(message, [])
        while self.queue:
            message = json.loads(json.dumps(self.queue.pop(0)))
            if self.lossy and message["kind"] == "patch" and self.random.random() < LOST:
                self.lost += 1
            else:
                self.delivered += 1
                self.view.deliver(message)

    def shown(self) -> dict[str, tuple[str, ...]]:
        """What the rows say, by task: status, name, progress, tries."""
        # Behind the dot stands a speed, which each view takes from what it has seen.
        cells = """rows => Object.fromEntries(rows.map(row => [row.dataset.taskId, [row.dataset.status,
          ...['name', 'progress', 'try'].map(
            name => row.querySelector('.cmt-col-' + name).innerText.split(' · ')[0])]]))"""
        rows: dict[str, list[str]] = self.page.get_by_test_id("cmt-row").evaluate_all(cells)
        return {task: tuple(texts) for task, texts in rows.items()}


def changed(task: TaskSnapshot, random: Random) -> TaskSnapshot:
    """The task, some time later."""
    status = random.choice([S.QUEUED, S.RUNNING, S.RUNNING, S.FAILED, S.SUCCEEDED, S.STOPPED, S.RETRY_WAIT])
    failed = status in (S.FAILED, S.RETRY_WAIT)
    return task._replace(
        status=status,
        live=status is S.RUNNING,
        attempt=random.randrange(1, 4),
        max_attempts=3,
        started_at=ago(600, now()),
        ended_at=now() if status.value in ("failed", "succeeded", "stopped") else None,
        failure=Failure(FailureKind.EXCEPTION, f"no {random.randrange(100)}") if failed else None,
        progress=None if status is S.QUEUED else Progress(random.randrange(1000), None, "rows", None, now()),
    )


def until(condition: Callable[[], bool], lines: list[Line]) -> None:
    """Carries messages until it holds."""
    for _ in range(400):
        for line in lines:
            line.carry()
        if condition():
            return
        lines[0].page.wait_for_timeout(25)
    raise AssertionError("it did not come to that")


def test_two_panels_agree(chromium_browser: Browser):
    """After 10,000 random changes with messages lost on the way, and one page reloaded in the middle."""
    random = Random(11)
    controller = FakeController([task(number, f"task {number}") for number in range(TASKS)])
    contexts = [chromium_browser.new_context(viewport={"width": 1100, "height": 700}) for _ in range(2)]
    lines = [Line(context.new_page(), controller, random) for context in contexts]
    until(lambda: all(len(line.shown()) == TASKS for line in lines), lines)
    for round_ in range(ROUNDS):
        for _ in range(CHANGES // ROUNDS):
            number = random.randrange(TASKS)
            controller.change(changed(controller.tasks[number], random))
        for line in lines:
            line.carry()
        lines[0].page.wait_for_timeout(60)
        if round_ == ROUNDS // 2:
            lines[1].open()
    for line in lines:
        line.lossy = False
    told = {each.task_id: each.status.value for each in controller.tasks}

    def agreed() -> bool:
        first, second = (line.shown() for line in lines)
        return first == second and {task: texts[0] for task, texts in first.items()} == told

    # The last patch may have been lost: the next one shows the gap.
    controller.change(controller.tasks[0]._replace(name="the last"))
    until(agreed, lines)
    assert all(line.lost > 0 for line in lines)
    for line in lines:
        assert line.view.errors == []
        expect(line.page.get_by_test_id("cmt-panel")).to_have_attribute("data-life", "live")
        line.widget.close()
    for context in contexts:
        context.close()


def test_a_closed_tab_stops_the_sending(chromium_browser: Browser, monkeypatch):
    """Nobody answers the pings any more: the line sleeps, and no change is sent however many there are."""
    monkeypatch.setattr("chongming_task.notebook.outlet.PING_INTERVAL", 0.3)
    monkeypatch.setattr("chongming_task.notebook.outlet.SLEEP_AFTER", 1.5)
    controller = FakeController([task(number, f"task {number}") for number in range(TASKS)])
    context = chromium_browser.new_context()
    line = Line(context.new_page(), controller, Random(1))
    line.lossy = False
    until(lambda: len(line.shown()) == TASKS, [line])
    for _ in range(20):  # pongs keep it awake past the time after which it would sleep
        line.carry()
        line.page.wait_for_timeout(100)
    assert line.widget._outlet.awake
    context.close()
    probe = chromium_browser.new_page()
    while line.widget._outlet.awake:
        probe.wait_for_timeout(50)
    line.queue.clear()
    for number in range(500):
        controller.change(controller.tasks[number % TASKS]._replace(name=f"changed {number}"))
    probe.wait_for_timeout(500)
    assert line.queue == []
    line.widget.close()
    probe.close()
