"""Calls hooks when what they are for has happened. Loaded with the first hooks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

from chongming_task.core.events import AttemptFailed, Event, PipelineRunStatusChanged, TaskStatusChanged
from chongming_task.core.failures import Failure
from chongming_task.core.hooks import Hooks, moment_of, run_moment_of
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.live_run import LiveRun
from chongming_task.runtime.serial import Serial

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller

__all__ = ["HookCaller"]

_logger = logging.getLogger("chongming_task.hooks")


class HookCaller:
    """A subscriber that calls hooks: the task's own first, then its pipeline's, then the controller's.

    Args:
        controller: Whose tasks and runs.
        everywhere: The controller's hooks.
    """

    dropped = 0

    def __init__(self, controller: Controller, everywhere: Hooks[TaskSnapshot] | None) -> None:
        self._controller = controller
        self._everywhere = () if everywhere is None else (everywhere,)
        self._serial = Serial()
        self._runs: WeakValueDictionary[str, LiveRun] = WeakValueDictionary()
        self._begun: WeakSet[LiveRun] = WeakSet()  # it begins once, however often it is retried
        controller._link.engine.bus.add(self)

    def follow(self, run: LiveRun) -> None:
        """Call the hooks of a run."""
        self._runs[run.run_id] = run

    # on the engine thread

    def offer(self, events: Sequence[Event]) -> None:
        """Have hooks called for what has just been stored."""
        failures = {(e.task_id, e.attempt): e.failure for e in events if isinstance(e, AttemptFailed)}
        for event in events:
            if isinstance(event, TaskStatusChanged):
                self._task_moved(event, failures)
            elif isinstance(event, PipelineRunStatusChanged):
                self._run_moved(event)

    def _task_moved(self, event: TaskStatusChanged, failures: dict[tuple[str, int], Failure]) -> None:
        moment = moment_of(event.from_status, event.to_status)
        live = None if moment is None else self._controller._link.engine.tasks.get(event.task_id)
        if moment is None or live is None:
            return
        task = live.snapshot
        if task.status_version != event.version:
            task = _as_it_was(task, event, failures.get((task.task_id, task.attempt)))
        for hook in _called((*live.hooks, *self._everywhere), moment):
            self._serial.post(event.task_id, partial(_call, hook, task, moment, task.name))

    def _run_moved(self, event: PipelineRunStatusChanged) -> None:
        run = self._runs.get(event.task_id)
        moment = run_moment_of(PipelineRunStatus(event.from_status), PipelineRunStatus(event.to_status))
        if run is None or moment is None or (moment == "on_start" and run in self._begun):
            return
        self._begun.add(run)
        from chongming_task.api.pipeline_run import PipelineRun  # it is loaded: there is a run

        shown = PipelineRun(self._controller, run)
        for hook in _called(run.hooks, moment):
            self._serial.post(run.run_id, partial(_call, hook, shown, moment, run.name))

    # at the end

    def close(self) -> None:
        """Nothing more will come."""

    def finish(self, timeout: float) -> None:
        """Wait for the hooks that are due, and let the threads go."""
        left = self._serial.wait(timeout)
        if left:
            _logger.warning(
                "%s hooks were still running, or waiting for one that was, when the controller closed", left
            )
        self._serial.close()


def _called(hooks: Sequence[Hooks[Any]], moment: str) -> list[Callable[[Any], object]]:
    return [hook for each in hooks if (hook := getattr(each, moment)) is not None]


def _call(hook: Callable[[Any], object], subject: Any, moment: str, name: str) -> None:
    try:
        hook(subject)
    except BaseException:  # its fault is its own: the task has long gone on
        _logger.exception("the hook %s of %r raised", moment, name)


def _as_it_was(task: TaskSnapshot, event: TaskStatusChanged, failure: Failure | None) -> TaskSnapshot:
    """A record at an event that others have followed within the same tick."""
    changes: dict[str, Any] = {"status": event.to_status, "status_version": event.version}
    if event.to_status is TaskStatus.RUNNING:
        changes |= dict.fromkeys(("ended_at", "outcome", "failure"))
    elif failure is not None:
        changes["failure"] = failure
    return task.evolve(changes)
