"""What a running task holds: its name, its checkpoints, its progress."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sized
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from chongming_task.core.output import OutputMode
from chongming_task.core.ports import Emitted
from chongming_task.core.text import NAME_LIMIT, clean
from chongming_task.errors import ConfigurationError, UnknownInput
from chongming_task.runtime.output import OutputSink
from chongming_task.runtime.task_log import TaskLog, fields_of

if TYPE_CHECKING:
    from chongming_task.core.ports import AttemptRequest, Deliver
    from chongming_task.runtime.artifacts import Artifacts
    from chongming_task.runtime.token import CancellationToken

__all__ = ["DEFAULT_ARTIFACTS", "TaskContext", "current_context", "running_context", "running_task_id"]

DEFAULT_ARTIFACTS = ".chongming/artifacts"  # relative to where the process is

T = TypeVar("T")

_opening = threading.Lock()  # two threads of a task may be the first to write at once

running_context: ContextVar[TaskContext | None] = ContextVar("chongming_task_context", default=None)
"""The attempt that runs in this thread or coroutine; None outside of one. Set by ``invoke`` alone."""


_CHECKPOINT = """checkpoint() -> None

Pass at once, wait here while the task is paused, or raise TaskCancelled when it was asked to stop.

Call it in every loop that takes long: a task without checkpoints can be neither paused nor stopped, and is taken for
stuck by an idle limit. It costs well under a microsecond. In coroutines, await acheckpoint() instead.

Raises:
    TaskCancelled: When the task was asked to stop. Let it pass: clean up in ``finally``.
"""


class TaskContext:
    """The running attempt, as the task sees it. Made by the executor; a first parameter named ``ctx`` receives it.

    Attributes:
        task_id: The record.
        name: Its name.
        attempt: 1 for the first try.
        pipeline_run_id: The pipeline run it belongs to, or None.
        input: What the submission hands the task by name, such as a pipeline's parameters.

    Example:
        >>> from chongming_task import run_task
        >>> def count(ctx, n):
        ...     for i in ctx.track(range(n)):
        ...         pass
        ...     return i
        >>> run_task(count, 3).result()
        2
    """

    __slots__ = {  # with what help() says of them
        "_artifacts": None,
        "_artifacts_base": None,
        "_captured_since": None,
        "_deadline": None,
        "_deliver": None,
        "_echoes": None,
        "_log": None,
        "_output": None,
        "_token": None,
        "_upstream": None,
        "_write_output": None,
        "attempt": "1 for the first try.",
        "checkpoint": _CHECKPOINT,
        "input": "What the submission hands the task by name, such as a pipeline's parameters.",
        "name": "What the record is called.",
        "pipeline_run_id": "The pipeline run it belongs to, or None.",
        "task_id": "The record.",
    }

    def __init__(
        self, request: AttemptRequest, token: CancellationToken, deliver: Deliver, deadline: datetime | None = None
    ) -> None:
        self.task_id = request.task_id
        self.name = request.name
        self.attempt = request.attempt
        self.pipeline_run_id = request.pipeline_run_id
        self.input: Mapping[str, Any] = _NOTHING if request.input is None else Inputs("input", request.input)
        self._upstream = request.upstream
        self._deadline = deadline
        self._echoes = request.output is OutputMode.ECHO
        self._output: OutputSink | None = None
        self._write_output: Callable[..., int] | None = None
        self._captured_since = -1  # the newest router when it began; nobody's before that takes its text
        self._token = token
        self._deliver = deliver
        self.checkpoint = token.checkpoint  # an attribute: a method around it would cost as much again
        self._log: TaskLog | None = None
        self._artifacts_base = request.artifacts
        self._artifacts: Artifacts | None = None

    @property
    def log(self) -> TaskLog:
        """A logger for the task. Its lines reach the task's output at every level, whatever ``logging`` lets through.

        Its records carry ``task_id``, ``task_name``, ``attempt`` and ``pipeline_run_id``. Keywords that logging does
        not know are added to the message: ``ctx.log.info("loaded", rows=3)``.
        """
        if self._log is None:
            self._log = TaskLog(fields_of(self), self._log_unheard)
        return self._log

    @property
    def deadline(self) -> datetime | None:
        """When the attempt's time is up, UTC; None without a limit. Pauses push it out."""
        if self._deadline is None:
            return None
        try:
            return self._deadline + timedelta(seconds=self._token.held_seconds)
        except OverflowError:  # beyond the calendar: it is as late as it can be
            return self._deadline

    def upstream(self, name: str) -> Any:
        """The result of an upstream step.

        Args:
            name: The step's name in its pipeline.

        Raises:
            UnknownInput: When no step of that name hands this task its result.
            ResultUnavailable: When the result cannot be had in this process.
        """
        return (Inputs("upstream", {}) if self._upstream is None else self._upstream)[name]

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
        if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
            raise _no_items("track", items)
        checkpoint, report = self._token.checkpoint, self._token.report
        report(0, total, unit, None)
        for done, item in enumerate(items, start=1):
            checkpoint()
            yield item
            report(done, None, None, None)

    def sleep(self, seconds: float) -> None:
        """Sleep with checkpoints: a stop ends it at once, a pause holds it, and time paused is slept later.

        Args:
            seconds: How many seconds, 0 or more.

        Raises:
            TaskCancelled: When the task was asked to stop.
            ConfigurationError: For what is no number, or negative.
        """
        self._token.wait(_checked_nap(seconds))

    def emit(self, kind: str, payload: Any = None) -> None:
        """Tell subscribers something of your own.

        Args:
            kind: A word for it, such as ``"row"``.
            payload: Any value; subscribers in this process get it as it is. From another process it comes as a copy.

        Raises:
            ConfigurationError: When the kind is no text, or the payload cannot leave the task's process.

        Example:
            >>> from chongming_task import run_task
            >>> run_task(lambda ctx: ctx.emit("row", {"id": 7})).result()
        """
        self._deliver(Emitted(self.attempt, _checked_kind(kind), payload))

    # the same for coroutines

    async def acheckpoint(self) -> None:
        """A checkpoint for ``async def`` tasks: while the task is paused it waits without holding up the loop.

        Raises:
            TaskCancelled: When the task was asked to stop.

        Example:
            >>> from chongming_task import run_task
            >>> async def count(ctx, n):
            ...     for i in range(n):
            ...         await ctx.acheckpoint()
            ...     return n
            >>> run_task(count, 3).result()
            3
        """
        if self._token.pass_by():
            from chongming_task.runtime.awaiting import obey  # loads asyncio: only coroutines pay for it

            await obey(self._token)

    async def asleep(self, seconds: float) -> None:
        """Sleep with checkpoints, without holding up the loop; see :meth:`sleep`.

        Args:
            seconds: How many seconds, 0 or more.

        Raises:
            TaskCancelled: When the task was asked to stop.
            ConfigurationError: For what is no number, or negative.
        """
        from chongming_task.runtime.awaiting import sleep  # as above

        await sleep(self._token, _checked_nap(seconds))

    async def atrack(
        self, items: Iterable[T] | AsyncIterable[T], total: float | None = None, unit: str | None = None
    ) -> AsyncIterator[T]:
        """Iterate with a checkpoint before every item and the progress after it: ``async for item in ctx.atrack(...)``.

        Args:
            items: What to go through, an iterable or an async one.
            total: How many there are; taken from ``len(items)`` where that works.
            unit: What is counted.

        Raises:
            TaskCancelled: From the loop, when the task was asked to stop.
        """
        if not any(hasattr(items, each) for each in ("__aiter__", "__iter__", "__getitem__")):
            raise _no_items("atrack", items)
        report, done = self._token.report, 0
        report(0, _length(items) if total is None else total, unit, None)
        async for item in _each(items):
            await self.acheckpoint()
            yield item
            done += 1
            report(done, None, None, None)

    # for what writes the task's output

    @property
    def _log_fields(self) -> dict[str, Any]:
        """What log records made in the task carry."""
        return fields_of(self)

    def _write_first(self, stream: str, text: str, level: int | None = None) -> int:
        """Open the output and write to it: few tasks write, so few have one."""
        with _opening:
            if self._output is None:
                self._output = OutputSink(self.attempt, self._deliver)
            self._write_output = write = self._output.write
        return write(stream, text, level)

    def _close_output(self) -> None:
        """The attempt is over: what it wrote last is handed over."""
        if self._output is not None:
            self._output.close()

    def _log_unheard(self, level: int, text: str) -> None:
        """Take a line of ``log`` that logging lets nobody hear."""
        if self._captured_since >= 0:
            (self._write_output or self._write_first)("log", text, level)

    def __repr__(self) -> str:
        return f"<TaskContext {self.name!r} attempt {self.attempt} of {self.task_id}>"


def _checked_nap(seconds: float) -> float:
    try:
        good = seconds >= 0
    except TypeError:
        good = False
    if not good:
        raise ConfigurationError(f"sleep takes a number of seconds, 0 or more, got {seconds!r:.50}")
    return seconds


def _no_items(method: str, items: object) -> ConfigurationError:
    hint = f"a number of steps is ctx.{method}(range({items!r:.50}))" if isinstance(items, int) else "such as a list"
    if hasattr(items, "__aiter__"):
        hint = "this one goes into ctx.atrack, in a coroutine"
    return ConfigurationError(f"{method} goes through items, got {items!r:.50}; {hint}")


def _checked_kind(kind: Any) -> str:
    if not isinstance(kind, str) or not kind.strip():
        raise ConfigurationError(f'emit takes a word for what it tells, such as "row", got {kind!r:.50}')
    return clean(kind, NAME_LIMIT)


class Inputs(Mapping[str, Any]):
    """What a task was handed by name; a name that is not there is told with those that are."""

    __slots__ = ("_values", "_where")

    def __init__(self, where: str, values: Mapping[str, Any]) -> None:
        self._where = where
        self._values = values

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except (KeyError, TypeError):
            known = ", ".join(repr(each) for each in self._values) or "nothing"
            raise UnknownInput(f"ctx.{self._where} holds no {name!r:.100}; it holds {known:.500}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<ctx.{self._where}: {', '.join(map(repr, self._values)) or 'nothing'}>"


_NOTHING = Inputs("input", {})


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if hasattr(items, "__aiter__"):
        async for item in cast("AsyncIterable[T]", items):
            yield item
    else:
        for each in cast("Iterable[T]", items):  # type: ignore[redundant-cast,unused-ignore]
            yield each


def _length(items: object) -> int | None:
    try:
        return len(items) if isinstance(items, Sized) else None
    except Exception:  # a length that cannot be told, as of some data sets: the loop goes on without it
        return None


def current_context() -> TaskContext:
    """The context of the task that runs in this thread, for code too deep to be handed ``ctx``.

    Raises:
        ConfigurationError: Outside a task.

    Example:
        >>> from chongming_task import run_task
        >>> def deep():
        ...     return current_context().attempt
        >>> run_task(deep).result()
        1
    """
    context = running_context.get()
    if context is None:
        raise ConfigurationError("no task runs here: current_context() works inside a task, and in what it calls")
    return context


def running_task_id() -> str | None:
    """The id of the task that runs in this thread, or None."""
    context = running_context.get()
    return None if context is None else context.task_id
