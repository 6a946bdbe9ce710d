"""axe-core looks at the panel: no serious fault, whatever is open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.drawer import failed_past
from tests.browser.test_drawer import open_drawer
from tests.browser.test_menu import open_menu
from tests.browser.test_panel_view import Panel, show

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => (await axe.run('#view', { resultTypes: ['violations'] })).violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.failureSummary)])"""
__all__ = ["show"]  # the fixture


def faults(panel: Panel) -> list[Any]:
    """What axe finds that is serious or worse."""
    if panel.page.evaluate("typeof axe") == "undefined":
        panel.page.add_script_tag(content=AXE.read_text())
    found: list[Any] = panel.page.evaluate(RUN)
    return found


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(show, theme):
    """The table, a selection with a question, each page of the drawer, the form in it, and the menu."""
    panel = show(theme=theme)
    panel.row("warm up").wait_for()
    assert faults(panel) == []
    panel.row("parse json/").get_by_role("checkbox").check()
    panel.row("parse http/").get_by_role("checkbox").check()
    panel.text("cmt-bulk-stop").click()
    panel.text("cmt-question").wait_for()
    assert faults(panel) == []
    panel.text("cmt-keep").click()
    open_drawer(panel, failed_past())
    for tab in ("attempts", "history", "output", "error", "overview"):
        panel.text(f"cmt-tab-{tab}").click()
        panel.text(f"cmt-page-{tab}").wait_for()
        assert faults(panel) == [], tab
    panel.text("cmt-by-hand").click()
    panel.text("cmt-by-hand-form").wait_for()
    assert faults(panel) == []
    open_menu(panel, "parse json/")
    assert faults(panel) == []
