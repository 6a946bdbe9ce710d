"""The JupyterLab harness: a notebook with an anywidget counter, run and clicked as a person would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.browser.lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

COUNTER = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      const button = document.createElement("button");
      button.dataset.testid = "count";
      const show = () => { button.textContent = `count ${model.get("count")}`; };
      button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
      model.on("change:count", show);
      show();
      el.append(button);
    } };
    """
    count = traitlets.Int(3).tag(sync=True)

counter = Counter()
counter
'''
WAIT = """
import threading
go = threading.Event()
waited = go.wait(30)
"""


@pytest.fixture
def notebook(lab: Lab, page, tmp_path: Path) -> Iterator[Notebook]:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in (COUNTER, WAIT)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = tmp_path / "counter.ipynb"
    nbformat.write(book, path)
    opened = lab.open(page, path)
    yield opened
    opened.close()


def test_a_widget_is_clicked_and_the_kernel_knows(notebook, artifacts):
    """Run all, ask the kernel while a cell runs, click, save: every part of the harness in one round trip."""
    notebook.run_all(wait=False)
    notebook.wait_running(1)
    button = notebook.page.get_by_test_id("count")
    button.wait_for()
    assert notebook.kernel_eval("counter.count") == 3  # the last cell still runs
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    assert notebook.kernel_eval("waited") is True
    button.click()
    notebook.page.get_by_text("count 4").wait_for()
    notebook.kernel.run("counter.count += 10")
    notebook.page.get_by_text("14").wait_for()
    notebook.screenshot(artifacts / "lab-counter.png")
    assert notebook.save()["cells"][0]["execution_count"] == 1
    assert notebook.errors() == []


def test_a_restarted_kernel_has_forgotten(notebook):
    """Restarting through the menu gives a new process; the line to the kernel follows."""
    notebook.kernel.run("kept = 1")
    notebook.restart_kernel()
    assert notebook.kernel_eval("'kept' in globals()") is False
