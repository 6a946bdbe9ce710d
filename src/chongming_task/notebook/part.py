"""Some tasks of a controller, as a view follows them: one task, or those of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chongming_task.core.query import pipeline_of
from chongming_task.core.records import TaskSnapshot
from chongming_task.errors import ConfigurationError, UnknownTask
from chongming_task.notebook.pump import Health, TaskSource
from chongming_task.notebook.view import Steered

__all__ = ["Part", "run_of", "task_of"]


class Part:
    """A ``TaskSource`` that passes on what belongs to it.

    Args:
        whole: The controller.
        name: What views of it are headed with.
        belongs: Whether a task is part of it.
        list_tasks: Its tasks as they stand.
    """

    def __init__(
        self,
        whole: TaskSource,
        name: str | None,
        belongs: Callable[[TaskSnapshot], bool],
        list_tasks: Callable[[], list[TaskSnapshot]],
    ) -> None:
        self.name = name
        self.list_tasks = list_tasks
        self._whole = whole
        self._belongs = belongs

    @property
    def health(self) -> Health:
        """How its controller does."""
        return self._whole.health

    @property
    def closed(self) -> bool:
        """Whether its controller is closed."""
        return self._whole.closed

    def get(self, task_id: str, /) -> TaskSnapshot:
        """One task as it stands."""
        return self._whole.get(task_id)

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None], /) -> Callable[[], None]:
        """Calls back with the latest snapshots of its tasks after every change of one; returns how to end that."""

        def pass_on(tasks: Sequence[TaskSnapshot]) -> None:
            mine = [task for task in tasks if self._belongs(task)]
            if mine:
                callback(mine)

        return self._whole.tap(pass_on)


def task_of(controller: Steered, task_id: str) -> Part:
    """One task.

    Args:
        controller: Whose task it is.
        task_id: Its id.

    Raises:
        UnknownTask: There is no such task.
    """
    task = controller.get(task_id)

    def list_tasks() -> list[TaskSnapshot]:
        nonlocal task
        try:
            task = controller.get(task_id)
        except UnknownTask:  # it was pruned
            if not task.is_terminal:  # how it ended is not known here
                raise
        return [task]

    return Part(controller, task.name, lambda each: each.task_id == task_id, list_tasks)


def run_of(controller: Steered, run_id: str, list_tasks: Callable[[], list[TaskSnapshot]] | None = None) -> Part:
    """The nodes of one pipeline run, and the tasks of its maps.

    Args:
        controller: Whose run it is.
        run_id: Its id.
        list_tasks: Its tasks as they stand; default: the controller is asked.

    Raises:
        UnknownTask: No task belongs to such a run.
        ConfigurationError: The id is no string.
    """
    if not isinstance(run_id, str):
        raise ConfigurationError(f"a run is named by its id, a string such as run.id, got {run_id!r:.100}")
    if list_tasks is None and not controller.list_tasks(pipeline_run_id=run_id):
        raise UnknownTask(f"no run {run_id!r:.100} here: its id is the pipeline_run_id of its tasks, as in run.id")
    return Part(
        controller,
        pipeline_of(run_id),
        lambda each: each.pipeline_run_id == run_id,
        list_tasks or (lambda: controller.list_tasks(pipeline_run_id=run_id)),
    )
