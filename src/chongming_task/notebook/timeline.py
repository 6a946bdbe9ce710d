"""When tasks were at work, side by side: the attempts of a controller or of one run as bars.

controller.timeline()
run.timeline()
"""

from __future__ import annotations

from chongming_task.notebook.part import run_of
from chongming_task.notebook.view import Steered, View

__all__ = ["Timeline", "timeline"]


class Timeline(View):
    """Every attempt as a bar from its start to its end, in as many lanes as were at work at once.

    Args:
        controller: Whose tasks are shown and steered.
        run_id: Only the tasks of this pipeline run; default: all tasks.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        UnknownTask: No task belongs to such a run.
        ConfigurationError: For another language.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     view = Timeline(controller)
        ...     view.close()
    """

    _view = "timeline"

    def __init__(self, controller: Steered, run_id: str | None = None, *, language: str | None = None) -> None:
        super().__init__(controller, None if run_id is None else run_of(controller, run_id), language=language)


def timeline(controller: Steered, run_id: str | None = None, *, language: str | None = None) -> Timeline:
    """A live timeline of a controller's tasks.

    Args:
        controller: Whose tasks are shown and steered.
        run_id: Only the tasks of this pipeline run; default: all tasks.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        ConfigurationError: The extra ``notebook`` is not installed, or the language is another one.
    """
    return Timeline(controller, run_id, language=language)
