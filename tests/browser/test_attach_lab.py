"""The panel of another process's tasks in a real JupyterLab: clicks reach that process, and its death is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, Notebook
from tests.support.forge import Forge, Forged, forge

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

SCRIPT = Path(__file__).parents[1] / "integration" / "attach_workers.py"
PATIENCE_MS = 20_000


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Forged]:
    """A process whose tasks run."""
    with forge(SCRIPT) as made:
        yield _served(made, tmp_path / "runs.db")


def _served(made: Forge, path: Path) -> Forged:
    worker = made.start("serve", path)
    assert worker.readline() == "ready"
    for _ in range(2):
        worker.tell("spin")
        assert worker.readline()
    return worker


@pytest.fixture
def notebook(lab: Lab, page: Page, tmp_path: Path, worker: Forged) -> Iterator[Notebook]:
    """A notebook whose cell ends with what is attached."""
    source = (
        f"import warnings\nfrom chongming_task import Controller\nwarnings.simplefilter('ignore')\n"
        f"attached = Controller.attach({str(tmp_path / 'runs.db')!r})\nattached"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = tmp_path / "attach.ipynb"
    nbformat.write(book, path)
    opened = lab.open(page, path)
    yield opened
    opened.close()


def test_another_process_is_steered_and_its_death_is_seen(notebook, worker, artifacts):
    """Pause, then kill -9: what ran is lost, and a retry says that nobody is there."""
    page = notebook.page
    notebook.run_all()
    panel = page.get_by_test_id("cmt-panel")
    expect(panel).to_have_attribute("data-life", "live", timeout=PATIENCE_MS)
    rows = panel.get_by_test_id("cmt-row")
    expect(rows).to_have_count(2)
    first = rows.first
    first.get_by_test_id("cmt-act-pause").click()
    expect(panel.locator('[data-testid="cmt-row"][data-status="paused"]')).to_have_count(1, timeout=PATIENCE_MS)
    assert notebook.kernel_eval("len(attached.list_tasks(status='paused'))") == 1
    worker.kill()
    lost = panel.locator('[data-testid="cmt-row"][data-status="lost"]')
    expect(lost).to_have_count(2, timeout=PATIENCE_MS)
    expect(lost.first).to_contain_text("is gone, and nobody has reconciled")
    page.screenshot(path=str(artifacts / "attach-lost.png"))
    lost.first.get_by_test_id("cmt-act-retry").click()
    expect(panel.get_by_test_id("cmt-notice")).to_contain_text("nobody watches it", timeout=PATIENCE_MS)
    expect(lost).to_have_count(2)
