"""Every example of a docstring gives what it says; those of pages are in tests/docs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import chongming_task


def modules() -> list[str]:
    """Every module of the package."""
    names = [m.name for m in pkgutil.walk_packages(chongming_task.__path__, "chongming_task.")]
    return ["chongming_task", *(name for name in names if not name.endswith("__main__"))]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples_give_what_they_say(name):
    """Doctests of every public docstring."""
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0


def test_there_are_docstring_examples():
    """The search finds them: a test that looks at nothing proves nothing."""
    found = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in modules()]
    assert sum(bool(test.examples) for tests in found for test in tests) >= 10
