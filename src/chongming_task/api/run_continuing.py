"""Goes on with a pipeline run whose process is gone: what has succeeded stays, and the rest is brought here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chongming_task.api.elsewhere import Elsewhere
from chongming_task.api.link import EngineLink
from chongming_task.api.run_making import RunMaker, as_stored
from chongming_task.api.submission import Submissions
from chongming_task.api.task import spec_of
from chongming_task.api.values import ResultValues
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot, Transition
from chongming_task.core.runs import is_blocked
from chongming_task.core.states import RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Trigger
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.live_run import ACTOR, LiveRun

if TYPE_CHECKING:
    from chongming_task.api.pipeline import Pipeline

__all__ = ["RunContinuer"]

S = TaskStatus
_KEPT = frozenset({S.SUCCEEDED, S.SKIPPED})
_ENDING = frozenset({RequestedAction.STOP, RequestedAction.CANCEL})


@dataclass(frozen=True, slots=True)
class RunContinuer:
    """Makes runs of what the store holds of them.

    Args:
        link: To the controller's engine and store.
        elsewhere: The way to records of other controllers.
        submissions: Makes records.
        values: Reads results.
        owner: What the controller calls itself.
    """

    _link: EngineLink
    _elsewhere: Elsewhere
    _submissions: Submissions
    _values: ResultValues
    _owner: str

    def make(self, pipeline: Pipeline, run_id: str, parameters: Mapping[str, Any] | None) -> LiveRun:
        """The run, claimed in the store, with what each of its records needs to go on.

        Raises:
            ConfigurationError: When it is not there, is not of this pipeline, or somebody else leads it.
        """
        if not _is_text(run_id):  # of None, the store would give every record
            raise ConfigurationError(f"continue_run takes the id of a run, as in run.id, got {run_id!r:.100}")
        self._link.sync()
        stored = {task.node or task.name: task for task in self._link.store.query(TaskQuery(pipeline_run_id=run_id))}
        self._check_continuable(pipeline, run_id, stored)
        # Whatever can be refused is refused before we claim.
        run = RunMaker(self._submissions, self._values).make(pipeline, parameters, run_id=run_id, stored=stored)
        unfinished = [task for task in stored.values() if task.status not in _KEPT]
        ours = {task.task_id: task for task in self._elsewhere.claim(unfinished)}
        if len(ours) < len(unfinished):
            raise ConfigurationError(f"another controller has just begun to go on with the run {run_id!r}")
        for live in run.members():
            before = live.snapshot
            if before.task_id in ours:
                as_stored(live, ours[before.task_id])
                self._bring(run, live, before, pipeline)
        return run

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
            if here or (not task.is_terminal and task.owner != self._owner and watchers.watch(task)):
                raise ConfigurationError(
                    f"the run {run_id!r} is led by this controller: controller.pipeline_run({run_id!r}) steers it"
                    if here
                    else f"the run {run_id!r} is led by {task.owner}; steer it there, or by its nodes' handles, as in "
                    f"controller.stop({task.task_id!r})"
                )

    def _bring(self, run: LiveRun, live: LiveTask, before: TaskSnapshot, pipeline: Pipeline) -> None:
        """Say what a record of another process needs, so that its run can go on."""
        store, name = self._link.store, before.node or before.name
        live.output_seq = self._elsewhere.lines_written(before.task_id)
        trail = store.transitions(before.task_id)
        last = trail[-1] if trail else None
        if before.status is S.CANCELLED and any((e.actor, e.trigger) == (ACTOR, "user:cancel") for e in trail[-2:]):
            run.swept.add(live)  # at once, or it obeyed
        restarts = self._restarts(pipeline.target_of(name))
        run.steps[before.task_id] = (
            self._steps_of_map(before, last)
            if pipeline.is_map(name)
            else self._steps_of_task(before, last, restarts, of_map=live is not run.nodes[run.number_of(live)])
        )

    def _restarts(self, target: Callable[..., Any] | str) -> bool:
        spec = self._submissions.registry.get(target) if isinstance(target, str) else spec_of(target)
        return spec.restartable

    def _steps_of_map(self, task: TaskSnapshot, last: Transition | None) -> list[Trigger]:
        """What brings the record of a map to where it looks at its tasks again."""
        if task.status in (S.PENDING, S.BLOCKED):
            return []
        if not task.is_terminal:
            orphaned: list[Trigger] = [self._elsewhere.orphaned(task)] if task.holds_worker else []
            return orphaned if task.requested_action in _ENDING else [*orphaned, *self._anew()]
        return self._anew() if _is_left_behind(last) or is_blocked(task) else []

    def _steps_of_task(
        self, task: TaskSnapshot, last: Transition | None, restarts: bool, *, of_map: bool
    ) -> list[Trigger]:
        """What brings a record that runs something to where its run can go on from.

        A task of a map is not known before its items are: until then it says that it was left behind.
        """
        begun = task.holds_worker
        again: list[Trigger] = [Asked(Verb.RETRY, self._owner, "its process is gone, and its run goes on", force=True)]
        if not task.is_terminal:
            runnable = (restarts or not begun) and task.requested_action not in _ENDING
            if not (begun or of_map):
                return []
            return [self._elsewhere.orphaned(task), *(again if runnable else [])]
        if _is_left_behind(last):
            if task.status is S.LOST:
                return again if restarts else []
            return again if of_map or task.attempt else self._anew()
        return self._anew() if is_blocked(task) else []

    def _anew(self) -> list[Trigger]:
        return [Asked(Verb.RESET, self._owner), Asked(Verb.START, self._owner, blocked=True)]


def _is_text(given: object) -> bool:
    return isinstance(given, str) and given != ""


def _is_left_behind(last: Transition | None) -> bool:
    """Whether it ended for no other reason than that its process was gone; not one that was being stopped."""
    return last is not None and last.trigger == "reconcile:orphan" and last.from_status is not S.STOPPING
