"""A rig for the facade's tests: nothing runs unless the test says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.rig import Rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A rig, audited at the end."""
    made = Rig()
    yield made
    made.end()
