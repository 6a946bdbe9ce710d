"""Who may write a record: whoever has read its newest version, while nobody else has taken it over."""

from __future__ import annotations

from typing import NamedTuple

from chongming_task.core.ports import Write
from chongming_task.errors import ConcurrencyConflict

__all__ = ["Standing", "lost_race"]


class Standing(NamedTuple):
    """What a write is held against."""

    version: int
    owner: str | None


def lost_race(write: Write, stored: Standing | None) -> ConcurrencyConflict | None:
    """Why a write must be left out; None when it may be stored.

    Args:
        write: What somebody wants to store.
        stored: How its record stands in the store, after the writes before it; None when there is none, and so nobody
            who could have taken it over.
    """
    task_id, expected = write.snapshot.task_id, write.expect_version
    if stored is None:
        return None if expected is None else ConcurrencyConflict(task_id, expected=expected, found=None)
    version, owner = stored
    if write.expect_owner is not None and owner != write.expect_owner:
        return ConcurrencyConflict(task_id, expected=expected, found=version, owner=owner)
    return None if version == expected else ConcurrencyConflict(task_id, expected=expected, found=version)
