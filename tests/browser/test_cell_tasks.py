"""Cells as tasks as their reader lives them: JupyterLab, the cards under the cells, their buttons."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "cell_tasks.ipynb"
CELLS = [
    "%load_ext chongming_task",
    "%%task --name endless --out endless\nn = 0\nwhile True:\n    n += 1",
    """import ipywidgets, traitlets
from chongming_task.notebook.task_model import TaskModel
model, text = TaskModel(endless), ipywidgets.Label()
link = traitlets.dlink((model, "status"), (text, "value"), lambda status: f"it is {status}")
text""",
    "%%task --name wrong\n# two lines above\n1 / 0",
    "%tasks",
]


def test_a_cell_is_steered_by_the_card_under_it(lab, page, tmp_path, artifacts):
    """Pause, resume, stop; a linked widget says the same, and the notebook has none of its names."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, tmp_path / "cells.ipynb")
    notebook = lab.open(page, tmp_path / "cells.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    card = notebook.cells.nth(1).get_by_test_id("cmt-card")
    label = notebook.cells.nth(2).locator(".widget-label")
    expect(card).to_contain_text("running", timeout=20_000)
    for verb, status in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        card.get_by_test_id(f"cmt-act-{verb}").click()
        expect(card).to_contain_text(status, timeout=20_000)
        expect(label).to_have_text(f"it is {status}")
    assert notebook.kernel_eval("'n' in globals()") is False
    expect(notebook.cells.nth(3).get_by_test_id("cmt-card")).to_contain_text("ZeroDivisionError: division by zero")
    rows = notebook.cells.nth(4).get_by_test_id("cmt-row")
    expect(rows.filter(has_text="endless")).to_contain_text("stopped")
    expect(rows.filter(has_text="wrong")).to_contain_text("failed")
    notebook.screenshot(artifacts / "cell-tasks.png")
    notebook.close()


def test_the_notebook_runs_in_a_browser(lab, page, artifacts):
    """Every card ends as the text says, the bar is full, the panel and the form are there."""
    notebook = lab.open(page, NOTEBOOK)
    notebook.run_all()
    assert notebook.errors() == []
    cards = page.get_by_test_id("cmt-card")
    expect(cards).to_have_count(4)
    for number, word in enumerate(("done", "stopped", "failed", "done")):
        cards.nth(number).scroll_into_view_if_needed()
        expect(cards.nth(number)).to_contain_text(word)
    expect(page.locator(".widget-label", has_text="parsing: succeeded")).to_have_count(1)
    form = page.locator(".cmt-launcher")
    form.scroll_into_view_if_needed()
    expect(form.get_by_label("at_least")).to_have_value("1000")
    notebook.screenshot(artifacts / "cell-tasks-notebook.png")
    notebook.close()
