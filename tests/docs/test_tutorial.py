"""A page that is one notebook can be followed to its end: see `tests/support/page_blocks.py`."""

from __future__ import annotations

import nbformat
import pytest

from tests.support.notebooks import Ran
from tests.support.page_blocks import ROOT, blocks_of, files_among, page_says, pages

PAGES = [page for page in pages() if page_says(page, "one notebook")]


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_it_can_be_followed_by_copy_and_paste(page, tmp_path, monkeypatch):
    """Into the cells of a notebook in an empty folder, from top to bottom."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:the SQLite library:UserWarning")  # the page tells of it
    cells = files_among([block for block in blocks_of(page) if block.runs and block.language == "python"], tmp_path)
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.code) for cell in cells])
    nbformat.write(made, tmp_path / "page.ipynb")
    Ran(tmp_path / "page.ipynb", tmp_path, probe="print('{}')").went_well()


def test_there_is_one():
    """The tutorial: a test that looks at nothing proves nothing."""
    assert ROOT / "docs" / "tutorial.md" in PAGES
