"""Which records a caller wants to see: one value, understood by every store and by the engine's own index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError

__all__ = ["Scan", "Table", "TaskQuery", "pipeline_of", "status_of"]


class Table(StrEnum):
    """What ``TaskStore.scan`` reads."""

    TASKS = "tasks"  # TaskSnapshot
    ATTEMPTS = "attempts"  # AttemptRecord
    TRANSITIONS = "transitions"  # Transition
    OUTPUT = "output"  # OutputLine


def status_of(name: TaskStatus | str) -> TaskStatus:
    """The status a caller names.

    Raises:
        ConfigurationError: When there is none of that name.
    """
    try:
        return TaskStatus(name)
    except ValueError:
        known = ", ".join(status.value for status in TaskStatus)
        raise ConfigurationError(f"{name!r} is no status; the statuses are {known}") from None


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """A filter over records; the conditions that are set must all hold."""

    status: frozenset[TaskStatus] | None = None
    tag: str | None = None
    name_prefix: str | None = None
    pipeline_run_id: str | None = None
    buckets: frozenset[int] | None = None
    limit: int | None = None  # the newest come first when it cuts
    task_ids: frozenset[str] | None = None
    name: str | None = None
    pipeline: str | None = None  # the name of the pipeline whose runs they belong to
    in_run: bool = False  # only records of pipeline runs
    since: datetime | None = None  # submitted then or later; of other tables: what happened then or later
    until: datetime | None = None  # before then

    @classmethod
    def of(
        cls,
        *,
        status: TaskStatus | str | Iterable[TaskStatus | str] | None = None,
        limit: int | None = None,
        **rest: Any,
    ) -> TaskQuery:
        """A query from what callers write: one status or several, names or members.

        Raises:
            ConfigurationError: For a status that does not exist, a limit below 0, or a time without a time zone.
        """
        for word in ("since", "until"):
            _check_moment(word, rest.get(word))
        if limit is not None and limit < 0:
            raise ConfigurationError(f"limit must be 0 or more, got {limit}")
        names = [status] if isinstance(status, str) else status
        return cls(status=None if names is None else frozenset(map(status_of, names)), limit=limit, **rest)

    @property
    def narrows(self) -> bool:
        """Whether anything is asked of records, but for their time."""
        return self != TaskQuery(limit=self.limit, since=self.since, until=self.until)

    def matches(self, task: TaskSnapshot) -> bool:
        """Whether the record passes; ``limit`` is not looked at."""
        return self.matches_but_for_time(task) and self.includes(task.created_at)

    def matches_but_for_time(self, task: TaskSnapshot) -> bool:
        """The same, whenever it was submitted: where ``since`` and ``until`` are about what belongs to the record."""
        return (
            (self.status is None or task.status in self.status)
            and (self.tag is None or self.tag in task.tags)
            and (self.name_prefix is None or task.name.startswith(self.name_prefix))
            and (self.pipeline_run_id is None or task.pipeline_run_id == self.pipeline_run_id)
            and (self.buckets is None or task.bucket in self.buckets)
            and (self.task_ids is None or task.task_id in self.task_ids)
            and (self.name is None or task.name == self.name)
            and (task.pipeline_run_id is not None or not self.in_run)
            and (self.pipeline is None or pipeline_of(task.pipeline_run_id) == self.pipeline)
        )

    def includes(self, moment: datetime) -> bool:
        """Whether the moment is within ``since`` and ``until``."""
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)


class Scan(NamedTuple):
    """Rows of one table that somebody wants."""

    table: Table
    query: TaskQuery = TaskQuery()


def pipeline_of(pipeline_run_id: str | None) -> str | None:
    """The name of the pipeline whose run has that id; None for no run."""
    return None if pipeline_run_id is None else pipeline_run_id.rpartition(":")[0]


def _check_moment(word: str, moment: object) -> None:
    if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
        raise ConfigurationError(
            f"{word} takes a datetime with a time zone, such as datetime.now(UTC) - timedelta(hours=1), got {moment!r}"
        )
