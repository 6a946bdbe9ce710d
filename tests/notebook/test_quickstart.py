"""The quickstart notebook, run top to bottom in a real kernel: every cell shows what the text around it promises."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tests.support.notebooks import NOTEBOOKS

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(120)]

NOTEBOOK = NOTEBOOKS / "quickstart.ipynb"
SECONDS = 50
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"

# Runs after the last cell, in the same kernel: what the cells left behind, as JSON.
PROBE = """
import json
print(json.dumps({
    "packages": {name: len(files) for name, files in packages.items()},
    "results": [handle.result(timeout=0) for handle in handles],
    "table": table.to_dict("records"),
    "counting": [[a.attempt, a.status, a.failure and a.failure.exception_type] for a in counting.attempts],
    "survey": [survey.status, survey.running, [[t.to_status, t.trigger] for t in survey.transitions]],
    "failure": [failing.status, failing.failure.exception_type, failing.failure.message, len(failing.attempts)],
    "dtypes": {name: str(dtype) for name, dtype in history.dtypes.items()},
    "status_order": history["status"].cat.ordered,
    "rows": len(history),
    "durations": history["duration"].dt.total_seconds().dropna().tolist(),
    "keeper": keeper.wait_for("running", timeout=20),
}))
"""


def test_it_takes_less_than_a_minute(ran):
    """And no cell failed or wrote to stderr."""
    assert ran.seconds < 60
    ran.went_well()


def test_every_package_was_measured(ran, left):
    """Each result is one package of this Python's library, and agrees with a count done here."""
    assert ran.text("library = Path(os.__file__)") == repr(
        f"{sum(left['packages'].values())} files in {len(left['packages'])} packages"
    )
    assert {r["package"]: r["files"] for r in left["results"]} == left["packages"]
    assert [row["package"] for row in left["table"]] == list(left["packages"])
    measured = {r["package"]: r for r in left["results"]}["asyncio"]
    sources = [path.read_text(encoding="utf-8") for path in (Path(os.__file__).parent / "asyncio").rglob("*.py")]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    assert measured["lines"] == sum(source.count("\n") for source in sources)
    assert measured["classes"] == sum(isinstance(node, ast.ClassDef) for node in nodes)
    assert "lines per function" in ran.outputs("pd.DataFrame")[0].data["text/html"]


def test_the_retry_needed_more_than_one_attempt(ran, left):
    """Attempts failed while the file was missing, the last one read it."""
    shown = ast.literal_eval(ran.text("counting.result"))
    assert shown == {"names": sum(left["packages"].values()), "attempt": len(left["counting"])}
    *failed, last = left["counting"]
    assert failed
    assert {(status, error) for _, status, error in failed} == {("failed", "builtins.FileNotFoundError")}
    assert last == [len(failed) + 1, "succeeded", None]
    assert ast.literal_eval(ran.text("for attempt in counting.attempts")) == [tuple(each) for each in left["counting"]]


def test_the_pause_held_and_the_stop_was_confirmed(ran, left):
    """In the printed words, in the kernel and in the audit trail: paused, gone on, stopped, and no thread left."""
    assert ran.text("survey.pause") == "held: True | paused"
    progress, status = ran.text("survey.resume()").splitlines()
    done, total = (int(word) for word in progress.split()[0:3:2])
    assert 0 <= done < total == 3 * sum(left["packages"].values())
    assert progress.endswith("files, and it stays there")
    assert status == "running"
    assert ran.text("survey.stop") == "stopped: True | stopped"
    final, running, trail = left["survey"]
    assert (final, running) == ("stopped", False)
    statuses = [to for to, _ in trail]
    assert statuses[statuses.index("pausing") :] == ["pausing", "paused", "running", "stopping", "stopped"]
    assert {"user:pause", "user:resume", "user:stop"} <= {trigger for _, trigger in trail}


def test_the_broken_file_failed_with_a_syntax_error(ran, left):
    """Once; and it can be tried again."""
    status, exception, message, attempts = left["failure"]
    assert (status, exception, attempts) == ("failed", "builtins.SyntaxError", 1)
    assert ran.text('name="measure a broken file"') == f"failed | {message}"
    assert ran.text("can retry:") == "can retry: True"


def test_the_history_has_proper_dtypes(ran, left):
    """An ordered status, UTC times, spans, nullable integers; no column of objects; a row for every task."""
    dtypes = left["dtypes"]
    assert dtypes["status"] == "category"
    assert left["status_order"] is True
    assert {dtypes[name] for name in ("created_at", "started_at", "ended_at")} == {"datetime64[us, UTC]"}
    assert dtypes["duration"] == "timedelta64[us]"
    assert dtypes["attempt"] == "Int64"
    assert "object" not in dtypes.values()
    assert left["rows"] == len(left["packages"]) + 4  # the index twice, the survey, the broken file
    assert len(left["durations"]) == left["rows"]
    assert min(left["durations"]) >= 0
    counts = ran.text('history["status"].value_counts()').splitlines()
    shown = dict(line.split() for line in counts if len(line.split()) == 2)
    assert shown == {"succeeded": str(left["rows"] - 2), "failed": "1", "stopped": "1"}


def test_the_panel_is_shown_with_tables_for_front_ends_without_widgets(ran):
    """Beside the widget; and the widget's saved state knows the rows, the last one running."""
    (shown,) = ran.outputs("controller.panel()")
    assert set(shown.data) == {WIDGET_VIEW, "text/plain", "text/html"}
    assert shown.data["text/plain"].startswith("quickstart: ")
    assert shown.data["text/html"].startswith("<div><p><b>quickstart: ")
    states = ran.notebook.metadata["widgets"][WIDGET_STATE]["state"]
    assert "saved" in states[shown.data[WIDGET_VIEW]["model_id"]]["state"]


def test_the_last_task_is_left_running(left):
    """For the reader to steer."""
    assert left["keeper"] == "running"
