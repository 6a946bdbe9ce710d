"""The notebook about cells as tasks, run top to bottom in a real kernel: every cell shows what the text promises."""

from __future__ import annotations

import pytest

from tests.support.notebooks import NOTEBOOKS

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

NOTEBOOK = NOTEBOOKS / "cell_tasks.ipynb"
SECONDS = 150

# Runs after the last cell, in the same kernel: what the cells left behind, as JSON.
PROBE = """
import json, threading
told = threading.Event()
model.observe(lambda change: told.set(), "status")
model.ended or told.wait(20)
print(json.dumps({
    "status": [handle.status for handle in (counting, endless, failing, parsing)],
    "files": len(files),
    "progress": [counting.progress.done, counting.progress.total, counting.progress.unit],
    "model": [model.status, model.progress, bar.value, text.value],
    "common": common,
    "names": [name for name in ("turns", "lengths", "ctx") if name in globals()],
}))
"""


def test_it_takes_less_than_a_minute(ran):
    """And no cell failed or wrote to stderr."""
    assert ran.seconds < 60
    ran.went_well()


def test_a_cell_gives_the_notebook_its_names_and_its_result(ran, left):
    """It saw what was there when it was submitted; its output and its progress are its own."""
    assert left["status"] == ["succeeded", "stopped", "failed", "succeeded"]
    assert ran.text('words["return"]') == "(True, True)"
    assert left["common"]["return"] > 1000
    assert left["progress"] == [left["files"], left["files"], "files"]


def test_the_endless_cell_was_paused_and_stopped(ran, left):
    """And left nothing."""
    assert ran.text("endless.pause") == "(True, True, False)"
    assert left["names"] == []


def test_the_failing_cell_names_its_line(ran):
    """As one counts in the cell."""
    told = ran.text("failing.failure.traceback")
    assert "Measure the functions" in told
    assert 'File "<cell In[' in told
    assert 'line 8, in <module>\n    lengths["no such function"]' in told
    assert told.endswith("KeyError: 'no such function'\n\nFalse") or told.rstrip().endswith("False")


def test_widgets_followed_to_the_end(ran, left):
    """The linked ones, too."""
    assert ran.text("parsing.result") == "(True, True)"
    assert left["model"] == ["succeeded", 1.0, 1.0, "parsing: succeeded"]


def test_cards_panel_and_launcher_are_shown(ran):
    """Live where there are widgets, and as text elsewhere."""
    for source in ("counting\nwords", "%tasks\n", "Launcher(controller)"):
        (shown,) = [out for cell in ran.code_cells if source in f"{cell.source}\n" for out in cell.outputs]
        assert "application/vnd.jupyter.widget-view+json" in shown.data
    assert ran.text("Launcher(controller)") == "Launcher of notebook: find files"
