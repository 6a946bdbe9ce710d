"""One task on one line: what a handle shows as the last line of a cell.

controller.submit(train, "a.csv")
"""

from __future__ import annotations

from chongming_task.notebook.part import task_of
from chongming_task.notebook.view import Steered, View

__all__ = ["Card"]


class Card(View):
    """A task's status, progress and buttons, and its newest lines of output when unfolded.

    Args:
        controller: Who has the task.
        task_id: The task.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        UnknownTask: There is no such task.
        ConfigurationError: For another language.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     view = Card(controller, handle.id)
        ...     view.close()
    """

    _view = "card"

    def __init__(self, controller: Steered, task_id: str, *, language: str | None = None) -> None:
        super().__init__(controller, task_of(controller, task_id), language=language)
