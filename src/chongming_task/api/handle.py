"""What ``submit`` returns: the live view of one record, and its verbs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from chongming_task.api.display import Bundle, bundle_of
from chongming_task.api.seconds import patience_of, within
from chongming_task.core.failures import Failure
from chongming_task.core.query import status_of
from chongming_task.core.records import AttemptRecord, OutputLine, Progress, TaskSnapshot, Transition
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.live import LiveTask

if TYPE_CHECKING:
    import pandas as pd

    from chongming_task.api.controller import Controller
    from chongming_task.notebook.card import Card

__all__ = ["TaskHandle"]

R = TypeVar("R")


class TaskHandle(Generic[R]):
    """One record, as it is now. Every property reads the newest state; nothing is cached.

    Its verbs are the controller's, for this record: see :class:`~chongming_task.Controller` for what they mean, what
    they return and what they raise.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(sum, [1, 2, 3])
        ...     handle.result(timeout=10)
        6
    """

    def __init__(self, controller: Controller, live: LiveTask) -> None:
        self._controller = controller
        self._live = live

    # what it is

    @property
    def id(self) -> str:
        """The record's id; sorts by the time of submission."""
        return self._live.snapshot.task_id

    @property
    def name(self) -> str:
        """What it is called."""
        return self._live.snapshot.name

    @property
    def snapshot(self) -> TaskSnapshot:
        """The record as it stands."""
        return self._live.snapshot

    @property
    def status(self) -> TaskStatus:
        """Where it is in its life."""
        return self._live.snapshot.status

    @property
    def progress(self) -> Progress | None:
        """How far it has come; None when it never said."""
        return self._live.snapshot.progress

    @property
    def failure(self) -> Failure | None:
        """Why it ended without success, or why its last attempt did."""
        return self._live.snapshot.failure

    @property
    def running(self) -> bool:
        """Whether any worker of it still runs user code: true also of one that was given up as lost."""
        live = self._live
        execution = live.execution
        return (execution is not None and execution.running) or any(w.running for w in list(live.given_up.values()))

    def done(self) -> bool:
        """Whether it has ended, whichever way."""
        return self.snapshot.is_terminal

    @property
    def attempts(self) -> list[AttemptRecord]:
        """Its tries so far, first to last."""
        return self._controller.attempts(self.id)

    @property
    def transitions(self) -> list[Transition]:
        """Its audit trail."""
        return self._controller.transitions(self.id)

    def output(self, tail: int | None = None) -> list[OutputLine]:
        """What it has printed and logged so far, over all its attempts; see :meth:`Controller.output`.

        Args:
            tail: Only the newest that many lines.

        Raises:
            ConfigurationError: For a negative number.

        Example:
            >>> from chongming_task import Controller
            >>> with Controller(echo=False) as controller:
            ...     handle = controller.submit(print, "hello")
            ...     handle.wait()
            ...     [line.text for line in handle.output()]
            <TaskStatus.SUCCEEDED: 'succeeded'>
            ['hello']
        """
        if tail is not None and (type(tail) is not int or tail < 0):
            raise ConfigurationError(f"tail must be how many of the newest lines, 0 or more, got {tail!r:.50}")
        return self._controller.output(self.id, limit=tail)

    def frame(self) -> pd.DataFrame:
        """The record as a pandas DataFrame of one row.

        Raises:
            ConfigurationError: When pandas is not installed.
        """
        from chongming_task.history import snapshots_to_frame  # who has no extras never comes here

        return snapshots_to_frame([self.snapshot])

    # what comes of it

    def wait(self, timeout: float | None = None) -> TaskStatus:
        """Wait until it has ended, whichever way. Waiting changes nothing, and neither does giving up.

        Args:
            timeout: Seconds; None waits without end.

        Returns:
            The terminal status.

        Raises:
            TimeoutError: When it has not ended by then; it goes on.
            ConfigurationError: For a timeout that is no number of seconds, or negative.
        """
        if not self._wait_until(lambda task: task.is_terminal, timeout):
            raise self._late(timeout)
        return self.status

    def wait_for(self, *statuses: TaskStatus | str, timeout: float | None = None) -> TaskStatus:
        """Wait until it is in one of these states, or has ended without passing through one.

        Args:
            *statuses: Such as ``"running"``.
            timeout: Seconds; None waits without end.

        Returns:
            The status it is in then.

        Raises:
            TimeoutError: When neither is so by then; it goes on.
            ConfigurationError: For a status that does not exist.
        """
        if not self._wait_until(self._is_in(statuses), timeout):
            raise self._late(timeout, statuses)
        return self.status

    @staticmethod
    def _is_in(statuses: Iterable[TaskStatus | str]) -> Callable[[TaskSnapshot], bool]:
        wanted = {status_of(status) for status in statuses} | TERMINAL
        return lambda task: task.status in wanted

    def _late(self, timeout: float | None, statuses: Iterable[TaskStatus | str] = ()) -> TimeoutError:
        names = " or ".join(str(status) for status in statuses)
        said = f"is not {names}" if names else "has not ended"
        return TimeoutError(f"{self.name!r} {said} {within(timeout)}: it is {self.status}")

    def _wait_until(self, satisfied: Callable[[TaskSnapshot], bool], timeout: float | None) -> bool:
        return self._controller._link.wait_until(self._live, satisfied, patience_of(timeout))

    def result(self, timeout: float | None = None) -> R:
        """Wait for the value, and return it.

        Args:
            timeout: Seconds; None waits without end.

        Raises:
            TimeoutError: When it has not ended by then; it goes on.
            Exception: The task's own, with its traceback, when it failed.
            TaskTimeout: When the task overran one of its own limits, whether it failed or was lost for it. It is no
                TimeoutError, which is about the patience of who waits.
            TaskExecutionError: When it was stopped, cancelled, skipped or lost, or raised what is no Exception.
            ResultUnavailable: When it succeeded, but its value cannot be had here.
        """
        self.wait(timeout)
        return self._value()

    def _value(self) -> R:
        return cast(R, self._controller._values.of(self.snapshot, self._live.error, self._live.traceback))

    def __await__(self) -> Generator[Any, None, R]:
        """Wait for the value in a coroutine, as :meth:`result`; cancelling that leaves the task alone."""
        from chongming_task.api.aio import result_of  # 50 ms for asyncio, that only coroutines pay for

        return result_of(self).__await__()

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Wait for its end, and return what :meth:`result` would raise; None when it succeeded.

        Args:
            timeout: Seconds; None waits without end.

        Raises:
            TimeoutError: When it has not ended by then; it goes on.
        """
        if self.wait(timeout) is TaskStatus.SUCCEEDED:
            return None
        try:
            self._value()
        except Exception as error:  # the answer
            return error
        return None  # it was retried meanwhile, and succeeded

    # its verbs

    def start(self) -> bool:
        """Start it, if it was submitted with ``start=False``."""
        return self._controller.start(self.id)

    def stop(
        self, *, graceful: bool = True, timeout: float = 10.0, wait: bool = True, reason: str | None = None
    ) -> bool:
        """Stop it; True when that is confirmed."""
        return self._controller.stop(self.id, graceful=graceful, timeout=timeout, wait=wait, reason=reason)

    def pause(self, *, timeout: float = 30.0, wait: bool = True, reason: str | None = None) -> bool:
        """Hold it at its next checkpoint; True when it is held."""
        return self._controller.pause(self.id, timeout=timeout, wait=wait, reason=reason)

    def resume(self, *, reason: str | None = None) -> bool:
        """Let it go on."""
        return self._controller.resume(self.id, reason=reason)

    def cancel(self, reason: str | None = None, *, timeout: float = 10.0, wait: bool = True) -> bool:
        """Cancel it, as a pipeline would; True when that is confirmed."""
        return self._controller.cancel(self.id, reason, timeout=timeout, wait=wait)

    def retry(self, *, force: bool = False, reason: str | None = None) -> bool:
        """Try it again."""
        return self._controller.retry(self.id, force=force, reason=reason)

    def skip(self, reason: str | None = None) -> bool:
        """Pass over it."""
        return self._controller.skip(self.id, reason)

    def reset(self, *, confirm: bool = False, force: bool = False, reason: str | None = None) -> bool:
        """Forget its attempts and put it back to pending."""
        return self._controller.reset(self.id, confirm=confirm, force=force, reason=reason)

    def force_transition(self, to: TaskStatus | str, *, reason: str, actor: str) -> bool:
        """Set its status by hand."""
        return self._controller.force_transition(self.id, to, reason=reason, actor=actor)

    def can(self, verb: str, *, force: bool = False) -> tuple[bool, str | None]:
        """Whether a verb would be accepted, and why not."""
        return self._controller.can(self.id, verb, force=force)

    # notebook

    def card(self, *, language: str | None = None) -> Card:
        """Its live card for a notebook: one line with status, progress and buttons; also the last line of a cell.

        Args:
            language: ``"en"`` or ``"zh"``; default: as the browser prefers.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed, or for another language.
        """
        from chongming_task.notebook.card import Card

        return Card(self._controller, self.id, language=language)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return bundle_of(self, self.card)

    def __repr__(self) -> str:
        task = self.snapshot
        return f"<TaskHandle {task.name!r} {task.status} {task.task_id}>"
