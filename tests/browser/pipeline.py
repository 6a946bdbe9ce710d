"""A run's graph in a page, and the kernel's side of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chongming_task.core.records import TaskSnapshot
from chongming_task.notebook.run_feed import RunFeed, Standing
from tests.browser.harness import View

STATIC = Path(__file__).parents[2] / "src" / "chongming_task" / "notebook" / "static"
SIGNALS = ["hello", "resync", "pong", "details", "waits"]  # what a view says and asks on its own, without a click

__all__ = ["STATIC", "Graph", "Show"]


class Graph:
    """A mounted view, and the kernel's side of it."""

    def __init__(self, view: View, tasks: list[TaskSnapshot], standing: Standing) -> None:
        self.view = view
        self.page = view.page
        self.standing = standing
        self.feed = RunFeed("nightly-etl", _now_ms(), lambda: self.standing)
        self.feed.absorb(tasks)
        self.cursor = self.feed.open()

    def reset(self) -> None:
        """Answers the view's hello."""
        self.view.deliver(self.cursor.reset(_now_ms()))
        self.catch_up()
        self.page.locator("[data-testid=cmt-pipeline][data-life=live]").wait_for()

    def catch_up(self) -> None:
        """Sends all that is still to be told."""
        while (message := self.cursor.patch(_now_ms())) is not None:
            self.view.deliver(message)

    def change(self, *tasks: TaskSnapshot, standing: Standing | None = None) -> None:
        """Tells the view what changed."""
        self.standing = standing or self.standing
        self.feed.absorb(tasks)
        self.catch_up()

    def unit(self, key: str) -> Any:
        """A box, by its node's name."""
        return self.page.locator(f'[data-testid=cmt-unit][data-unit="{key}"]')

    def units(self) -> list[str]:
        """The boxes, by their keys."""
        found: list[str] = self.page.get_by_test_id("cmt-unit").evaluate_all("all => all.map(e => e.dataset.unit)")
        return found

    def text(self, test_id: str) -> Any:
        """An element by its test id."""
        return self.page.get_by_test_id(test_id)

    def wait_request(self, number: int = 0) -> dict[str, Any]:
        """What was sent for a click or a key, when it has been."""
        enough = "([signals, n]) => window.sent.filter(m => !signals.includes(m.verb)).length > n"
        self.page.wait_for_function(enough, arg=[SIGNALS, number])
        found: dict[str, Any] = self.requests()[number]
        return found

    def requests(self) -> list[dict[str, Any]]:
        """All that was sent for clicks and keys."""
        return [m for m in self.view.sent() if m["verb"] not in SIGNALS]

    def answer(self, request: dict[str, Any], body: dict[str, Any] | None = None, error: str | None = None) -> None:
        """Answers a request for the whole run."""
        answer = {"kind": "answer", "id": request["id"], "ok": error is None, "error": error, "results": []}
        self.view.deliver(answer if body is None else {**answer, "body": body})


Show = Callable[..., Graph]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
