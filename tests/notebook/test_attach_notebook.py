"""The notebook about attaching, run top to bottom in a real kernel, with real processes beside it."""

from __future__ import annotations

import ast

import pytest

from tests.support.notebooks import NOTEBOOKS

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

NOTEBOOK = NOTEBOOKS / "attach.ipynb"

# Runs after the last cell, in the same kernel: what the cells left behind, as JSON.
PROBE = """
import json
print(json.dumps({
    "codes": [each.returncode for each in (first, second, third)],
    "lost": lost.failure.message,
    "refused": str(refused),
    "threads": [each.name for each in __import__("threading").enumerate() if each.name.startswith("chongming-a")],
}))
"""
VIEW = "application/vnd.jupyter.widget-view+json"


def test_it_takes_less_than_a_minute(ran):
    """And no cell failed; stderr has nothing but a warning of old SQLite libraries."""
    assert ran.seconds < 60
    outputs = [output for cell in ran.code_cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    told = [output.text for output in outputs if output.get("name") == "stderr"]
    assert all("SQLite library" in text for text in told), told


def test_the_last_line_is_the_panel(ran):
    """Live where there are widgets, a table elsewhere."""
    (shown,) = [each for each in ran.outputs('Controller.attach("runs.db"') if "data" in each]
    assert VIEW in shown.data
    assert "services: " in shown.data["text/plain"]
    assert "<td>load orders</td>" in shown.data["text/html"]


def test_the_questions_are_answered(ran):
    """As the processes left things."""
    statuses = ast.literal_eval(ran.text('wait_for("check prices"'))
    assert statuses["load orders"] == statuses["load prices"] == "running"
    assert statuses["check prices"] == "failed"
    assert ran.text("failed.failure.message").splitlines() == [
        "prices has no column 'id'",
        "['queued', 'starting', 'running', 'failed']",
    ]
    assert "<table" in ran.outputs("services.history")[0].data["text/html"]


def test_verbs_were_confirmed_by_the_other_process(ran):
    """Each of them."""
    told = ran.text("services.pause(")
    assert told.startswith("paused: True\nresumed: True\nstopped: True\n")
    assert "cannot retry 'load orders': it is running" in told


def test_the_killed_process_left_nothing_that_runs(ran, left):
    """What it ran is lost, and no verb was said to have gone through; its successor ran it again."""
    assert left["codes"][0] == -9
    assert left["codes"][1:] == [0, 0]
    assert "is gone, and nobody has reconciled this record yet" in left["lost"]
    assert "cannot retry 'load orders': nobody watches it" in left["refused"]
    said, _, statuses = ran.text("first.kill()").partition("{")
    assert said.splitlines() == [left["lost"], "NotWatched"]
    assert ast.literal_eval("{" + statuses)["load customers"] == "lost"
    again = ast.literal_eval(ran.text('start("--again")'))
    assert again["load orders"] == ("running", 2)
    assert again["load prices"] == ("stopped", 1)


def test_closed_it_says_so(ran, left):
    """And leaves no thread."""
    assert ran.text("services.close()") == "<Attached to services: closed>"
    assert left["threads"] == []
