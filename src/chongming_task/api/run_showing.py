"""What a pipeline run shows in a notebook. Part of :class:`~chongming_task.api.pipeline_run.PipelineRun`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chongming_task.api.display import Bundle, bundle_of

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller
    from chongming_task.notebook.pipeline_view import PipelineView
    from chongming_task.notebook.timeline import Timeline
    from chongming_task.runtime.live_run import LiveRun

__all__ = ["RunShowing"]


class RunShowing:
    """The live graph of a run."""

    _controller: Controller
    _run: LiveRun

    @property
    def pause_asked(self) -> bool:
        """Whether it was asked to pause and not to go on: it is paused, or will be when nothing runs any more."""
        return self._run.paused

    def view(self, *, language: str | None = None) -> PipelineView:
        """The live graph of its nodes, for a notebook; also what the run shows as the last line of a cell.

        Args:
            language: ``"en"`` or ``"zh"``; default: as the browser prefers.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed, or for another language.
        """
        from chongming_task.notebook.pipeline_view import pipeline_view

        return pipeline_view(self._controller, self, language=language)  # type: ignore[arg-type]  # it is the run

    def timeline(self, *, language: str | None = None) -> Timeline:
        """A live timeline of the run's tasks, for a notebook: every attempt as a bar from its start to its end.

        Args:
            language: ``"en"`` or ``"zh"``; default: as the browser prefers.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed, or for another language.
        """
        from chongming_task.notebook.timeline import timeline

        return timeline(self._controller, self._run.run_id, language=language)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return bundle_of(self, self.view)
