"""What a store remembers, as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from chongming_task.api.controller import Controller
from chongming_task.core.ports import TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.frames import snapshots_to_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["History"]


class History:
    """The records of a controller or a store as data frames.

    Args:
        source: A controller, which shows what it has not stored yet as well, or a store.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.notebook.history import History
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     handle.wait(timeout=10)
        ...     History(controller).tasks(status="succeeded")[["name", "attempt"]].values.tolist()
        [['pow', 1]]
    """

    def __init__(self, source: Controller | TaskStore) -> None:
        self._source = source

    def tasks(
        self,
        *,
        status: TaskStatus | str | Iterable[TaskStatus | str] | None = None,
        tag: str | None = None,
        name_prefix: str | None = None,
        pipeline_run_id: str | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """The tasks that match, oldest first; ``frames.COLUMNS`` tells what each column holds.

        Args:
            status: One status or several.
            tag: A tag they carry.
            name_prefix: How their names begin.
            pipeline_run_id: The run they belong to.
            limit: At most that many, the newest.

        Raises:
            ConfigurationError: For a status that does not exist.
        """
        wanted: dict[str, Any] = {
            "status": status,
            "tag": tag,
            "name_prefix": name_prefix,
            "pipeline_run_id": pipeline_run_id,
            "limit": limit,
        }
        source = self._source
        if isinstance(source, Controller):
            return snapshots_to_frame(source.list_tasks(**wanted))
        return snapshots_to_frame(source.query(TaskQuery.of(**wanted)))

    def __repr__(self) -> str:
        return f"<History of {type(self._source).__name__}>"
