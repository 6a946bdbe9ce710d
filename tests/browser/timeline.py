"""The kernel's side of a timeline: tasks with a past, and a page that shows their attempts."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.feed import Feed
from chongming_task.notebook.inbound import PastRequest, parse
from chongming_task.notebook.past import past_of
from tests.browser.harness import View
from tests.notebook.sample_tasks import VALUE_ERROR, FakeController, task

STATIC = Path(__file__).parents[2] / "src" / "chongming_task" / "notebook" / "static"
S = TaskStatus
PAN = """async ([x, y]) => {
  const plot = document.querySelector('.cmt-plot'), frames = [], drawing = [];
  const next = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => next((time) => {
    const began = performance.now();
    draw(time);
    drawing.push(performance.now() - began);
  });
  const tell = (type, at) => {
    plot.dispatchEvent(new PointerEvent(type, { clientX: at, clientY: y, pointerId: 1, bubbles: true }));
  };
  plot.setPointerCapture = () => {};
  tell('pointerdown', x);
  let last = await new Promise(next);
  for (let frame = 0; frame < 120; frame += 1) {
    tell('pointermove', x + 200 * Math.sin(frame / 12));
    const now = await new Promise(next);
    frames.push(now - last);
    last = now;
  }
  tell('pointerup', x);
  window.requestAnimationFrame = next;
  return [frames.slice(5), drawing.slice(5)];
}"""
LOST = Failure(FailureKind.LOST, "the worker reached no checkpoint within its grace")


@dataclass
class Told(FakeController):
    """A controller that knows attempts and trails."""

    tries: dict[str, list[AttemptRecord]] = field(default_factory=dict)
    trails: dict[str, list[Transition]] = field(default_factory=dict)

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """Of a task."""
        return self.tries.get(task_id, [])

    def transitions(self, task_id: str) -> list[Transition]:
        """Of a task."""
        return self.trails.get(task_id, [])


@dataclass
class Story:
    """Tasks that ran one after the other in some slots, up to the present."""

    now: datetime
    controller: Told = field(default_factory=Told)

    def task(
        self,
        name: str,
        *tries: tuple[float, float | None, TaskStatus],
        pauses: tuple[tuple[float, float | None], ...] = (),
        **changes: Any,
    ) -> TaskSnapshot:
        """Adds a task that was tried like that: start and end in seconds before now, and how it ended."""
        number = len(self.controller.tasks) + 1
        start, end, status = tries[-1]
        steps = 4 if len(tries) == 1 and not pauses else 3 + 3 * len(tries) + 3 * len(pauses)
        fields: dict[str, Any] = {
            "created_at": self.at(tries[0][0] + 2),
            "queued_at": self.at(tries[0][0] + 2),
            "started_at": self.at(start),
            "ended_at": None if end is None else self.at(end),
            "attempt": len(tries),
            "max_attempts": max(len(tries), 3),
            "live": end is None,
            "status_version": steps,
            **changes,
        }
        made = task(number, name, fields.pop("status", status), **fields)
        self.controller.tasks.append(made)
        self.controller.tries[made.task_id] = [
            AttemptRecord(made.task_id, n + 1, status, self.at(start), None if end is None else self.at(end))
            for n, (start, end, status) in enumerate(tries)
        ]
        self.controller.trails[made.task_id] = [
            step for from_, to in pauses for step in self._pause(made.task_id, from_, to)
        ]
        return made

    def _pause(self, task_id: str, from_: float, to: float | None) -> list[Transition]:
        step = Transition(task_id, 1, S.PAUSING, S.PAUSED, "worker:held", "engine", None, self.at(from_))
        if to is None:
            return [step]
        return [step, Transition(task_id, 2, S.PAUSED, S.RUNNING, "user:resume", "ana", None, self.at(to))]

    def at(self, seconds: float) -> datetime:
        """That long before now."""
        return self.now - timedelta(seconds=seconds)


def night(now: datetime | None = None) -> Story:
    """A run of an hour: six slots, retries, pauses, a failure, one lost; six tasks are at work."""
    story = Story(now or datetime.now(UTC))
    dice = random.Random(7)
    names = ("extract orders", "extract clicks", "parse json/", "parse csv/", "join", "清洗每日订单", "aggregate")
    for slot, until in enumerate((297.0, 283.0, 263.0, 123.0, 94.0, 6.0)):
        at = 3400.0 - slot * 35
        serial = 0
        while at > until + 30:
            name = f"{dice.choice(names)} part {serial * 6 + slot}"
            end = max(at - dice.uniform(40, 300), until)
            kind = dice.random()
            if kind < 0.06:
                third = (at - end) / 3
                tries = (at, at - third + 4, S.FAILED), (at - third, at - 2 * third + 4, S.FAILED)
                story.task(name, *tries, (at - 2 * third, end, S.SUCCEEDED))
            elif kind < 0.10:
                story.task(name, (at, end, S.FAILED), failure=VALUE_ERROR)
            elif kind < 0.18 and at - end > 60:
                story.task(name, (at, end, S.SUCCEEDED), pauses=((at - 20, at - 20 - (at - end) / 2),))
            elif kind < 0.20:
                story.task(name, (at, end, S.STOPPED))
            else:
                story.task(name, (at, end, S.SUCCEEDED))
            at, serial = end - dice.uniform(0.5, 12), serial + 1
    story.task("fetch remote <b>archive</b>", (900.0, 610.0, S.LOST), failure=LOST, abandoned=True)
    story.task("train model", (295.0, None, S.RUNNING))
    story.task("parse http/2026-11-30", (260.0, 200.0, S.FAILED), (190.0, None, S.RUNNING))
    story.task("held at a checkpoint", (280.0, None, S.PAUSED), pauses=((140.0, None),))
    story.task("stop me", (120.0, None, S.STOPPING))
    story.task("warm up", (4.0, None, S.STARTING))
    story.task("flaky upload", (90.0, 70.0, S.FAILED), (60.0, 41.0, S.FAILED), status=S.RETRY_WAIT, ended_at=None)
    for n in range(40):
        story.controller.tasks.append(task(900 + n, f"waiting {n}", S.QUEUED))
    return story


def crowd(count: int, slots: int = 12, now: datetime | None = None) -> Story:
    """So many short attempts, of very different lengths."""
    story = Story(now or datetime.now(UTC))
    dice = random.Random(3)
    ends = [count * 1.2 / slots * 3] * slots
    for n in range(count):
        slot = max(range(slots), key=ends.__getitem__)
        took = dice.choice([0.05, 0.4, 2, 4, 9]) * dice.uniform(0.5, 1.5)
        start = ends[slot]
        ends[slot] = start - took - 0.02
        status = S.FAILED if dice.random() < 0.01 else S.SUCCEEDED
        story.task(f"part {n:05}", (start, ends[slot] + 0.02, status))
    return story


class TimelinePage:
    """A mounted timeline, and the kernel's side of it."""

    def __init__(self, view: View, story: Story) -> None:
        self.view = view
        self.page = view.page
        self.controller = story.controller
        self.feed = Feed("nightly-etl", _now_ms())
        self.feed.absorb(story.controller.tasks)
        self.cursor = self.feed.open()
        self.answered: set[str] = set()

    def reset(self) -> None:
        """Answers the view's hello, with all pages."""
        self.view.deliver(self.cursor.reset(_now_ms()))
        while (message := self.cursor.patch(_now_ms())) is not None:
            self.view.deliver(message)
        self.page.locator("[data-testid=cmt-timeline][data-life=live]").wait_for()

    def change(self, *tasks: TaskSnapshot) -> None:
        """Tells the view what changed."""
        self.feed.absorb(tasks)
        known = {each.task_id: each for each in tasks}
        self.controller.tasks = [known.pop(old.task_id, old) for old in self.controller.tasks] + list(known.values())
        message = self.cursor.patch(_now_ms())
        assert message is not None
        self.view.deliver(message)

    def asked(self) -> list[dict[str, Any]]:
        """The questions for pasts, answered or not."""
        return [message for message in self.view.sent() if message["verb"] == "past"]

    def answer_pasts(self, count: int = 1) -> list[dict[str, Any]]:
        """Waits for so many questions, answers those that are open and returns all."""
        self.page.wait_for_function("n => window.sent.filter(m => m.verb === 'past').length >= n", arg=count)
        for request in self.asked():
            if request["id"] in self.answered:
                continue
            self.answered.add(request["id"])
            message = parse(request, self.feed)
            assert isinstance(message, PastRequest)
            body = past_of(self.controller, message.tasks, self.feed.epoch_ms)
            answer = {"kind": "answer", "id": request["id"], "ok": True, "error": None, "results": [], "body": body}
            self.view.deliver(answer)
        return self.asked()

    def text(self, test_id: str) -> Any:
        """An element by its test id."""
        return self.page.get_by_test_id(test_id)

    def pan(self) -> tuple[list[float], list[float]]:
        """Drags to and fro; milliseconds of each frame, and of those what drawing took."""
        box = self.text("cmt-plot").bounding_box()
        frames, drawing = self.page.evaluate(PAN, [box["x"] + box["width"] / 2, box["y"] + 100])
        return frames, drawing

    def spot(self, story: Story, seconds: float, lane: int) -> tuple[float, float]:
        """The point of the page where a lane has that many seconds before the story's present."""
        plot = self.text("cmt-plot")
        box = plot.bounding_box()
        first, last = (float(plot.get_attribute(f"data-{edge}")) for edge in ("from", "to"))
        time = round(story.at(seconds).timestamp() * 1000) - self.feed.epoch_ms
        return box["x"] + (time - first) / (last - first) * box["width"], box["y"] + 28 + 24 * lane + 12

    def shows(self, bars: int) -> None:
        """Waits until so many attempts are drawn."""
        self.page.locator(f"[data-testid=cmt-plot][data-bars='{bars}']").wait_for()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
