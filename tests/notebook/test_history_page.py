"""The page on the history lists the columns that there are."""

from __future__ import annotations

from tests.support.history_page import PAGE, written


def test_the_page_lists_the_columns_of_the_code():
    """Run `python -m tests.support.history_page` when this fails."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)


def test_a_column_that_is_missing_would_be_told():
    """The comparison sees it."""
    page = PAGE.read_text(encoding="utf-8")
    line = next(line for line in page.splitlines(keepends=True) if line.startswith("| `waited` |"))
    assert page.replace(line, "") != written(page.replace(line, ""))
