"""Pipeline runs of a controller. Part of :class:`~chongming_task.Controller`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chongming_task.api.elsewhere import Elsewhere
from chongming_task.api.link import EngineLink
from chongming_task.api.run_making import RunMaker
from chongming_task.api.submission import Submissions
from chongming_task.api.values import ResultValues
from chongming_task.core.failures import FailureKind
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import OCCUPIED, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Trigger
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.live_run import LiveRun

if TYPE_CHECKING:
    from chongming_task.api.pipeline import Pipeline
    from chongming_task.api.pipeline_run import PipelineRun

__all__ = ["RunStarting"]

_KEPT = frozenset({TaskStatus.SUCCEEDED, TaskStatus.SKIPPED})
_ENDING = frozenset({RequestedAction.STOP, RequestedAction.CANCEL})


class RunStarting:
    """What a controller does with pipelines."""

    owner: str
    _link: EngineLink
    _elsewhere: Elsewhere
    _submissions: Submissions
    _values: ResultValues

    def start_run(
        self,
        pipeline: Pipeline,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as the steps read it: ctx.input
    ) -> PipelineRun:
        """Run a pipeline: the same as :meth:`Pipeline.submit`."""
        self._link.check_open()
        return self._lead(RunMaker(self._submissions, self._values).make(pipeline, input))

    def continue_run(
        self,
        pipeline: Pipeline,
        run_id: str,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as above
    ) -> PipelineRun:
        """Go on with a run whose process is gone: the same as :meth:`Pipeline.continue_run`."""
        self._link.check_open()
        self._link.sync()
        stored = {task.node or task.name: task for task in self._link.store.query(TaskQuery(pipeline_run_id=run_id))}
        self._check_continuable(pipeline, run_id, stored)
        maker = RunMaker(self._submissions, self._values)
        maker.make(pipeline, input, run_id=run_id, stored=stored)  # whatever can be refused is refused before we claim
        unfinished = [task for task in stored.values() if task.status not in _KEPT]
        ours = {task.node or task.name: task for task in self._elsewhere.claim(unfinished)}
        if len(ours) < len(unfinished):
            raise ConfigurationError(f"another controller has just begun to go on with the run {run_id!r}")
        run = maker.make(pipeline, input, run_id=run_id, stored=stored | ours)
        run.steps = {task.task_id: self._steps_of(pipeline, task, stored[node]) for node, task in ours.items()}
        return self._lead(run)

    def _check_continuable(self, pipeline: Pipeline, run_id: str, stored: Mapping[str, TaskSnapshot]) -> None:
        if not stored:
            raise ConfigurationError(f"the store holds no run {run_id!r:.200}")
        strangers = [name for name in stored if not pipeline.knows(name)]
        if strangers:
            raise ConfigurationError(
                f"the run {run_id!r} is not one of the pipeline {pipeline.name!r}, which has no node {strangers[0]!r}; "
                "declare it as it was, with the same names"
            )
        watchers = self._elsewhere.watchers()
        for task in stored.values():
            live = self._link.engine.tasks.get(task.task_id)
            here = live is not None and live.member is not None
            if here or (not task.is_terminal and task.owner != self.owner and watchers.watch(task)):
                who = "this controller" if here else task.owner
                raise ConfigurationError(
                    f"the run {run_id!r} is led by {who}; steer it there, or by its node {task.name!r}"
                )

    def _steps_of(self, pipeline: Pipeline, task: TaskSnapshot, before: TaskSnapshot) -> list[Trigger]:
        """What brings a record that was left behind to where its run can go on from."""
        again = Asked(Verb.RETRY, self.owner, "its process is gone, and it is restartable", force=True)
        runnable = pipeline.restarts(task.node or task.name) and task.requested_action not in _ENDING
        if not task.is_terminal:
            if not (task.live or task.status in OCCUPIED):
                return []
            return [self._elsewhere.orphaned(before), *([again] if runnable else [])]
        trail = self._link.store.transitions(task.task_id)
        left_behind = bool(trail) and trail[-1].trigger == "reconcile:orphan"
        if task.status is TaskStatus.LOST:
            return [again] if left_behind and runnable else []
        blocked = task.failure is not None and task.failure.kind is FailureKind.DEPENDENCY_FAILED
        if task.status is TaskStatus.CANCELLED and (left_behind or blocked):
            return [Asked(Verb.RESET, self.owner), Asked(Verb.START, self.owner, blocked=True)]
        return []

    def _lead(self, run: LiveRun) -> PipelineRun:
        from chongming_task.api.pipeline_run import PipelineRun

        self._link.announce()
        self._link.engine.run(lambda runs: runs.start(run))
        return PipelineRun(self, run)  # type: ignore[arg-type]  # this is part of the controller
