"""The notebook on the history, run top to bottom in a real kernel: every question has its answer."""

from __future__ import annotations

import pytest

from tests.support.notebooks import NOTEBOOKS

pytestmark = [pytest.mark.notebook, pytest.mark.plot, pytest.mark.slow, pytest.mark.timeout(120)]

NOTEBOOK = NOTEBOOKS / "history.ipynb"

# Runs after the last cell, in the same kernel: what the cells left behind, as JSON.
PROBE = """
import json
print(json.dumps({
    "statuses": tasks["status"].value_counts()[lambda counts: counts > 0].to_dict(),
    "failed": failed[["node", "exception_type"]].drop_duplicates().values.tolist(),
    "again": int((again["attempt"] > 1).sum()),
    "attempts": int(tasks["attempt"].sum()),
    "hung_up": len(hung_up),
    "at_once": int(at_once.max()),
    "ends": ends[["node", "to_status", "actor"]].astype(str).values.tolist(),
    "path": nodes.loc[path, "node"].tolist(),
    "half": int(len(then)),
    "rows": len(tasks),
    "slowest": slow["node"].tolist()[0],
    "parquet": len(pd.read_parquet("sizes.parquet")),
}))
"""


def test_no_cell_fails(ran):
    """A warning about this machine's SQLite library is no failure."""
    outputs = [output for cell in ran.code_cells for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    told = [output.text for output in outputs if output.get("name") == "stderr"]
    assert all("can corrupt" in text for text in told), told


def test_ten_questions_are_asked_and_every_cell_answers(ran):
    """Each heading with a number is followed by code that shows something."""
    questions = [
        cell.source for cell in ran.notebook.cells if cell.cell_type == "markdown" and cell.source.startswith("## ")
    ]
    numbered = [question for question in questions if question[3].isdigit()]
    assert len(numbered) == 10
    first = next(number for number, cell in enumerate(ran.notebook.cells) if cell.source == numbered[0])
    silent = [cell.source for cell in ran.notebook.cells[first:] if cell.cell_type == "code" and not cell.outputs]
    assert silent == []
    pictures = [o for cell in ran.code_cells for o in cell.outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 3


def test_the_answers_are_right(left):
    """They agree with what the run was made to do."""
    assert left["statuses"] == {"succeeded": left["rows"] - 4, "failed": 1, "stopped": 1, "cancelled": 1, "skipped": 1}
    assert [kind for _, kind in left["failed"]] == ["builtins.ValueError"]
    assert left["again"] == left["hung_up"] + 1  # those that hung up once, and the one that always fails
    assert 1 < left["at_once"] <= 6
    ends = {(node, status): actor for node, status, actor in left["ends"]}
    assert ends["watch", "stopping"] == "user"
    assert ends["warn", "skipped"] == "engine"
    assert left["path"][-2:] == ["fetch", "total"]
    assert left["path"][0].startswith("fetch[")
    assert left["half"] == left["rows"] == left["parquet"]
    assert left["slowest"] == "watch"
