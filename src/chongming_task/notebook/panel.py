"""The live task table of a controller.

controller.panel()
"""

from __future__ import annotations

from chongming_task.notebook.view import Steered, View

__all__ = ["Panel", "panel"]


class Panel(View):
    """All tasks of a controller, or a part of them, as a table to search, sort and steer.

    Args:
        controller: Whose tasks are shown and steered.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        ConfigurationError: For another language.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     view = Panel(controller)
        ...     view.close()
    """

    _view = "panel"


def panel(controller: Steered, *, language: str | None = None) -> Panel:
    """A live panel of a controller's tasks.

    Args:
        controller: Whose tasks are shown and steered.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        ConfigurationError: The extra ``notebook`` is not installed, or the language is another one.
    """
    return Panel(controller, language=language)
