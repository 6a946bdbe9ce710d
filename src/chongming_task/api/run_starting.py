"""Pipeline runs of a controller. Part of :class:`~chongming_task.Controller`.

What leads them is loaded with the first pipeline: who has none does not pay for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chongming_task.api.elsewhere import Elsewhere
from chongming_task.api.link import EngineLink
from chongming_task.api.submission import Submissions
from chongming_task.api.values import ResultValues
from chongming_task.errors import ConfigurationError, UnknownTask

if TYPE_CHECKING:
    from chongming_task.api.hooks import HookCaller
    from chongming_task.api.pipeline import Pipeline
    from chongming_task.api.pipeline_run import PipelineRun
    from chongming_task.runtime.live_run import LiveRun

__all__ = ["RunStarting"]


class RunStarting:
    """What a controller does with pipelines."""

    owner: str
    _link: EngineLink
    _elsewhere: Elsewhere
    _submissions: Submissions
    _values: ResultValues

    def _call_hooks(self) -> HookCaller:
        raise NotImplementedError  # the controller's own

    def start_run(
        self,
        pipeline: Pipeline,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as the steps read it: ctx.input
    ) -> PipelineRun:
        """Run a pipeline: the same as :meth:`Pipeline.submit`."""
        self._link.check_open()
        _check_pipeline("start_run", pipeline)
        from chongming_task.api.run_making import RunMaker

        return self._lead(RunMaker(self._submissions, self._values).make(pipeline, input))

    @property
    def runs(self) -> list[PipelineRun]:
        """The pipeline runs of this controller that it still has in memory, oldest first."""
        from chongming_task.api.pipeline_run import PipelineRun

        found: list[LiveRun] = []
        self._link.engine.run(lambda lead: found.extend(lead.runs))
        self._link.sync()
        return [PipelineRun(self, run) for run in found]  # type: ignore[arg-type]  # as below

    def pipeline_run(self, run_id: str) -> PipelineRun:
        """The live view of one run, for whoever has lost the variable.

        Args:
            run_id: The run's id.

        Raises:
            UnknownTask: When it is not in this controller's memory.
        """
        for run in self.runs:
            if run.id == run_id:
                return run
        raise UnknownTask(
            f"no run {run_id!r:.100} in this controller; to go on with one that another process began: "
            "pipeline.continue_run(controller, run_id)"
        )

    def continue_run(
        self,
        pipeline: Pipeline,
        run_id: str,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as above
    ) -> PipelineRun:
        """Go on with a run whose process is gone: the same as :meth:`Pipeline.continue_run`."""
        self._link.check_open()
        _check_pipeline("continue_run", pipeline)
        from chongming_task.api.run_continuing import RunContinuer

        continuer = RunContinuer(self._link, self._elsewhere, self._submissions, self._values, self.owner)
        return self._lead(continuer.make(pipeline, run_id, input))

    def _lead(self, run: LiveRun) -> PipelineRun:
        from chongming_task.api.pipeline_run import PipelineRun

        self._link.announce()
        if run.hooks:
            self._call_hooks().follow(run)
        self._link.engine.run(lambda runs: runs.start(run))
        if self._link.closed:
            self._link.call(lambda: None)
            if not run.begun:
                self._link.check_open()
        return PipelineRun(self, run)  # type: ignore[arg-type]  # this is part of the controller


def _check_pipeline(verb: str, given: object) -> None:
    from chongming_task.api.pipeline import Pipeline

    if not isinstance(given, Pipeline):
        raise ConfigurationError(f"{verb} takes a Pipeline, got {given!r:.100}")
