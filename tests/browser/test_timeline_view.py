"""The timeline in a real browser, fed by the Python side's own messages."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from chongming_task.core.states import TaskStatus
from tests.browser.drawer import Past, answer_details
from tests.browser.harness import open_view
from tests.browser.test_accessibility import AXE, RUN
from tests.browser.timeline import STATIC, Story, TimelinePage, crowd, night
from tests.notebook.sample_tasks import VALUE_ERROR

pytestmark = pytest.mark.browser

S = TaskStatus
Show = Callable[..., TimelinePage]


@pytest.fixture
def show(page) -> Iterator[Show]:
    """Opens a timeline of a story's tasks, live; ends with a look whether the page raised anything."""
    opened: list[TimelinePage] = []

    def show(story: Story, *, live: bool = True, language: str = "", **options: Any) -> TimelinePage:
        state = {"saved": {}, "language": language}
        view = open_view(page, STATIC / "timeline.js", STATIC / "timeline.css", state, **options)
        shown = TimelinePage(view, story)
        if live:
            shown.reset()
        opened.append(shown)
        return shown

    yield show
    for each in opened:
        assert each.view.errors == []


def story(*tasks: tuple[Any, ...], **changes: Any) -> Story:
    """A small one: name and tries of each task."""
    told = Story(datetime.now(UTC))
    for name, *tries in tasks:
        told.task(name, *tries, **changes)
    return told


def test_every_attempt_has_a_bar_once_it_is_known(show):
    """What a row tells is drawn at once, what went before when the kernel has told it; until then it is said."""
    told = story(
        ("a", (60.0, 50.0, S.SUCCEEDED)),
        ("b", (60.0, 55.0, S.FAILED), (50.0, 45.0, S.FAILED), (40.0, None, S.RUNNING)),
        ("c", (30.0, 20.0, S.STOPPED)),
    )
    timeline = show(told)
    timeline.shows(2)
    timeline.page.get_by_text("what 2 tasks went through is not known yet").wait_for()
    (asked,) = timeline.answer_pasts()
    assert len(asked["ids"]) == 2
    timeline.shows(5)
    assert timeline.text("cmt-plot").get_attribute("data-lanes") == "2"
    assert timeline.page.get_by_text("is not known yet").count() == 0
    legend = timeline.text("cmt-legend").inner_text()
    for words in ("5 attempts", "Done 1", "Failed 2", "Stopped 1", "Running 1"):
        assert words in legend


def test_a_past_is_asked_again_when_it_has_changed(show):
    """And only for what changed; a table at rest asks for nothing."""
    told = story(("a", (60.0, None, S.RUNNING)), ("b", (60.0, 50.0, S.SUCCEEDED)))
    timeline = show(told)
    timeline.shows(2)
    assert timeline.asked() == []
    first = told.controller.tasks[0]
    waiting = first._replace(status=S.RETRY_WAIT, live=False, max_attempts=3, status_version=4)
    told.controller.tries[first.task_id] = [
        told.controller.tries[first.task_id][0]._replace(status=S.FAILED, ended_at=told.at(1))
    ]
    timeline.change(waiting)
    (asked,) = timeline.answer_pasts()
    assert asked["ids"] == [first.task_id]
    timeline.text("cmt-legend").get_by_text("Failed 1").wait_for()
    again = waiting._replace(status=S.RUNNING, live=True, attempt=2, started_at=told.at(0), status_version=7)
    timeline.change(again)
    timeline.answer_pasts(2)
    timeline.shows(3)
    timeline.page.wait_for_timeout(700)  # nothing more is due
    assert len(timeline.asked()) == 2


def test_a_lost_answer_is_asked_for_again(show, page):
    """One question at a time, and another when its answer has not come for long."""
    page.clock.install()
    timeline = show(story(("a", (60.0, 50.0, S.STOPPED))))
    page.clock.run_for(5_000)
    assert len(timeline.asked()) == 1
    page.clock.run_for(20_000)
    assert len(timeline.asked()) == 2


def test_the_pointer_is_told_name_and_times(show, page):
    """Of one bar; of a pixel full of them how many."""
    told = story(
        ("parse <b>json</b>", (120.0, 60.0, S.FAILED)),
        *[(f"n{n}", (40 - n / 999, 40 - n / 999, S.SUCCEEDED)) for n in range(9)],
    )
    told.controller.tasks[0] = told.controller.tasks[0]._replace(failure=VALUE_ERROR)
    timeline = show(told)
    timeline.shows(10)
    page.mouse.move(*timeline.spot(told, 90, 0))
    tip = timeline.text("cmt-tip")
    tip.wait_for()
    assert "parse <b>json</b>" in tip.inner_text()
    assert re.search(r"\d\d:\d\d:\d\d – (\S+ )?\d\d:\d\d:\d\d · 1:00", tip.inner_text())
    assert "ValueError: bad header in <b>file</b> 3" in tip.inner_text()
    assert "failed" in tip.inner_text()
    page.mouse.move(*timeline.spot(told, 39.996, 0))
    tip.get_by_text("9 attempts").wait_for()
    assert "9 done" in tip.inner_text()
    page.mouse.move(*timeline.spot(told, 50, 0))
    tip.wait_for(state="detached")


def test_a_lost_one_is_shown_without_an_end(show, page):
    """In the tip as on the canvas."""
    told = story(("gone", (120.0, 60.0, S.LOST)), ("b", (50.0, 40.0, S.SUCCEEDED)))
    timeline = show(told)
    timeline.shows(2)
    page.mouse.move(*timeline.spot(told, 100, 0))
    tip = timeline.text("cmt-tip")
    tip.wait_for()
    assert "whether and when it ended is not known" in tip.inner_text()
    assert " – ?" in tip.inner_text()


def test_a_click_opens_the_drawer_of_the_task_and_its_buttons_steer(show, page):
    """The same drawer as the panel's; a second click closes it."""
    told = story(("train model", (60.0, None, S.RUNNING)), ("b", (50.0, 40.0, S.SUCCEEDED)))
    timeline = show(told)
    timeline.shows(2)
    page.mouse.click(*timeline.spot(told, 30, 0))
    answer_details(timeline.view, Past(told.controller.tasks[0]))
    assert timeline.text("cmt-picked").get_attribute("data-status") == "running"
    timeline.text("cmt-tab-attempts").click()
    timeline.text("cmt-act-pause").click()
    page.wait_for_function("window.sent.some(m => m.verb === 'pause')")
    (sent,) = [message for message in timeline.view.sent() if message["verb"] == "pause"]
    assert sent["ids"] == [told.controller.tasks[0].task_id]
    page.mouse.click(*timeline.spot(told, 30, 0))
    timeline.text("cmt-picked").wait_for(state="detached")


def test_drag_wheel_and_buttons_move_the_view(show, page):
    """The time under the pointer stays; a drag is no click; the wheel alone scrolls the page."""
    told = story(("a", (600.0, 300.0, S.SUCCEEDED)), ("b", (200.0, None, S.RUNNING)))
    timeline = show(told)
    timeline.shows(2)
    plot = timeline.text("cmt-plot")

    def span() -> tuple[float, float]:
        return float(plot.get_attribute("data-from")), float(plot.get_attribute("data-to"))

    x, y = timeline.spot(told, 400, 0)
    page.mouse.move(x, y)
    before = span()
    page.mouse.wheel(0, 100)
    page.wait_for_timeout(200)
    assert plot.get_attribute("data-mode") == "fit"
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.locator("[data-mode=free]").wait_for()
    assert span()[1] - span()[0] < (before[1] - before[0]) * 0.8
    assert abs(timeline.spot(told, 400, 0)[0] - x) < 1
    page.mouse.down()
    page.mouse.move(x - 150, y, steps=4)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert abs(timeline.spot(told, 400, 0)[0] - (x - 150)) < 2
    assert timeline.text("cmt-picked").count() == 0
    timeline.text("cmt-follow").click()
    page.locator("[data-mode=follow]").wait_for()
    length = span()[1] - span()[0]
    timeline.text("cmt-zoom-in").click()
    page.wait_for_function(
        "n => { const d = document.querySelector('.cmt-plot').dataset; return d.to - d.from < n; }", arg=length * 0.7
    )
    assert plot.get_attribute("data-mode") == "follow"
    timeline.text("cmt-fit").click()
    page.locator("[data-mode=fit]").wait_for()
    assert timeline.text("cmt-fit").get_attribute("aria-pressed") == "true"


def test_keys_walk_open_and_give_back(show, page):
    """Each bar is told to screen readers; Enter opens, Escape comes back to it; other keys stay in the plot."""
    told = story(
        ("a", (100.0, 90.0, S.SUCCEEDED)), ("b", (80.0, 70.0, S.FAILED)), ("c", (75.0, 60.0, S.SUCCEEDED)),
        ("d", (50.0, 40.0, S.SUCCEEDED)),
    )  # fmt: skip
    timeline = show(told)
    timeline.shows(4)
    timeline.text("cmt-plot").focus()
    heard = timeline.text("cmt-spoken")
    for key, name in [
        ("ArrowRight", "a, done"), ("ArrowRight", "b, failed"), ("ArrowDown", "c, done"), ("ArrowUp", "b, failed"),
        ("End", "d, done"), ("ArrowRight", "d, done"), ("Home", "a, done"), ("ArrowRight", "b, failed"),
    ]:  # fmt: skip
        page.keyboard.press(key)
        heard.get_by_text(re.compile("^" + name)).wait_for(state="attached")
    assert timeline.text("cmt-tip").locator("b").inner_text() == "b"
    page.keyboard.press("Escape")
    timeline.text("cmt-tip").wait_for(state="detached")
    for key in "+++-":
        page.keyboard.press(key)
    page.locator("[data-mode=free]").wait_for()
    page.keyboard.press("0")
    page.locator("[data-mode=fit]").wait_for()
    page.keyboard.press("Enter")
    answer_details(timeline.view, Past(told.controller.tasks[1]))
    timeline.text("cmt-tab-overview").focus()
    page.keyboard.press("Escape")
    timeline.text("cmt-picked").wait_for(state="detached")
    assert page.evaluate("document.activeElement.dataset.testid") == "cmt-plot"
    assert "b, failed" in heard.inner_text()
    label = timeline.text("cmt-plot").get_attribute("aria-label")
    assert "4 attempts in 2 lanes: 3 done, 1 failed" in label


PIXEL = """([x, y]) => {
  const canvas = document.querySelector('.cmt-canvas'), box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const pen = canvas.getContext('2d');
  return [...pen.getImageData((x - box.left) * ratio, (y - box.top) * ratio, 1, 1).data].slice(0, 3);
}"""


def test_a_filter_makes_the_others_stand_back(show, page):
    """They stay where they are."""
    told = story(("parse", (100.0, 60.0, S.FAILED)), ("load", (50.0, 10.0, S.FAILED)))
    timeline = show(told)
    timeline.shows(2)
    spots = [(x, y + 6) for x, y in (timeline.spot(told, 70, 0), timeline.spot(told, 20, 0))]
    before = [page.evaluate(PIXEL, spot) for spot in spots]
    assert before[0] == before[1]
    timeline.text("cmt-search").fill("PARSE")
    page.wait_for_timeout(200)
    after = [page.evaluate(PIXEL, spot) for spot in spots]
    assert after[0] == before[0]
    assert min(after[1]) > min(before[1]) + 30
    timeline.text("cmt-search").press("Escape")
    page.wait_for_timeout(200)
    assert [page.evaluate(PIXEL, spot) for spot in spots] == before


def test_a_bar_stays_in_its_lane_while_others_come_and_go(show, page):
    """Whatever ends and begins."""
    told = story(("a", (30.0, None, S.RUNNING)), ("b", (20.0, None, S.RUNNING)), ("c", (10.0, None, S.RUNNING)))
    timeline = show(told)
    timeline.shows(3)
    timeline.change(
        told.controller.tasks[0]._replace(status=S.SUCCEEDED, live=False, ended_at=told.at(1), status_version=4)
    )
    told.task("d", (0.5, None, S.RUNNING))
    timeline.change(told.controller.tasks[-1])
    timeline.shows(4)
    assert timeline.text("cmt-plot").get_attribute("data-lanes") == "3"
    for seconds, lane, name in [(15, 0, "a"), (5, 1, "b"), (5, 2, "c")]:
        page.mouse.move(*timeline.spot(told, seconds, lane))
        timeline.text("cmt-tip").locator("b").get_by_text(name, exact=True).wait_for()


def test_before_anything_has_started_it_says_so(show):
    """Also before anything is known."""
    told = Story(datetime.now(UTC))
    timeline = show(told, live=False)
    assert timeline.text("cmt-empty").inner_text() == "Waiting for the kernel…"
    timeline.reset()
    timeline.page.get_by_text("No tasks yet.").wait_for()
    night_story = night()
    timeline.change(night_story.controller.tasks[-1])
    timeline.page.get_by_text("Nothing has started yet.").wait_for()


def test_the_present_stands_when_the_kernel_is_gone(show, page):
    """Nothing grows any more; the last that is known is shown."""
    page.clock.install()
    told = story(("a", (30.0, None, S.RUNNING)))
    timeline = show(told)
    timeline.shows(1)
    page.clock.run_for(60_000)
    page.locator("[data-life=gone]").wait_for()
    timeline.text("cmt-gone").wait_for()
    before = timeline.text("cmt-plot").get_attribute("data-to")
    page.clock.run_for(5_000)
    assert timeline.text("cmt-plot").get_attribute("data-to") == before


@pytest.mark.parametrize("zoom", [0, 4])
def test_ten_thousand_attempts_are_panned_within_a_frame(show, page, zoom):
    """As a whole, where most bars are thinner than a pixel, and from nearby: what drawing takes of 16 ms."""
    page.set_viewport_size({"width": 1100, "height": 700})
    timeline = show(crowd(10_000))
    timeline.shows(10_000)
    for _ in range(zoom):
        timeline.text("cmt-zoom-in").click()
    frames, drawing = timeline.pan()
    assert len(frames) > 100
    assert statistics.median(drawing) < 16  # the median: others use the machine as well


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(show, page, theme):
    """With and without a drawer, in both themes."""
    told = night()
    timeline = show(told, theme=theme)
    timeline.answer_pasts()
    page.add_script_tag(content=AXE.read_text())
    assert page.evaluate(RUN) == []
    page.mouse.click(*timeline.spot(told, 100, 2))
    answer_details(timeline.view, Past(next(each for each in told.controller.tasks if each.name == "train model")))
    timeline.text("cmt-facts").wait_for()
    assert page.evaluate(RUN) == []


@pytest.mark.parametrize("language", ["", "zh"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1100])
def test_it_fits_any_width(show, theme, width, language, artifacts):
    """In both themes and languages; and leaves pictures to look at."""
    timeline = show(night(), theme=theme, language=language)
    page = timeline.page
    page.set_viewport_size({"width": width, "height": 420})
    timeline.answer_pasts()
    page.get_by_test_id("cmt-hatch").wait_for()
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    shown = "timeline-zh" if language else "timeline"
    page.locator("#view").screenshot(path=artifacts / f"{shown}-{theme}-{width}.png")
    if language:
        assert not re.search("[A-Za-z]{3,}", timeline.page.locator(".cmt-tools").inner_text())


def test_hostile_names_are_shown_as_text(show, page):
    """In bars, in the tip and under the plot; the layout stays."""
    name = "<img src=x onerror=\"document.title='broken'\">\u202edesrever " + "x" * 100_000
    told = story((name, (60.0, None, S.RUNNING)))
    timeline = show(told)
    timeline.shows(1)
    title = page.title()
    page.mouse.move(*timeline.spot(told, 30, 0))
    timeline.text("cmt-tip").wait_for()
    assert timeline.text("cmt-tip").bounding_box()["width"] < 500
    page.mouse.click(*timeline.spot(told, 30, 0))
    timeline.text("cmt-picked").wait_for()
    assert page.locator("#view img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.title() == title
