"""The menu behind a row's ⋯, in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chongming_task.core.states import TaskStatus
from tests.browser.drawer import answer_details, failed_past
from tests.browser.test_panel_view import CONTRAST, Panel, now, show
from tests.notebook.sample_tasks import running, task

pytestmark = pytest.mark.browser

S = TaskStatus
__all__ = ["show"]  # the fixture


def open_menu(panel: Panel, name: str) -> Any:
    """Opens the menu of a row."""
    panel.row(name).get_by_test_id("cmt-more").click()
    panel.text("cmt-menu").wait_for()
    return panel.text("cmt-menu")


def item(panel: Panel, key: str) -> Any:
    """An item of the open menu."""
    return panel.text(f"cmt-item-{key}")


def test_verbs_of_the_menu_are_sent_or_say_why_not(show):
    """What the kernel's table refuses is disabled, with the reason."""
    panel = show()
    open_menu(panel, "parse json/")
    assert item(panel, "skip").get_attribute("aria-disabled") == "true"
    assert item(panel, "skip").get_attribute("title") == "cannot skip: running"
    item(panel, "skip").click(force=True)
    panel.text("cmt-notice").get_by_text("cannot skip: running").wait_for()
    assert panel.requests() == []
    item(panel, "cancel").click()
    assert panel.wait_request()["verb"] == "cancel"
    panel.text("cmt-menu").wait_for(state="detached")


def test_a_reset_is_asked_first(show):
    """It forgets the attempts."""
    panel = show()
    open_menu(panel, "parse xml/")
    item(panel, "reset").click()
    panel.text("cmt-question").get_by_text("Reset parse xml/?").wait_for()
    assert panel.requests() == []
    panel.text("cmt-confirm").click()
    request = panel.wait_request()
    assert (request["verb"], request["args"]) == ("reset", {})


def test_the_rest_of_the_menu_opens_the_drawer_or_copies(show, page):
    """Output, a status by hand, the id, and the line of code that gets the task."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    past = failed_past()
    panel = show()
    open_menu(panel, "parse xml/")
    item(panel, "output").click()
    answer_details(panel.view, past)
    panel.text("cmt-output").wait_for()
    assert page.evaluate("document.activeElement.dataset.testid") == "cmt-tab-output"
    open_menu(panel, "parse xml/")
    item(panel, "by-hand").click()
    panel.text("cmt-by-hand-form").wait_for()
    assert page.evaluate("document.activeElement.dataset.testid") == "cmt-by-hand-to"
    for key, text in (("id", past.task.task_id), ("code", f'controller.handle("{past.task.task_id}")')):
        open_menu(panel, "parse xml/")
        item(panel, f"copy-{key}").click()
        panel.text("cmt-notice").get_by_text("copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == text


def test_the_menu_is_walked_by_keys_and_gives_the_keyboard_back(show, page):
    """Arrows go round, Escape closes; nothing leaks."""
    panel = show()
    page.evaluate("window.leaked = []; document.addEventListener('keydown', e => window.leaked.push(e.key), true)")
    panel.row("parse json/").get_by_test_id("cmt-more").focus()
    page.keyboard.press("Enter")
    panel.text("cmt-menu").wait_for()
    focused = "document.activeElement.dataset.testid"
    page.wait_for_function(f"{focused} === 'cmt-item-cancel'")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "cmt-item-copy-code"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "cmt-item-skip"
    page.keyboard.press("Escape")
    panel.text("cmt-menu").wait_for(state="detached")
    assert page.evaluate(focused) == "cmt-more"
    page.keyboard.press("Enter")
    page.wait_for_function(f"{focused} === 'cmt-item-cancel'")
    page.keyboard.press("Enter")
    assert panel.wait_request()["verb"] == "cancel"
    assert page.evaluate("window.leaked") == []


def test_a_menu_is_never_cut_off_and_ends_with_a_click_elsewhere(show, page):
    """Also at the lower edge of the window; a scroll closes it."""
    page.set_viewport_size({"width": 700, "height": 420})
    panel = show([task(n, f"part {n:02}") for n in range(12)])
    rows = page.get_by_test_id("cmt-row")
    lowest = max(rows.all(), key=lambda row: row.bounding_box()["y"])
    lowest.get_by_test_id("cmt-more").click()
    box = panel.text("cmt-menu").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 420
    page.mouse.click(300, 30)
    panel.text("cmt-menu").wait_for(state="detached")


def test_a_gone_kernel_leaves_what_needs_none(show, page):
    """Ids can still be copied."""
    page.clock.install()
    panel = show([running(1, "a", 5, now())])
    page.clock.run_for(60_000)
    panel.root("gone").wait_for()
    open_menu(panel, "a")
    states = {key: item(panel, key).get_attribute("aria-disabled") for key in ("cancel", "reset", "by-hand", "copy-id")}
    assert states == {"cancel": "true", "reset": "true", "by-hand": "true", "copy-id": "false"}
    assert re.search("kernel is gone", item(panel, "cancel").get_attribute("title"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1100])
def test_the_menu_is_readable(show, page, theme, width, artifacts):
    """In both themes; and leaves a picture to look at."""
    page.set_viewport_size({"width": width, "height": 640})
    panel = show(theme=theme)
    open_menu(panel, "parse json/")
    page.screenshot(path=artifacts / f"menu-{theme}-{width}.png")
    worst = {key: ratio for key, ratio in page.evaluate(CONTRAST).items() if "cmt-item" in key}
    assert worst
    assert {key: ratio for key, ratio in worst.items() if ratio < 4.5} == {}
