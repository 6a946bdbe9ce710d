"""Which records a caller wants to see: one value, understood by every store and by the engine's own index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError

__all__ = ["TaskQuery", "status_of"]


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
            ConfigurationError: For a status that does not exist or a limit below 0.
        """
        if limit is not None and limit < 0:
            raise ConfigurationError(f"limit must be 0 or more, got {limit}")
        names = [status] if isinstance(status, str) else status
        return cls(status=None if names is None else frozenset(map(status_of, names)), limit=limit, **rest)

    def matches(self, task: TaskSnapshot) -> bool:
        """Whether the record passes; ``limit`` is not looked at."""
        return (
            (self.status is None or task.status in self.status)
            and (self.tag is None or self.tag in task.tags)
            and (self.name_prefix is None or task.name.startswith(self.name_prefix))
            and (self.pipeline_run_id is None or task.pipeline_run_id == self.pipeline_run_id)
            and (self.buckets is None or task.bucket in self.buckets)
        )
