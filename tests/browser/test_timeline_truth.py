"""What a timeline draws is what the store tells: a controller, a widget and a browser, and much that happens."""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chongming_task import Controller, RetryPolicy, TaskHandle, task
from chongming_task.core.states import TaskStatus
from chongming_task.errors import TaskError
from tests.browser.harness import View, open_view
from tests.browser.timeline import STATIC
from tests.notebook.test_panel import Wire

pytestmark = pytest.mark.browser

S = TaskStatus
LEGEND = {"Done": {S.SUCCEEDED}, "Failed": {S.FAILED}, "Lost": {S.LOST}, "Stopped": {S.STOPPED, S.CANCELLED, S.SKIPPED}}
PATIENCE_SECONDS = 30


@task(retry=RetryPolicy(max_attempts=3, backoff="none"))
def restless(ctx: Any, seed: int) -> int:
    """Works for a moment, and fails now and then."""
    dice = random.Random(seed * 100 + ctx.attempt)
    until = time.monotonic() + dice.uniform(0, 0.4)
    while time.monotonic() < until:
        ctx.sleep(0.005)
    if dice.random() < 0.4:
        raise OSError("connection reset")
    return seed


class Bridge:
    """Carries messages between a widget and the page that shows it."""

    def __init__(self, controller: Controller, wire: Wire, view: View) -> None:
        self.controller = controller
        self.wire = wire
        self.view = view
        self.told = self.heard = 0

    def carry(self) -> None:
        """Everything that waits on either side."""
        sent = self.view.sent()
        for message in sent[self.heard :]:
            self.wire.say(message)
        self.heard = len(sent)
        messages = list(self.wire.messages)
        for message in messages[self.told :]:
            self.view.deliver(message)
        self.told = len(messages)


def shown(view: View) -> Counter[str]:
    """The legend's groups and numbers."""
    text = view.page.get_by_test_id("cmt-legend").inner_text()
    return Counter({word: int(number) for word, number in re.findall(r"([A-Z]\w+) (\d+)", text)})


def stored(controller: Controller) -> Counter[str]:
    """The same of the attempts in the store."""
    counts: Counter[str] = Counter()
    for each in controller.list_tasks():
        for attempt in controller.attempts(each.task_id):
            counts[next(word for word, statuses in LEGEND.items() if attempt.status in statuses)] += 1
    return counts


def meddle(controller: Controller, task_id: str, dice: random.Random) -> None:
    """Does something to a task that may be refused."""
    acts: list[Any] = [
        lambda: controller.pause(task_id, wait=False),
        lambda: controller.resume(task_id),
        lambda: controller.stop(task_id, wait=False),
        lambda: controller.cancel(task_id),
        lambda: controller.retry(task_id, force=True),
        lambda: controller.reset(task_id, confirm=True),
        lambda: controller.skip(task_id),
        lambda: controller.force_transition(task_id, dice.choice([S.FAILED, S.SUCCEEDED]), reason="known", actor="ana"),
    ]
    with contextlib.suppress(TaskError):  # what a task refuses as it stands
        dice.choices(acts, [5, 5, 2, 1, 4, 1, 1, 1])[0]()


def come_to_an_end(controller: Controller, handles: list[TaskHandle[Any]]) -> bool:
    """Leads on what waits for somebody; whether all have ended."""
    for handle in handles:
        with contextlib.suppress(TaskError):  # it went on by itself
            if handle.status is S.PENDING:
                controller.start(handle)
            elif handle.status is S.PAUSED:
                controller.resume(handle)
    return all(handle.done() for handle in handles)


@pytest.fixture
def bridge(page, monkeypatch) -> Iterator[Bridge]:
    """A controller's timeline in the page."""
    with Controller(max_parallel=5) as controller:
        widget = controller.timeline()
        view = open_view(page, STATIC / "timeline.js", STATIC / "timeline.css", {})
        yield Bridge(controller, Wire(widget, monkeypatch), view)
        widget.close()
        assert view.errors == []


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_drawn_in_the_end_is_what_the_store_tells(bridge, page, seed):
    """Retries, pauses, stops, resets and statuses by hand, as quick as they come."""
    dice, controller = random.Random(seed), bridge.controller
    handles = [controller.submit(restless, n) for n in range(40)]
    for _ in range(150):
        meddle(controller, dice.choice(handles).id, dice)
        bridge.carry()
        page.wait_for_timeout(15)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not come_to_an_end(controller, handles) and time.monotonic() < deadline:
        bridge.carry()
    expected = stored(controller)
    untold = page.get_by_text("is not known yet")
    while (shown(bridge.view) != expected or untold.count() > 0) and time.monotonic() < deadline:
        bridge.carry()
        page.wait_for_timeout(20)
    assert shown(bridge.view) == expected
    assert max(len(controller.attempts(handle)) for handle in handles) > 1
    assert page.get_by_test_id("cmt-plot").get_attribute("data-bars") == str(sum(expected.values()))
    assert untold.count() == 0
