"""Every public name says what it is for, what it takes, in which unit, what it raises, and shows a short example.

That the examples give what they say is proved by tests/integration/test_documented_examples.py.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from chongming_task import Controller, TaskHandle
from tests.support.docstrings import Said, methods_of, parameters_of, public_names, raised_by, said_by

NAMES = {path: thing for path, thing in public_names().items() if callable(thing)}
METHODS = {
    f"{path}.{name}": method
    for path, thing in NAMES.items()
    if isinstance(thing, type)
    for name, method in methods_of(thing).items()
    if not (thing is TaskHandle and hasattr(Controller, name))  # the class says that these are the controller's
}
EVERYTHING = NAMES | METHODS


@pytest.mark.parametrize("path", EVERYTHING)
def test_it_says_what_it_is_for(path):
    """In a docstring of its own, that begins with a sentence."""
    said = said_by(EVERYTHING[path])
    assert said is not None
    assert re.match(r"\S.*?[.:]($|\s)", said.text, re.DOTALL)


@pytest.mark.parametrize("path", NAMES)
def test_it_shows_an_example(path):
    """That doctest runs."""
    said = said_by(NAMES[path])
    assert said is not None
    assert said.example


@pytest.mark.parametrize("path", EVERYTHING)
def test_it_says_what_it_takes(path):
    """Each argument; those that are seconds say so."""
    assert faults_of(EVERYTHING[path], said_by(EVERYTHING[path])) == []


def faults_of(thing: Any, said: Said | None) -> list[str]:
    """What is missing of its arguments and errors."""
    assert said is not None
    faults = [f"{each.name} is not told" for each in parameters_of(thing) if each.name not in said.args]
    if said.elsewhere:
        faults = []
    faults += [
        f"{each.name} does not say that it is seconds"
        for each in parameters_of(thing)
        if str(each.annotation).startswith("float") and re.search("timeout|grace|^seconds|ttl", each.name)
        if not re.search("second", said.args.get(each.name, "second"), re.IGNORECASE)
    ]
    if raised_by(thing) and not said.raises and not said.elsewhere:
        faults.append(f"that it raises {', '.join(raised_by(thing))} is not told")
    return faults


def test_what_is_missing_would_be_told():
    """An argument, its unit, an error."""

    def nap(timeout: float, why: str) -> None:
        """Sleep.

        Args:
            timeout: How long.
        """
        raise ValueError(why)

    assert len(faults_of(nap, said_by(nap))) == 3
