"""What a controller, or whoever is attached to its store, shows in a notebook. Part of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from chongming_task.api.display import Bundle, bundle_of
from chongming_task.errors import ControllerClosed, StoreError

if TYPE_CHECKING:
    from chongming_task.notebook.panel import Panel
    from chongming_task.notebook.timeline import Timeline
    from chongming_task.notebook.view import Steered

__all__ = ["Showing"]


class Showing:
    """The live views of all tasks."""

    def _check_showable(self) -> None:
        """Raises when there is nothing that could be followed."""

    def panel(self, *, language: str | None = None) -> Panel:
        """The live panel of the tasks, for a notebook; also what is shown as the last line of a cell.

        Args:
            language: ``"en"`` or ``"zh"``; default: as the browser prefers.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed, or for another language.
        """
        from chongming_task.notebook.panel import panel

        self._check_showable()
        return panel(cast("Steered", self), language=language)

    def timeline(self, *, language: str | None = None) -> Timeline:
        """A live timeline of the tasks, for a notebook: every attempt as a bar from its start to its end.

        Args:
            language: ``"en"`` or ``"zh"``; default: as the browser prefers.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed, or for another language.
        """
        from chongming_task.notebook.timeline import timeline

        self._check_showable()
        return timeline(cast("Steered", self), language=language)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        """The panel, as the last line of a cell; where nothing can be followed, the repr says so."""
        try:
            self._check_showable()
            return bundle_of(self, self.panel)
        except (ControllerClosed, StoreError):
            return None
