"""The Dask notebook, run top to bottom in a real kernel: every cell shows what the text around it promises."""

from __future__ import annotations

import ast

import pytest

from chongming_task.core.results import MARK
from tests.support.notebooks import NOTEBOOKS

pytestmark = [pytest.mark.dask, pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

NOTEBOOK = NOTEBOOKS / "dask.ipynb"

# Runs after the last cell, in the same kernel: what the cells left behind, as JSON.
PROBE = """
import json, threading
print(json.dumps({
    "here": os.getpid(),
    "found": found,
    "attempts": [[each.status.value, str(each.failure and each.failure.kind)] for each in handle.attempts],
    "outcomes": [each.snapshot.outcome for each in run.tasks("simulate")],
    "threads": [each.name for each in threading.enumerate() if each.name.startswith("chongming-dask")],
}))
"""


def test_every_cell_runs(ran):
    """In less than a minute; on stderr there is only what Dask says of the worker that is killed."""
    assert ran.seconds < 60
    outputs = [output for cell in ran.code_cells for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    said = "".join(output.text for output in outputs if output.get("name") == "stderr")
    assert [line for line in said.splitlines() if " - distributed." not in line] == []


def test_the_task_ran_in_a_worker(ran, left):
    """What it printed came to its record."""
    place, there = left["found"]["place"], left["found"]["process"]
    assert there != left["here"]
    assert ran.text("first = controller") == f"there: {there} | here: {left['here']} | arrived at {place}"


def test_it_was_held_and_stopped(ran):
    """As confirmed by the worker."""
    assert ran.text("long.pause(") == "held: True | paused"
    assert ran.text("long.stop(") == "stopped: True | stopped | stopped at a checkpoint"


def test_arrays_stayed_on_the_workers(ran, left):
    """The record says what they are; one was fetched."""
    assert ran.text('pipeline = Pipeline("draws")') == "succeeded {'values': 1000000, 'spread': 0.25}"
    pointer = ast.literal_eval(ran.text('run.handle("fold").snapshot'))
    assert (pointer[MARK], pointer["bytes"], pointer["shape"]) == ("dask", 8_000_000, [1_000_000])
    assert {each["bytes"] for each in left["outcomes"]} == {8_000_000}
    assert len(left["outcomes"]) == 16
    assert len(ast.literal_eval(ran.text('run.result("fold")[:3]'))) == 3


def test_the_killed_worker_cost_one_attempt(ran, left):
    """Each is in the audit, and none is there that nobody asked for."""
    assert left["attempts"] == [["failed", "nonzero_exit"], ["succeeded", "None"]]
    told = [line for line in ran.text("def fragile").splitlines() if " - distributed." not in line]
    assert told[0] == "attempt 2 succeeded"
    assert told[1].startswith("1 failed the process of the Dask worker tcp://")
    assert told[2:] == ["2 succeeded"]


def test_the_lost_task_names_its_worker(ran):
    """And is not shown as stopped."""
    stopped, why = ran.text("def deaf").splitlines()
    assert stopped == "stopped: False | lost"
    assert why.startswith("the worker tcp://127.0.0.1:")
    assert "may still be running" in why


def test_nothing_is_left(ran, left):
    """No thread of the executor, and the controller says that it is closed."""
    assert left["threads"] == []
    assert "closed" in ran.text("controller.close()")
