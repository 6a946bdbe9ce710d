"""The card in a real browser, fed by the Python side's own messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from tests.browser.drawer import answer_details, failed_past
from tests.browser.harness import open_view
from tests.browser.test_accessibility import AXE, faults
from tests.browser.test_panel_view import STATIC, Panel, now
from tests.notebook.sample_tasks import running, task

pytestmark = pytest.mark.browser

S = TaskStatus


class Card(Panel):
    """A mounted card, and the kernel's side of it."""

    def root(self, life: str) -> Any:
        """The card, in that state of its line to the kernel."""
        return self.page.locator(f"[data-testid=cmt-card][data-life={life}]")

    @property
    def here(self) -> Any:
        """The card."""
        return self.text("cmt-card")


@pytest.fixture
def show(page) -> Iterator[Any]:
    """Opens a card of a task, live; ends with a look whether the page raised anything."""
    opened: list[Card] = []

    def show(task: TaskSnapshot, **options: Any) -> Card:
        state = options.pop("state", {"saved": {}})
        card = Card(open_view(page, STATIC / "card.js", STATIC / "card.css", state, **options), [task])
        card.reset()
        opened.append(card)
        return card

    yield show
    for card in opened:
        assert card.view.errors == []


def crunch(**changes: Any) -> TaskSnapshot:
    """A task that runs, second try of three."""
    progress = Progress(4_100, 10_000, "rows", "part 41", now())
    return running(1, "crunch a.csv", 72, now(), **{"attempt": 2, "progress": progress, **changes})


def test_it_tells_status_progress_tries_and_time(show):
    """On one line; and follows."""
    card = show(crunch())
    assert card.here.get_attribute("data-status") == "running"
    line = card.here.inner_text()
    assert all(text in line for text in ("running", "crunch a.csv", "41%", "2/3"))
    card.change(crunch(status=S.SUCCEEDED, live=False, ended_at=now()))
    card.page.locator("[data-testid=cmt-card][data-status=succeeded]").wait_for()
    assert "done" in card.here.inner_text()


def test_its_buttons_are_those_of_a_row(show):
    """A stop goes out for the one task; what cannot be done says why and sends nothing."""
    card = show(crunch())
    card.text("cmt-act-retry").click(force=True)
    assert "cannot retry: running" in card.text("cmt-notice").inner_text()
    card.text("cmt-act-stop").click()
    request = card.wait_request()
    assert (request["verb"], request["ids"]) == ("stop", [crunch().task_id])
    card.answer(request, {crunch().task_id: "it was pruned"})
    card.text("cmt-notice").get_by_text("it was pruned").wait_for()


def test_its_output_unfolds_and_gives_way_to_the_details(show):
    """Three lines, the newest; the drawer in their place; one button folds either."""
    past = failed_past()
    card = show(past.task)
    card.text("cmt-fold").click()
    answer_details(card.view, past)
    lines = card.text("cmt-tail").locator(".cmt-line")
    lines.nth(2).wait_for()
    assert lines.all_inner_texts() == [each.text for each in past.output(past.task.task_id)][-3:]
    card.text("cmt-details").click()
    answer_details(card.view, past, 1)
    card.text("cmt-page-overview").wait_for()
    assert card.text("cmt-tail").count() == 0
    card.text("cmt-fold").click()
    expect(card.text("cmt-drawer")).to_have_count(0)
    assert card.text("cmt-fold").get_attribute("aria-expanded") == "false"


def test_strange_texts_stay_texts(show):
    """A name and a failure made of markup, right-to-left marks and a hundred thousand characters."""
    nasty = '<img src=x onerror="window.hit=1">\u202egnp.exe' + "x" * 100_000
    failure = Failure(FailureKind.EXCEPTION, nasty, exception_type="ValueError")
    card = show(task(1, nasty, S.FAILED, started_at=now(), ended_at=now(), failure=failure))
    assert card.page.evaluate("window.hit") is None
    assert card.page.locator("#view img").count() == 0
    assert card.here.bounding_box()["height"] < 60
    assert card.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(show, theme):
    """Folded, unfolded, with the drawer and the menu."""
    past = failed_past()
    card = show(past.task, theme=theme)
    assert faults(card) == []
    card.text("cmt-fold").click()
    answer_details(card.view, past)
    assert faults(card) == []
    card.text("cmt-details").click()
    answer_details(card.view, past, 1)
    card.text("cmt-page-overview").wait_for()
    assert faults(card) == []
    card.text("cmt-more").click()
    card.text("cmt-menu").wait_for()
    assert faults(card) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 700, 1100])
def test_it_fits(show, page, theme, width, artifacts):
    """Also a narrow cell, and leaves pictures to look at."""
    page.set_viewport_size({"width": width, "height": 330})
    past = failed_past()
    card = show(past.task, theme=theme)
    card.here.screenshot(path=artifacts / f"card-{theme}-{width}.png")
    card.text("cmt-fold").click()
    answer_details(card.view, past)
    card.text("cmt-tail").locator(".cmt-line").nth(2).wait_for()
    card.here.screenshot(path=artifacts / f"card-open-{theme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    card.change(crunch()._replace(task_id=past.task.task_id))
    page.locator("[data-testid=cmt-card][data-status=running]").wait_for()
    card.here.screenshot(path=artifacts / f"card-running-{theme}-{width}.png")
