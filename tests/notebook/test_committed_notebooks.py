"""The notebooks as they are committed: without anything of a run."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest

from tests.support.notebooks import NOTEBOOKS

COMMITTED = sorted(NOTEBOOKS.glob("*.ipynb"))


def test_all_of_them_are_looked_at():
    """A glob that finds nothing would prove nothing."""
    assert {"quickstart.ipynb", "pipeline.ipynb", "dask.ipynb"} < {path.name for path in COMMITTED}


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_it_has_no_outputs(path: Path):
    """And names a kernel that every installation has, no version of it, and nothing of a run."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in code] == [[] for _ in code]
    assert [cell.execution_count for cell in code] == [None for _ in code]
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook.metadata
    assert "version" not in notebook.metadata.get("language_info", {})
    assert sys.prefix not in path.read_text(encoding="utf-8")
