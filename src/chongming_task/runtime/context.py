"""What a running task holds: its name, its checkpoints, its progress."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sized
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from chongming_task.core.ports import Emitted
from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from chongming_task.core.ports import AttemptRequest, Deliver
    from chongming_task.runtime.artifacts import Artifacts
    from chongming_task.runtime.token import CancellationToken

__all__ = ["TaskContext", "current_context"]

DEFAULT_ARTIFACTS = ".chongming/artifacts"  # relative to where the process is

T = TypeVar("T")

_logger = logging.getLogger("chongming_task.task")
_current: ContextVar[TaskContext | None] = ContextVar("chongming_task_context", default=None)


class TaskContext:
    """The running attempt, as the task sees it. Made by the executor; a first parameter named ``ctx`` receives it.

    Attributes:
        task_id: The record.
        name: Its name.
        attempt: 1 for the first try.
        pipeline_run_id: The pipeline run it belongs to, or None.
        deadline: When the attempt's time is up, UTC; None without a limit. Pauses push it out.

    Example:
        >>> from chongming_task import run_task
        >>> def count(ctx, n):
        ...     for i in ctx.track(range(n)):
        ...         pass
        ...     return i
        >>> run_task(count, 3).result()
        2
    """

    __slots__ = (
        "_artifacts",
        "_artifacts_base",
        "_deliver",
        "_log",
        "_token",
        "attempt",
        "checkpoint",
        "deadline",
        "name",
        "pipeline_run_id",
        "task_id",
    )

    def __init__(
        self, request: AttemptRequest, token: CancellationToken, deliver: Deliver, deadline: datetime | None = None
    ) -> None:
        self.task_id = request.task_id
        self.name = request.name
        self.attempt = request.attempt
        self.pipeline_run_id = request.pipeline_run_id
        self.deadline = deadline
        self._token = token
        self._deliver = deliver
        self.checkpoint = token.checkpoint
        """Pass, wait here while the task is paused, or raise TaskCancelled when it was asked to stop.

        Call it in every loop that takes long: a task without checkpoints can be neither paused nor stopped, and is
        taken for stuck by an idle limit. It costs well under a microsecond.
        """
        self._log: logging.LoggerAdapter[logging.Logger] | None = None
        self._artifacts_base = request.artifacts
        self._artifacts: Artifacts | None = None

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry ``task_id``, ``task_name``, ``attempt`` and ``pipeline_run_id``."""
        if self._log is None:
            fields = {
                "task_id": self.task_id,
                "task_name": self.name,
                "attempt": self.attempt,
                "pipeline_run_id": self.pipeline_run_id,
            }
            self._log = logging.LoggerAdapter(_logger, fields)
        return self._log

    @property
    def artifacts(self) -> Artifacts:
        """The attempt's own folder for files; made when it is first used.

        ``ctx.artifacts / "model.bin"`` is a path in it; its ``folder`` is the folder itself. No two attempts share one.
        """
        if self._artifacts is None:
            from chongming_task.runtime.artifacts import Artifacts  # loads pathlib: only tasks that keep files pay

            base = DEFAULT_ARTIFACTS if self._artifacts_base is None else self._artifacts_base
            self._artifacts = Artifacts(base, self.task_id, self.attempt)
        return self._artifacts

    def progress(
        self,
        done: float | None = None,
        total: float | None = None,
        unit: str | None = None,
        message: str | None = None,
    ) -> None:
        """Say how far the task has come. Cheap: call it as often as you like; the engine hears of it when it is news.

        What is left out keeps its last value. It does not count as a checkpoint.

        Args:
            done: How much is done, in ``unit``.
            total: How much there is.
            unit: What is counted, such as ``"rows"``.
            message: A few words on what is going on.
        """
        self._token.report(done, total, unit, message)

    def track(self, items: Iterable[T], total: float | None = None, unit: str | None = None) -> Iterator[T]:
        """Iterate with a checkpoint before every item and the progress after it.

        Args:
            items: What to go through.
            total: How many there are; taken from ``len(items)`` where that works.
            unit: What is counted.

        Raises:
            TaskCancelled: From the loop, when the task was asked to stop.
        """
        if total is None:
            total = _length(items)
        checkpoint, report = self._token.checkpoint, self._token.report
        report(0, total, unit, None)
        for done, item in enumerate(items, start=1):
            checkpoint()
            yield item
            report(done, None, None, None)

    def sleep(self, seconds: float) -> None:
        """Sleep with checkpoints: a stop ends it at once, a pause holds it, and time paused is slept later.

        Args:
            seconds: How long, 0 or more.

        Raises:
            TaskCancelled: When the task was asked to stop.
        """
        self._token.wait(seconds)

    def emit(self, kind: str, payload: Any = None) -> None:
        """Tell subscribers something of your own.

        Args:
            kind: A word for it.
            payload: Any value; subscribers in this process get it as it is.
        """
        self._deliver(Emitted(self.attempt, kind, payload))

    def __repr__(self) -> str:
        return f"<TaskContext {self.name!r} attempt {self.attempt} of {self.task_id}>"


def _length(items: object) -> int | None:
    try:
        return len(items) if isinstance(items, Sized) else None
    except Exception:  # a length that cannot be told, as of some data sets: the loop goes on without it
        return None


def current_context() -> TaskContext:
    """The context of the task that runs in this thread, for code too deep to be handed ``ctx``.

    Raises:
        ConfigurationError: Outside a task.
    """
    context = _current.get()
    if context is None:
        raise ConfigurationError("no task runs here: current_context() works inside a task, and in what it calls")
    return context


def running_task_id() -> str | None:
    """The id of the task that runs in this thread, or None."""
    context = _current.get()
    return None if context is None else context.task_id
