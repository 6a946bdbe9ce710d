"""Every example that people are shown runs as it is written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chongming_task

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def modules() -> list[str]:
    """Every module of the package that needs no extra."""
    names = [m.name for m in pkgutil.walk_packages(chongming_task.__path__, "chongming_task.")]
    return ["chongming_task", *(name for name in names if ".notebook" not in name and not name.endswith("__main__"))]


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", modules())
def test_docstring_examples_give_what_they_say(name):
    """Doctests of every public docstring."""
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0


def test_there_are_docstring_examples():
    """The search finds them: a test that looks at nothing proves nothing."""
    found = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in modules()]
    assert sum(bool(test.examples) for tests in found for test in tests) >= 10


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, number) for page in PAGES for number in range(len(blocks(page)))],
    ids=lambda value: value.name if isinstance(value, Path) else str(value),
)
def test_blocks_of_pages_run(page, number, tmp_path):
    """Each Python block of the README and of docs/ runs by itself, in an empty folder."""
    done = subprocess.run(
        [sys.executable, "-c", blocks(page)[number]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
