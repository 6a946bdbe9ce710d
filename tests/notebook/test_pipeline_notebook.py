"""The pipeline notebook, run top to bottom in a real kernel: every cell shows what the text around it promises."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tests.support.notebooks import NOTEBOOKS

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(120)]

NOTEBOOK = NOTEBOOKS / "pipeline.ipynb"

# Runs after the last cell, in the same kernel: what the cells left behind, as JSON.
PROBE = """
import json
print(json.dumps({
    "found": run.result("find"),
    "measured": run.result("measure"),
    "totals": run.result("add up"),
    "gaps": run.result("gaps"),
    "attempts": {each.node: each.attempt for each in run.snapshots()},
    "statuses": sorted({str(each.status) for each in run.snapshots()}),
    "triggers": sorted({t.trigger for each in run.tasks("measure") for t in each.transitions}),
    "rows": len(frame),
    "remembered": len(history),
    "order": frame["status"].cat.ordered,
}))
"""


def test_it_takes_less_than_a_minute(ran):
    """And no cell failed or wrote to stderr."""
    assert ran.seconds < 60
    ran.went_well()


def test_the_graph_is_drawn_twice(ran, left):
    """As it was declared, and in the colours of the failed run."""
    declared, failed = ran.text("pipeline.to_mermaid()"), ran.text("to_mermaid(run)")
    assert declared.startswith("```mermaid\nflowchart LR\n")
    assert 'n1[["measure"]]' in declared
    assert "n1 -. when .-> n3" in declared
    assert 'n0["find<br/>succeeded"]:::succeeded' in failed
    assert 'n4["report<br/>cancelled"]:::cancelled' in failed


def test_the_pause_held_the_whole_run(ran, left):
    """Nothing ran, and most of the work was still to do."""
    assert ran.text("find', timeout") == repr(f"{len(left['found'])} packages to measure")
    said = ran.text("run.pause()")
    assert said.startswith("held: True | paused: ")
    assert "running" not in said
    assert {"user:pause", "user:resume"} <= set(left["triggers"])


def test_the_failure_is_named_with_what_it_blocked(ran, left):
    """The package without functions, and the steps behind it; the traceback shows the line to mend."""
    assert ran.text("run.wait(timeout=120)") == "'failed'"
    empty = [number for number, each in enumerate(left["measured"]) if each["functions"] + each["classes"] == 0]
    assert len(empty) == 1
    (told,) = [cell.outputs[0].text for cell in ran.notebook.cells if cell.source == "print(run.summary())"]
    assert f"1 failed; first failure: measure[{empty[0]}] → measure → add up → report: division by zero" in told
    where = ran.text("pairs =")
    assert where.startswith(f"{left['found'][empty[0]]['package']} [")
    assert "return round(part / whole, 3)" in where


def test_only_what_had_no_result_runs_again(ran, left):
    """The failed task a second time, the steps behind it for the first; the others keep what they have."""
    (again,) = [name for name, attempt in left["attempts"].items() if attempt > 1]
    assert set(ast.literal_eval(ran.text("run.retry_failed()"))) == {"measure", "add up", "gaps", "report", again}
    assert left["attempts"][again] == 2
    assert again.startswith("measure[")
    assert left["statuses"] == ["succeeded"]


def test_the_report_agrees_with_a_count_done_here(ran, left):
    """Totals are sums of the parts, and one package is counted anew."""
    shown = ran.text('run.result("report")')
    totals = left["totals"]
    assert shown.startswith(f"succeeded\n**{totals['packages']} packages, {totals['functions']:,} functions")
    assert totals["lines"] == sum(each["lines"] for each in left["measured"])
    measured = {each["package"]: each for each in left["measured"]}["json"]
    sources = [path.read_text(encoding="utf-8") for path in (Path(os.__file__).parent / "json").rglob("*.py")]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    assert measured["classes"] == sum(isinstance(node, ast.ClassDef) for node in nodes)
    assert measured["lines"] == sum(source.count("\n") for source in sources)
    assert [each["documented"] for each in left["gaps"]] == sorted(each["documented"] for each in left["gaps"])


def test_the_frames_have_a_row_for_every_record(ran, left):
    """The run's own, and what the controller remembers of it."""
    assert left["rows"] == left["remembered"] == len(left["attempts"]) == len(left["found"]) + 5
    assert left["order"] is True
    for source in ("pd.DataFrame(run.result", 'frame["attempt"] > 1', "groupby"):
        assert "<table" in ran.outputs(source)[0].data["text/html"]
