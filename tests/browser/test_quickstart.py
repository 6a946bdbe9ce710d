"""The quickstart as its reader lives it: JupyterLab, run all, then the buttons of the panel.

After every click both sides are asked: what the row shows, and what the kernel knows of the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

QUICKSTART = Path(__file__).parents[2] / "notebooks" / "quickstart.ipynb"
KEEPER, BROKEN = "look after the folder", "measure a broken file"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
PATIENCE_SECONDS = 30  # only a machine in trouble needs so long
SAVED_BYTES = 400_000  # the code of two kinds of view, a panel and a card, and a small table
WAIT_CELL = "import threading\ngate = threading.Event()\nopened = gate.wait(%d)"
WAIT_SECONDS = 8  # how long that cell blocks a kernel that hears nothing meanwhile
SAVED_CELL = """
shown, renewed = Out[3], threading.Event()
def look(change=None):
    counts = shown.saved["counts"]
    if counts.get("stopped") == 2 and "failed" not in counts:
        renewed.set()
shown.observe(look, "saved")
look()
renewed.wait(30)
"""

expect.set_options(timeout=PATIENCE_SECONDS * 1000)


class Journey:
    """The notebook in the browser, and its panel."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.page: Page = notebook.page
        self.panel = self.page.get_by_test_id("cmt-panel")

    def row(self, name: str) -> Locator:
        """The row of a task."""
        named = self.page.locator(".cmt-name").get_by_text(name, exact=True)
        return self.panel.get_by_test_id("cmt-row").filter(has=named)

    def click(self, name: str, verb: str) -> None:
        """Presses a button of a row."""
        self.row(name).get_by_test_id(f"cmt-act-{verb}").click(timeout=PATIENCE_SECONDS * 1000)

    def shows(self, name: str, status: str, word: str) -> None:
        """Waits until the row shows that status, as a word too."""
        expect(self.row(name)).to_have_attribute("data-status", status)
        expect(self.row(name).locator(".cmt-col-status")).to_have_text(word)

    def knows(self, handle: str, status: str) -> None:
        """The kernel's own state of the task is that one. The panel has shown it, so it is not waited for."""
        assert self.notebook.kernel_eval(f"{handle}.status") == status

    def trail(self, handle: str) -> list[list[str]]:
        """Status and actor of every transition, oldest first."""
        return self.notebook.kernel_eval(f"[[t.to_status, t.actor] for t in {handle}.transitions]")

    def add_cell(self, source: str) -> Locator:
        """Writes a cell below the last one and runs it, by keyboard."""
        count = self.page.locator(".jp-Notebook .jp-Cell").count()
        self.notebook.cells.last.locator(".jp-InputPrompt").click()
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("b")
        expect(self.page.locator(".jp-Notebook .jp-Cell")).to_have_count(count + 1)
        self.page.keyboard.press("Enter")
        expect(self.notebook.cells.last.locator(".cm-content")).to_be_focused()
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")
        return self.notebook.cells.last.locator(".jp-InputPrompt")

    def use_theme(self, theme: str) -> None:
        """Through the settings menu."""
        self.page.locator(".lm-MenuBar-item", has_text="Settings").first.click()
        self.page.locator(".lm-Menu-item", has_text="Theme").first.click()
        self.page.locator(
            ".lm-Menu [data-command='apputils:change-theme']", has_text=f"JupyterLab {theme}"
        ).first.click()
        expect(self.page.locator("body")).to_have_attribute("data-jp-theme-name", f"JupyterLab {theme}")

    def save_widget_states(self) -> None:
        """Has JupyterLab put the state of widgets into the file, which it does only when told to."""
        self.page.locator(".lm-MenuBar-item", has_text="Settings").first.click()
        self.page.locator(".lm-Menu [data-command='@jupyter-widgets/jupyterlab-manager:saveWidgetState']").click()

    def picture(self, path: Path, width: int) -> None:
        """The panel at that width, whole."""
        size = self.page.viewport_size
        assert size is not None
        now = self.panel.bounding_box()
        assert now is not None
        self.page.set_viewport_size({"width": round(size["width"] + width - now["width"]), "height": 900})
        self.page.wait_for_function(
            "width => Math.abs(document.querySelector('[data-testid=cmt-panel]').offsetWidth - width) <= 1", arg=width
        )
        self.page.mouse.move(0, 0)
        self.panel.scroll_into_view_if_needed()
        self.panel.screenshot(path=path, animations="disabled")


@pytest.fixture
def journey(lab: Lab, page: Page) -> Iterator[Journey]:
    """The quickstart, run from top to bottom."""
    notebook = lab.open(page, QUICKSTART)
    yield Journey(notebook)
    notebook.close()


def test_the_quickstart_and_its_buttons(journey: Journey, artifacts: Path) -> None:
    """Run all; pause, resume and stop a task, also while a cell runs; retry another; save."""
    notebook = journey.notebook
    notebook.run_all()
    assert notebook.errors() == []
    journey.panel.scroll_into_view_if_needed()
    expect(journey.panel).to_have_attribute("data-life", "live")
    journey.shows(KEEPER, "running", "running")
    journey.shows(BROKEN, "failed", "failed")
    expect(journey.row(BROKEN)).to_contain_text("SyntaxError: invalid syntax")

    journey.click(KEEPER, "pause")
    journey.shows(KEEPER, "paused", "paused")
    journey.knows("keeper", "paused")
    for theme in ("Light", "Dark"):
        journey.use_theme(theme)
        for width in (1100, 700):
            journey.picture(artifacts / f"quickstart-{theme.lower()}-{width}.png", width)

    journey.click(KEEPER, "resume")
    journey.shows(KEEPER, "running", "running")
    journey.knows("keeper", "running")

    prompt = journey.add_cell(WAIT_CELL % WAIT_SECONDS)
    expect(prompt).to_contain_text("[*]")
    journey.click(KEEPER, "pause")
    if notebook.kernel.subshell is None:  # ipykernel 6: the click is heard after the cell
        expect(journey.row(KEEPER)).to_contain_text("waiting for the kernel")
        journey.shows(KEEPER, "paused", "paused")
    else:
        journey.shows(KEEPER, "paused", "paused")
        journey.knows("keeper", "paused")
        assert notebook.kernel_eval("'opened' in globals()") is False  # the cell still runs
        notebook.kernel.run("gate.set()")
    expect(prompt).not_to_contain_text("[*]")
    assert notebook.kernel_eval("opened") is (notebook.kernel.subshell is not None)

    journey.click(KEEPER, "stop")
    journey.shows(KEEPER, "stopped", "stopped")
    journey.knows("keeper", "stopped")
    assert notebook.kernel_eval("keeper.running") is False

    journey.click(BROKEN, "retry")
    journey.shows(BROKEN, "succeeded", "done")
    journey.knows("failing", "succeeded")
    assert notebook.kernel_eval("failing.result(timeout=0)")["functions"] == 1
    assert notebook.kernel_eval("[[a.attempt, a.status] for a in failing.attempts]") == [
        [1, "failed"],
        [2, "succeeded"],
    ]

    clicks = [(to, actor) for to, actor in journey.trail("keeper") if to in ("pausing", "running", "stopping")]
    assert clicks[1:] == [
        ("pausing", "user:panel"),
        ("running", "user:panel"),
        ("pausing", "user:panel"),
        ("stopping", "user:panel"),
    ]
    assert ["queued", "user:panel"] in journey.trail("failing")

    # The saved table follows a few seconds later; once this cell has ended the browser has it.
    prompt = journey.add_cell(SAVED_CELL.strip())
    expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))
    assert notebook.kernel_eval("renewed.is_set()") is True
    journey.save_widget_states()
    book = notebook.save()
    assert notebook.file.stat().st_size < SAVED_BYTES
    rows = saved_rows(book)
    assert len(rows) == notebook.kernel_eval("len(controller.list_tasks())")
    assert (rows[KEEPER], rows[BROKEN], rows["survey everything"]) == ("stopped", "succeeded", "stopped")
    assert notebook.errors() == []


def saved_rows(book: dict[str, Any]) -> dict[str, str]:
    """The status of each task by name, from the state of the panel in a notebook's file."""
    states = [each["state"] for each in book["metadata"]["widgets"][WIDGET_STATE]["state"].values()]
    (table,) = [state["saved"] for state in states if state.get("_anywidget_id", "").endswith(".Panel")]
    rows = {}
    for block in table["blocks"]:
        columns = block["cols"]
        for name, situation in zip(columns["name"], columns["situation"], strict=True):
            rows[name] = table["situations"][situation]["status"]
    return rows
