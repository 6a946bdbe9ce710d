"""The built files of the views: they travel with every widget, so each stays small."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from chongming_task.notebook.view import STATIC

MOST_BYTES = 60_000


@pytest.mark.parametrize("file", sorted(STATIC.glob("*.js")), ids=lambda file: file.stem)
def test_a_view_is_small_and_stands_alone(file: Path):
    """At most 60 kB compressed; nothing is imported or fetched; beside it lies its style sheet."""
    text = file.read_bytes()
    assert len(gzip.compress(text)) <= MOST_BYTES
    assert b"https://" not in text
    assert b"import(" not in text
    assert file.with_suffix(".css").exists()
