"""From a query to the named parts of a statement, and their parameters. Whatever the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from chongming_task.core.query import Table, TaskQuery
from chongming_task.stores.codec import to_micros

__all__ = ["Statement", "scan_of", "tasks_of"]


class Statement(NamedTuple):
    """Queries of the ``.sql`` file that are one statement, joined in order."""

    names: tuple[str, ...]
    params: Mapping[str, Any]


_TIME = {Table.TASKS: "created_at", Table.ATTEMPTS: "started_at", Table.TRANSITIONS: "at", Table.OUTPUT: "at"}
_ORDER = {Table.TASKS: "", Table.ATTEMPTS: "attempts_", Table.TRANSITIONS: "", Table.OUTPUT: "output_"}


def tasks_of(query: TaskQuery) -> Statement:
    """The records that match; with a limit the newest first."""
    return _statement(["tasks"], _conditions(query) | _window(query, Table.TASKS) | _order(query, Table.TASKS))


def scan_of(table: Table, query: TaskQuery) -> Statement:
    """The rows of a table that match; with a limit the newest first."""
    if table is Table.TASKS:
        return tasks_of(query)
    conditions = _conditions(query)
    if conditions:  # else every row is wanted, and nobody need look for its record
        conditions = {"of_tasks": {}} | conditions | {"end_of_tasks": {}}
    return _statement([f"scan_{table.value}"], conditions | _window(query, table) | _order(query, table))


Parts = dict[str, Mapping[str, Any]]


def _statement(names: list[str], parts: Parts) -> Statement:
    return Statement((*names, *parts), {key: value for part in parts.values() for key, value in part.items()})


def _conditions(query: TaskQuery) -> Parts:
    """What is asked of records, but for their time."""
    parts: Parts = {}
    if query.status is not None:
        parts["with_status"] = {"status": sorted(status.value for status in query.status)}
    if query.tag is not None:
        parts["with_tag"] = {"tag": query.tag}
    if query.task_ids is not None:
        parts["with_ids"] = {"ids": sorted(query.task_ids)}
    if query.name is not None:
        parts["with_name"] = {"name": query.name}
    if query.name_prefix is not None:
        parts["with_prefix"] = {"prefix": query.name_prefix}
    if query.pipeline_run_id is not None:
        parts["with_run"] = {"run": query.pipeline_run_id}
    if query.in_run:
        parts["with_any_run"] = {}
    if query.pipeline is not None:
        parts["with_pipeline"] = {"pipeline": query.pipeline}
    if query.buckets is not None:
        parts["with_bucket"] = {"buckets": sorted(query.buckets)}
    return parts


def _window(query: TaskQuery, table: Table) -> Parts:
    parts: Parts = {}
    if query.since is not None:
        parts[f"since_{_TIME[table]}"] = {"since": to_micros(query.since)}
    if query.until is not None:
        parts[f"until_{_TIME[table]}"] = {"until": to_micros(query.until)}
    return parts


def _order(query: TaskQuery, table: Table) -> Parts:
    if query.limit is None:
        return {f"{_ORDER[table]}oldest_first": {}}
    return {f"{_ORDER[table]}newest_first": {"limit": query.limit}}
