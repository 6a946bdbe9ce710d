"""What a caller wants called when something happens to a task or a run. Pure: who calls, and where, is elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import ConfigurationError

__all__ = ["Hooks", "checked_hooks", "is_async", "moment_of", "run_moment_of"]

T = TypeVar("T")
S = TaskStatus
R = PipelineRunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks(Generic[T]):
    """Functions to call at turning points, each with one argument: the record as it is then, or the pipeline run.

    They run on threads of their own, after the change is stored: those of one record one after the other, those of
    different records side by side. One that raises is logged; one that never returns keeps the later hooks of its
    record waiting, and nothing else.

    Raises:
        ConfigurationError: For what cannot be called, or is ``async def``.

    Example:
        >>> from chongming_task import Controller, Hooks
        >>> told = []
        >>> with Controller(hooks=Hooks(on_success=lambda task: told.append(task.outcome))) as controller:
        ...     _ = controller.submit(pow, 2, 3)
        >>> told
        [8]
    """

    on_start: Callable[[T], object] | None = None  # an attempt begins; a run begins
    on_success: Callable[[T], object] | None = None  # it has succeeded
    on_failure: Callable[[T], object] | None = None  # it has failed for good, or is lost
    on_retry: Callable[[T], object] | None = (
        None  # an attempt has failed and another follows, or somebody asked for one
    )
    on_cancel: Callable[[T], object] | None = None  # it was stopped or cancelled

    def __post_init__(self) -> None:
        for each in fields(self):
            hook = getattr(self, each.name)
            if hook is None:
                continue
            if not callable(hook):
                raise ConfigurationError(f"{each.name} takes a function of one argument, got {hook!r:.100}")
            if is_async(hook):
                raise ConfigurationError(
                    f"{each.name} takes a plain function, and {hook!r:.100} is async; in coroutines, read "
                    "controller.stream() instead"
                )


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling it only makes a coroutine, which nobody here would await."""
    # An object's own __call__ may be async as well.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def checked_hooks(option: str, hooks: Any) -> Hooks[Any] | None:
    """What a caller gave as hooks.

    Raises:
        ConfigurationError: When it is something else.
    """
    if hooks is None or isinstance(hooks, Hooks):
        return hooks
    raise ConfigurationError(f"{option} takes Hooks(on_failure=...), got {hooks!r:.100}")


_MOMENTS = {
    S.SUCCEEDED: "on_success",
    S.FAILED: "on_failure",
    S.LOST: "on_failure",
    S.STOPPED: "on_cancel",
    S.CANCELLED: "on_cancel",
    S.RETRY_WAIT: "on_retry",
}
_RUN_MOMENTS = {
    R.SUCCEEDED: "on_success",
    R.FAILED: "on_failure",
    R.STOPPED: "on_cancel",
    R.CANCELLED: "on_cancel",
}


def moment_of(before: TaskStatus, after: TaskStatus) -> str | None:
    """Which hook a change of a record calls, if any."""
    if after is S.RUNNING:
        return "on_start" if before is S.STARTING else None
    if after is S.QUEUED:
        return "on_retry" if before in TERMINAL else None
    return _MOMENTS.get(after)


def run_moment_of(before: PipelineRunStatus, after: PipelineRunStatus) -> str | None:
    """The same for a run."""
    if not after.is_terminal:
        if before.is_terminal:
            return "on_retry"
        return "on_start" if before is R.PENDING and after is R.RUNNING else None
    return _RUN_MOMENTS[after]
