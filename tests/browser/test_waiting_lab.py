"""Buttons while a cell waits, in a real JupyterLab: on this environment's kernel, and on others by `make kernels`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook
from tests.kernels.environments import Kernel, chosen
from tests.kernels.lab_kernels import offer, use_subshells, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

TASKS = """
import os, time
from chongming_task import Controller, Pipeline, as_completed

def crunch(ctx):
    while True:
        ctx.sleep(0.01)

def run_of(name):
    pipeline = Pipeline(name)
    pipeline.add(crunch, name=name)
    return pipeline.submit(controller)

controller = Controller(name="nightly-etl", max_parallel=8)
plain, told, awaited, last = (controller.submit(crunch, name=name) for name in ("plain", "told", "awaited", "last"))
blocking, awaiting = run_of("blocking run"), run_of("awaited run")
controller.panel()
"""
# Each cell waits until the task of this name is stopped; all of them are run at once.
WAITS = {
    "blocking run": "print(blocking.wait())",
    "plain": "print(plain.wait())",
    "told": "try:\n    told.result()\nexcept Exception as error:\n    print(error)",
    "awaited run": "print(await awaiting)",
    "awaited": "print(await controller.aio.wait(awaited))",
    "last": "print([handle.status for handle in as_completed([last])])",
}
BUSY = """
while not os.path.exists("go"):
    time.sleep(0.05)
"""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where somebody works: a kernel of one kind, and a front end that uses its subshells or knows of none."""

    lab: Lab
    page: Page
    folder: Path
    kernel: Kernel
    subshells: bool

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.kernel.name}-{'subshells' if self.subshells else 'main-shell'}"

    def open(self, *cells: str) -> Notebook:
        """A notebook of these cells."""
        return self.lab.open(self.page, write_notebook(self.folder / "waits.ipynb", self.kernel, *cells))


@pytest.fixture(params=chosen(), ids=lambda kernel: kernel.name)
def kernel(request: pytest.FixtureRequest, lab: Lab) -> Kernel:
    """Each of the chosen ones, known to JupyterLab."""
    offer(lab, [request.param])
    return request.param


@pytest.fixture(params=[True, False], ids=["subshells", "main shell"])
def desk(request: pytest.FixtureRequest, lab: Lab, page: Page, tmp_path: Path, kernel: Kernel) -> Iterator[Desk]:
    """JupyterLab as it comes, and as front ends are that send everything to the main shell."""
    use_subshells(lab, request.param)
    yield Desk(lab, page, tmp_path, kernel, request.param)
    use_subshells(lab, True)


def _expect_prompt(notebook: Notebook, cell: int, text: str) -> None:
    expect(notebook.cells.nth(cell).locator(".jp-InputPrompt")).to_have_text(text, timeout=20_000)


def _run_cell(notebook: Notebook, cell: int) -> None:
    notebook.cells.nth(cell).locator(".jp-InputPrompt").click()
    notebook.page.keyboard.press("Control+Enter")


def _row(notebook: Notebook, task: str) -> Locator:
    """Its row in the panel, once the panel is in touch with the kernel."""
    panel = notebook.page.get_by_test_id("cmt-panel")
    expect(panel).to_have_attribute("data-life", "live", timeout=20_000)
    return panel.get_by_test_id("cmt-row").filter(has=notebook.page.get_by_text(task, exact=True))


def test_a_button_ends_the_wait_of_a_cell(desk, artifacts):
    """Whatever the cell waits by; the cells that were sent meanwhile run when their turn comes."""
    notebook = desk.open(TASKS, *WAITS.values())
    notebook.run_all(wait=False)
    for cell, task in enumerate(WAITS, start=1):
        _expect_prompt(notebook, cell - 1, f"[{cell}]:")
        row = _row(notebook, task)
        expect(row).to_have_attribute("data-status", "running")
        _expect_prompt(notebook, cell, "[*]:")
        row.get_by_test_id("cmt-act-stop").click()
        expect(row).to_have_attribute("data-status", "stopped")
        _expect_prompt(notebook, cell, f"[{cell + 1}]:")
    notebook.wait_idle()
    notebook.screenshot(artifacts / f"lab-waits-{desk.name}.png")
    assert notebook.errors() == []
    assert [notebook.output(cell).strip() for cell in (1, 2)] == ["stopped", "stopped"]
    notebook.close()


def test_a_page_that_is_reloaded_shows_the_panel_while_the_cell_waits(desk):
    """And its buttons work."""
    notebook = desk.open(TASKS, WAITS["plain"])
    notebook.run_all(wait=False)
    expect(_row(notebook, "plain")).to_have_attribute("data-status", "running")
    _expect_prompt(notebook, 0, "[1]:")
    notebook.save()
    notebook.page.reload()
    row = _row(notebook, "plain")
    row.get_by_test_id("cmt-act-stop").click()
    expect(row).to_have_attribute("data-status", "stopped")
    notebook.close()


def test_a_click_beside_a_cell_that_does_something_else(desk, artifacts):
    """A subshell hears it at once. Where there is one thread only the row says so, and it counts after the cell."""
    notebook = desk.open(TASKS, BUSY)
    _run_cell(notebook, 0)
    row = _row(notebook, "plain")
    expect(row).to_have_attribute("data-status", "running")
    _run_cell(notebook, 1)
    _expect_prompt(notebook, 1, "[*]:")
    row.get_by_test_id("cmt-act-stop").click()
    if not (desk.subshells and desk.kernel.has_subshells):
        expect(row).to_contain_text("waiting for the kernel")
        expect(row).to_have_attribute("data-status", "running")
        notebook.screenshot(artifacts / f"lab-click-waits-{desk.name}.png")
        notebook.file.with_name("go").touch()
    expect(row).to_have_attribute("data-status", "stopped")
    expect(row).not_to_contain_text("waiting for the kernel")
    notebook.file.with_name("go").touch()
    notebook.wait_idle()
    assert notebook.errors() == []
    notebook.close()
