"""Rigs for the engine's tests; every one of them is audited when its test has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.rig import Rig


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes rigs with options of the test's choice, and audits them all at the end."""
    made: list[Rig] = []

    def make(*args: Any, **options: Any) -> Rig:
        made.append(Rig(*args, **options))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """A rig with the defaults."""
    return make_rig()
