"""Which record or run a caller means: by its id, or by its handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from chongming_task.api.handle import TaskHandle
    from chongming_task.api.pipeline_run import PipelineRun

__all__ = ["id_of", "name_hint", "run_id_of"]


def id_of(task: str | TaskHandle[Any]) -> str:
    """The id of a record.

    Raises:
        ConfigurationError: When it is neither an id nor a handle.
    """
    found = task if isinstance(task, str) else getattr(task, "id", None)
    if not isinstance(found, str):
        raise ConfigurationError(f"a task is meant by its id or its handle, got {task!r:.100}; give handle.id")
    return found


def run_id_of(run: str | PipelineRun) -> str:
    """The id of a pipeline run.

    Raises:
        ConfigurationError: When it is neither an id nor a run.
    """
    found = run if isinstance(run, str) else getattr(run, "id", None)
    if not isinstance(found, str):
        raise ConfigurationError(f"a run is meant by its id or by itself, as submit returns it, got {run!r:.100}")
    return found


def name_hint(task_id: str) -> str:
    """What to say of an unknown id that is none, but most likely a task's name."""
    return "" if len(task_id) == 36 and task_id.count("-") == 4 else "; it takes an id, such as handle.id, not a name"
