"""What pages take from the code is as the code has it. Run `python -m tests.support.written_pages` when this fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from chongming_task.core.states import TRANSITIONS, TaskStatus
from tests.support.written_pages import DOCS, PARTS, PICTURES, pages, written


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_says_what_the_code_says(page):
    """Every table of it."""
    text = page.read_text(encoding="utf-8")
    assert text == written(text)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_shows_what_the_code_says(path):
    """Every line of it."""
    assert path.read_text(encoding="utf-8") == PICTURES[path]()


def test_every_part_is_on_a_page():
    """None is written for nothing."""
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [name for name in PARTS if f"<!-- from the code: {name} -->" not in text] == []


def test_a_row_that_is_missing_would_be_told():
    """The comparison sees it."""
    page = DOCS / "history.md"
    text = page.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines(keepends=True) if line.startswith("| `waited` |"))
    assert text.replace(line, "") != written(text.replace(line, ""))


def test_an_edge_that_is_missing_would_be_told(monkeypatch):
    """The table and the picture of the states follow the table of the code."""
    fewer = TRANSITIONS | {TaskStatus.PAUSED: frozenset({TaskStatus.QUEUED})}
    monkeypatch.setattr("tests.support.page_states.TRANSITIONS", fewer)
    assert PARTS["transitions"]() not in Path(DOCS / "states.md").read_text(encoding="utf-8")
    assert all(draw() != path.read_text(encoding="utf-8") for path, draw in PICTURES.items())
