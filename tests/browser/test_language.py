"""The panel in Chinese, in a real browser."""

from __future__ import annotations

import re

import pytest

from tests.browser.drawer import failed_past
from tests.browser.harness import open_view
from tests.browser.test_drawer import open_drawer
from tests.browser.test_menu import open_menu
from tests.browser.test_panel_view import STATIC, show

pytestmark = pytest.mark.browser

__all__ = ["show"]  # the fixture
CHINESE = {"saved": {}, "language": "zh"}
ENGLISH = re.compile(r"[A-Za-z]{3,}")


def test_the_panel_speaks_chinese(show):
    """Statuses as the design's table has them, titles, buttons, questions, the drawer; reasons of the kernel stay."""
    panel = show(state=CHINESE)
    words = [row.locator(".cmt-col-status").inner_text().strip() for row in panel.page.get_by_test_id("cmt-row").all()]
    assert {"启动中", "运行中", "暂停中", "已暂停", "失败"} <= set(words)
    assert any(re.fullmatch(r"停止中 \d s", word) for word in words)
    assert panel.page.locator(".cmt-panel").get_attribute("lang") == "zh"
    assert not ENGLISH.search(panel.page.locator(".cmt-filters, .cmt-titles").all_inner_texts()[1])
    open_menu(panel, "parse json/")
    assert panel.text("cmt-menu").inner_text().split()[0] == "取消"
    assert panel.text("cmt-item-skip").get_attribute("title") == "无法跳过：运行中"
    panel.page.keyboard.press("Escape")
    open_drawer(panel, failed_past(), "history")
    assert "失败" in panel.text("cmt-page-history").inner_text()


@pytest.mark.parametrize(("wanted", "language"), [("", "zh"), ("en", "en")])
def test_the_browser_chooses_unless_the_widget_does(chromium_browser, wanted, language):
    """A page in a Chinese browser."""
    context = chromium_browser.new_context(locale="zh-CN")
    state = {"saved": {}, "language": wanted}
    view = open_view(context.new_page(), STATIC / "panel.js", STATIC / "panel.css", state)
    assert view.page.locator(".cmt-panel").get_attribute("lang") == language
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1100])
def test_chinese_fits(show, page, theme, width, artifacts):
    """And leaves pictures to look at."""
    page.set_viewport_size({"width": width, "height": 860})
    panel = show(theme=theme, state=CHINESE)
    open_drawer(panel, failed_past())
    panel.text("cmt-by-hand").click()
    panel.text("cmt-by-hand-form").wait_for()
    page.screenshot(path=artifacts / f"panel-zh-{theme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for cell in page.locator(".cmt-body .cmt-col-status").all():
        assert cell.evaluate("e => e.scrollWidth <= e.clientWidth")
