"""What a store gives back beside what it was given."""

from __future__ import annotations

from typing import Any


def assert_same(found: Any, stored: Any) -> None:
    """Equal, and of equal types all the way down, a record or a list of them; a set may be in any order."""
    assert found == stored
    assert type(found) is type(stored)
    if isinstance(stored, list):
        for one, two in zip(found, stored, strict=True):
            assert_same(one, two)
        return
    for name, one, two in zip(stored._fields, found, stored, strict=True):
        assert type(one) is type(two), name
        assert isinstance(two, frozenset) or repr(one) == repr(two), name
