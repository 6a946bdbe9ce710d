"""Stores with a history in them, for tests of what reads histories."""

from __future__ import annotations

from chongming_task.core.ports import TaskStore, Write
from chongming_task.core.query import TaskQuery


def copy(source: TaskStore, target: TaskStore) -> None:
    """Write all records of one store into another, empty one, in an order that keeps both feeds alike."""
    tasks = source.query(TaskQuery())
    for task in tasks:
        fresh = task._replace(status_version=0)
        assert not target.commit([Write(fresh, None)])
    for change in source.changes(limit=10_000_000):
        edge = change.transition
        fresh = next(task for task in tasks if task.task_id == edge.task_id)._replace(status_version=edge.version)
        assert not target.commit([Write(fresh, edge.version - 1, (edge,))])
    for task in tasks:
        attempts = tuple(source.attempts(task.task_id))
        assert not target.commit([Write(task, task.status_version, (), attempts)])
        target.append_output(source.output(task.task_id))
