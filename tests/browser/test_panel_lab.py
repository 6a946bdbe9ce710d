"""The panel in a real JupyterLab: buttons while a cell runs, a deaf kernel, a reload, a saved file, a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

TASKS = """
import threading
from chongming_task import Controller, task

end, go = threading.Event(), threading.Event()

@task
def crunch(ctx, part):
    if part == 1:
        raise ValueError(f"bad header in part {part}")
    for done in range(10_000):
        ctx.progress(done, 10_000, "rows")
        print(f"row {done}")
        ctx.checkpoint()
        if end.wait(0.02):
            break

controller = Controller(name="nightly-etl", max_parallel=3)
handles = [controller.submit(crunch, args=(part,), name=f"part {part}") for part in range(8)]
panel = controller.panel()
panel
"""
WAIT = "go.wait(40)"
DEAF = """
import chongming_task.notebook.view as module
module.hear_clicks_while_a_cell_runs = lambda comm: None  # as on kernels without subshells
"""


def _open(lab: Lab, page: Page, folder: Path, *cells: str) -> Notebook:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "panel.ipynb"
    nbformat.write(book, path)
    return lab.open(page, path)


@pytest.fixture
def notebook(lab: Lab, page: Page, tmp_path: Path) -> Iterator[Notebook]:
    """A notebook that shows a panel in its first cell and waits in its second."""
    opened = _open(lab, page, tmp_path, TASKS, WAIT)
    yield opened
    opened.close()


def _status(notebook: Notebook, part: int) -> str:
    return notebook.kernel_eval(f"controller.get(handles[{part}].id).status.value")


def test_buttons_work_while_a_cell_runs(notebook, artifacts):
    """Pause, resume and stop of running tasks; and keys pressed in the table leave the notebook alone."""
    page = notebook.page
    notebook.run_all(wait=False)
    notebook.wait_running(1)
    expect(page.get_by_test_id("cmt-panel")).to_have_attribute("data-life", "live", timeout=20_000)
    row = page.get_by_test_id("cmt-row").filter(has_text="part 0")
    row.get_by_test_id("cmt-act-pause").click()
    expect(row).to_have_attribute("data-status", "paused")
    assert _status(notebook, 0) == "paused"
    row.get_by_test_id("cmt-act-resume").click()
    expect(row).to_have_attribute("data-status", "running")
    row.get_by_test_id("cmt-act-stop").click()
    expect(row).to_have_attribute("data-status", "stopped")
    assert _status(notebook, 0) == "stopped"
    row.focus()
    for key in "abdd":
        page.keyboard.press(key)
    assert notebook.cells.count() == 2
    notebook.screenshot(artifacts / "lab-panel.png")
    assert page.locator(".jp-InputPrompt", has_text="[*]").count() == 1  # the cell still runs
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    assert notebook.errors() == []


def test_a_drawer_tells_and_follows_while_a_cell_runs(notebook, artifacts):
    """The traceback of a failed task; the output of a running one as it is written; a status set by hand."""
    page = notebook.page
    notebook.run_all(wait=False)
    notebook.wait_running(1)
    expect(page.get_by_test_id("cmt-panel")).to_have_attribute("data-life", "live", timeout=20_000)
    failed = page.get_by_test_id("cmt-row").filter(has_text="part 1")
    failed.get_by_test_id("cmt-more").click()
    page.get_by_test_id("cmt-item-by-hand").click()
    page.get_by_test_id("cmt-tab-error").click()
    expect(page.get_by_test_id("cmt-trace")).to_contain_text("ValueError: bad header in part 1")
    notebook.screenshot(artifacts / "lab-drawer-error.png")
    page.get_by_test_id("cmt-tab-overview").click()
    page.get_by_test_id("cmt-by-hand-to").select_option("skipped")
    page.get_by_test_id("cmt-by-hand-reason").fill("known to be bad")
    page.keyboard.press("Enter")
    expect(failed).to_have_attribute("data-status", "skipped")
    page.get_by_test_id("cmt-tab-history").click()
    expect(page.get_by_test_id("cmt-page-history")).to_contain_text("known to be bad")
    page.get_by_test_id("cmt-row").filter(has_text="part 0").get_by_test_id("cmt-open").click()
    page.get_by_test_id("cmt-tab-output").click()
    newest = page.get_by_test_id("cmt-output").locator(".cmt-line").last
    known = newest.inner_text()
    assert known.startswith("row ")
    expect(newest).not_to_have_text(known, timeout=10_000)  # it follows
    expect(page.get_by_test_id("cmt-row").filter(has_text="part 7")).to_have_attribute("data-status", "queued")
    notebook.screenshot(artifacts / "lab-drawer-output.png")
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    assert notebook.errors() == []


def test_a_kernel_that_hears_nothing_while_a_cell_runs_still_shows_its_tasks(lab, page, tmp_path):
    """The panel says that it waits for the kernel, a click as well; both are made good when the cell ends."""
    notebook = _open(lab, page, tmp_path, DEAF + TASKS, WAIT)
    notebook.run_all(wait=False)
    notebook.wait_running(1)
    row = page.get_by_test_id("cmt-row").filter(has_text="part 1")
    expect(row).to_have_attribute("data-status", "failed", timeout=20_000)  # by the saved table
    click = page.get_by_test_id("cmt-row").filter(has_text="part 2")
    click.get_by_test_id("cmt-act-stop").click()
    if page.get_by_test_id("cmt-panel").get_attribute("data-life") == "connecting":
        expect(click).to_contain_text("waiting for the kernel")
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    expect(click).to_have_attribute("data-status", "stopped")
    expect(page.get_by_test_id("cmt-panel")).to_have_attribute("data-life", "live")
    notebook.close()


def test_a_reload_a_saved_file_and_a_restart(notebook, artifacts):
    """A reloaded page is live again; the file holds a plain table; after a restart the panel says what it knows."""
    page = notebook.page
    notebook.run_all(wait=False)
    page.get_by_test_id("cmt-row").first.wait_for(timeout=20_000)
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    output = notebook.save()["cells"][0]["outputs"][0]["data"]
    assert set(output) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "part 7" in "".join(output["text/plain"])
    assert notebook.file.stat().st_size < 20_000
    page.reload()
    expect(page.get_by_test_id("cmt-panel")).to_have_attribute("data-life", "live", timeout=40_000)
    notebook.kernel.run("end.set()")
    expect(page.get_by_test_id("cmt-summary")).to_contain_text("7/8 done")
    notebook.restart_kernel()
    expect(page.get_by_test_id("cmt-gone")).to_contain_text("Kernel gone: last known state")
    expect(page.get_by_test_id("cmt-summary")).to_have_text("7/8 done")
    notebook.screenshot(artifacts / "lab-panel-gone.png")
