"""What one commit means for the tables: pure, so that both SQL stores decide alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chongming_task.core.ports import CommandAnswer, Row, Write
from chongming_task.errors import ConcurrencyConflict
from chongming_task.stores.codec import attempt_row, task_row, task_update, transition_row
from chongming_task.stores.fence import Standing, lost_race

__all__ = ["Batch", "batch_of"]


@dataclass(slots=True)
class Batch:
    """Rows to write, in the order of the fields."""

    conflicts: list[ConcurrencyConflict] = field(default_factory=list)
    new: dict[str, Row] = field(default_factory=dict)  # records that the store does not hold, as they end up
    changed: dict[str, Row] = field(default_factory=dict)  # what can change, of those that it holds
    tags: list[tuple[str, str]] = field(default_factory=list)  # tag, task_id; of new records
    transitions: list[Row] = field(default_factory=list)
    cleared: set[str] = field(default_factory=set)  # records whose stored attempts and output go
    attempts: dict[tuple[str, int], Row] = field(default_factory=dict)
    answers: list[CommandAnswer] = field(default_factory=list)


def batch_of(writes: Sequence[Write], stored: Mapping[str, Standing]) -> Batch:
    """Sort writes into rows, and those that lost their race into conflicts.

    Args:
        writes: In order; several may be about one record.
        stored: How these records stand in the store.
    """
    batch = Batch()
    standing = dict(stored)
    for write in writes:
        task = write.snapshot
        task_id = task.task_id
        found = standing.get(task_id)
        conflict = lost_race(write, found)
        if conflict is not None:
            batch.conflicts.append(conflict)
            continue
        standing[task_id] = Standing(task.status_version, task.owner)
        if task_id in stored:
            batch.changed[task_id] = task_update(task)
        else:
            batch.new[task_id] = task_row(task)
        if found is None and task.tags:
            batch.tags += [(tag, task_id) for tag in task.tags]
        batch.transitions += map(transition_row, write.transitions)
        if write.clear_attempts:
            batch.cleared.add(task_id)
            batch.attempts = {key: row for key, row in batch.attempts.items() if key[0] != task_id}
        for attempt in write.attempts:
            batch.attempts[task_id, attempt.attempt] = attempt_row(attempt)
        batch.answers += write.answers
    return batch
