"""The graph of a pipeline run, live: what a run shows as the last line of a cell.

run = pipeline.submit(controller)
run.view()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from chongming_task.core.events import PipelineRunStatusChanged
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.errors import ConfigurationError, ControllerClosed
from chongming_task.notebook.inbound import RunRequest, RunVerb
from chongming_task.notebook.part import run_of
from chongming_task.notebook.pump import PUMP
from chongming_task.notebook.run_feed import RunFeed, Standing
from chongming_task.notebook.view import Steered, View

__all__ = ["PipelineView", "SteeredRun", "pipeline_view"]


class SteeredRun(Protocol):
    """What a view needs of a run that this process leads."""

    @property
    def id(self) -> str:
        """The ``pipeline_run_id`` of its records."""

    @property
    def status(self) -> PipelineRunStatus:
        """Where it is."""

    @property
    def pause_asked(self) -> bool:
        """Whether it was asked to pause."""

    def snapshots(self) -> list[TaskSnapshot]:
        """Its records; also when its controller is closed."""

    @property
    def pause(self) -> Callable[..., bool]:
        """``PipelineRun.pause``."""

    @property
    def resume(self) -> Callable[..., bool]:
        """``PipelineRun.resume``."""

    @property
    def stop(self) -> Callable[..., bool]:
        """``PipelineRun.stop``."""

    @property
    def retry_failed(self) -> Callable[..., list[str]]:
        """``PipelineRun.retry_failed``."""


class PipelineView(View):
    """The nodes of a pipeline run from left to right, and the buttons of the whole run.

    Args:
        controller: Who has the tasks.
        run: The run, or the id of one that another process leads: that one is steered node by node.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        UnknownTask: No task belongs to such a run.
        ConfigurationError: For another language.

    Example:
        >>> from chongming_task import Controller, Pipeline
        >>> pipeline = Pipeline("sums")
        >>> _ = pipeline.add(sum, [1, 2])
        >>> with Controller() as controller:
        ...     run = pipeline.submit(controller)
        ...     view = PipelineView(controller, run)
        ...     view.close()
    """

    _view = "pipeline"

    def __init__(self, controller: Steered, run: SteeredRun | str, *, language: str | None = None) -> None:
        self._run = None if isinstance(run, str) else run
        run_id: Any = run if isinstance(run, str) else getattr(run, "id", run)  # anything else is refused below
        source = run_of(controller, run_id, getattr(run, "snapshots", None))
        super().__init__(controller, source, feed=partial(RunFeed, standing=self._standing), language=language)
        # The nodes are told of before the run's own status, which follows from them.
        self._ends: list[Callable[[], None]] = []
        if self._run is not None:
            try:
                self._ends.append(self._hear_of(controller, run_id))
            except BaseException:
                self.close()
                raise

    def _hear_of(self, controller: Any, run_id: str) -> Callable[[], None]:
        def changed(event: object) -> None:
            PUMP.post(lambda: self._outlet.changed(PUMP.now))

        try:
            end: Callable[[], None] = controller.watch(
                changed, pipeline_run_id=run_id, types=PipelineRunStatusChanged
            ).close
        except ControllerClosed:  # nothing changes any more
            return _nothing_to_end
        return end

    def _standing(self) -> Standing:
        return Standing() if self._run is None else Standing(self._run.status.value, self._run.pause_asked)

    def _steer(self, request: RunRequest) -> dict[str, Any]:
        if self._run is None:
            raise ConfigurationError("another process leads this run; steer its nodes")
        again = _VERBS[request.verb](self._run, self._actor)
        # How the run stands now is told with its rows, in their order: here it would be old news when it arrives.
        return {"again": None if isinstance(again, bool) else len(again)}

    def close(self) -> None:
        """Takes the view out of the notebook and stops sending to it."""
        for end in self.__dict__.get("_ends", ()):
            end()
        super().close()


def _nothing_to_end() -> None:
    """There is no subscription."""


_VERBS: Mapping[RunVerb, Callable[[SteeredRun, str], bool | list[str]]] = {
    RunVerb.PAUSE: lambda run, actor: run.pause(wait=False, actor=actor),
    RunVerb.RESUME: lambda run, actor: run.resume(actor=actor),
    RunVerb.STOP: lambda run, actor: run.stop(wait=False, actor=actor),
    RunVerb.RETRY_FAILED: lambda run, actor: run.retry_failed(actor=actor),
}


def pipeline_view(controller: Steered, run: SteeredRun | str, *, language: str | None = None) -> PipelineView:
    """A live view of a run's graph.

    Args:
        controller: Who has the tasks.
        run: The run, or the id of one that another process leads.
        language: ``"en"`` or ``"zh"``; default: as the browser prefers.

    Raises:
        UnknownTask: No task belongs to such a run.
        ConfigurationError: The extra ``notebook`` is not installed, or the language is another one.
    """
    return PipelineView(controller, run, language=language)
