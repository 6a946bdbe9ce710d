"""An executor whose workers do what the test says, when it says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, describe_exception
from chongming_task.core.ports import AttemptRequest, Deliver, ProgressReported
from chongming_task.core.records import Progress
from chongming_task.core.triggers import Ended, Held, Started

__all__ = ["ManualExecution", "ManualExecutor"]


class ManualExecution:
    """One attempt, played by hand.

    Attributes:
        request: What the engine wants run.
        stop_reason: Why it was told to stop; None when it was not.
        pause_request: The pause that stands; None when there is none.
        held_for: The pause it waits for at a checkpoint; None when it does not wait.
        killed: Whether it was ended by force.
        worker: What its worker is called; the test's choice.

    Args:
        deliver: Where it reports to.
        monotonic: The clock that checkpoints are noted with.
        killable: Whether it can be ended by force.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.testing import ManualDriver
        >>> executor, driver = ManualExecutor(), ManualDriver()
        >>> controller = Controller(executor=executor, driver=driver)
        >>> handle = controller.submit(pow, 2, 10)
        >>> driver.settle()
        >>> execution = executor.of(handle.id)
        >>> execution.begin()
        >>> driver.settle()
        >>> _ = handle.stop(wait=False)
        >>> execution.checkpoint()  # it obeys
        >>> driver.settle()
        >>> execution.stop_reason.value, handle.status.value
        ('stop', 'stopped')
        >>> _ = controller.close()
    """

    def __init__(
        self, request: AttemptRequest, deliver: Deliver, monotonic: Callable[[], float], *, killable: bool
    ) -> None:
        self.request = request
        self.killable = killable
        self.stop_reason: StopReason | None = None
        self.pause_request: int | None = None
        self.held_for: int | None = None
        self.killed = False
        self.running = True
        self.worker: str | None = None
        self.last_checkpoint: float | None = None
        self.progress: Progress | None = None
        self.error: BaseException | None = None
        self._deliver = deliver
        self._monotonic = monotonic

    # the engine's side

    def stop(self, reason: StopReason) -> None:
        """Note that it is to stop.

        Args:
            reason: Why.
        """
        self.stop_reason, self.held_for = reason, None

    def pause(self, request: int) -> bool:
        """Note that it is to pause.

        Args:
            request: The number of the pause.
        """
        self.pause_request = request
        return True

    def resume(self) -> None:
        """Note that it may go on."""
        self.pause_request = self.held_for = None

    def kill(self, reason: StopReason) -> None:
        """End at once, as a process does.

        Args:
            reason: Why.
        """
        self.killed = True
        self._end(failure=reason.obeyed("killed"))

    # the test's side

    def begin(self, pid: int | None = None) -> None:
        """User code begins.

        Args:
            pid: Of its process, if it plays one.
        """
        self._deliver(Started(self.request.attempt, pid))

    def checkpoint(self) -> None:
        """Pass a checkpoint: obey a stop, or hold for a pause, or just go on."""
        self.last_checkpoint = self._monotonic()
        if self.stop_reason is not None:
            self._end(failure=self.stop_reason.obeyed("stopped at a checkpoint"))
        elif self.pause_request is not None:
            self.held_for = self.pause_request
            self._deliver(Held(self.request.attempt, self.pause_request))

    def report(
        self, done: float, total: float | None = None, unit: str | None = None, message: str | None = None
    ) -> None:
        """Report progress.

        Args:
            done: How much is done, in ``unit``.
            total: How much there is.
            unit: What is counted.
            message: A few words.
        """
        self.progress = Progress(done, total, unit, message)
        self._deliver(ProgressReported(self.request.attempt))

    def finish(self, value: Any = None) -> None:
        """Return a value, JSON already.

        Args:
            value: What it returned; JSON.
        """
        self._end(outcome=value)

    def fail(self, error: BaseException | Failure) -> None:
        """Raise, or end with a failure of the test's choice.

        Args:
            error: What it raised, or the failure itself.
        """
        if isinstance(error, Failure):
            self._end(failure=error)
        else:
            self.error = error
            self._end(failure=describe_exception(error, retryable=self.request.retry.answers(error)))

    def _end(self, *, outcome: Any = None, failure: Failure | None = None) -> None:
        self.running = False
        self._deliver(Ended(self.request.attempt, outcome, failure))

    def deliver_again(self, report: Any) -> None:
        """Send a report of the test's choice: late, doubled, from another attempt.

        Args:
            report: One of ``Started``, ``Held``, ``Ended``, ``ProgressReported``.
        """
        self._deliver(report)


class ManualExecutor:
    """Keeps every attempt it is asked to launch, and runs none.

    Args:
        monotonic: The clock that checkpoints are noted with, such as ``FakeClock().monotonic``.
        killable: Whether its workers can be ended by force, as processes can.

    Attributes:
        obstacle: Why nothing can be launched; set it, and call :meth:`clear` when it is gone.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.testing import ManualDriver
        >>> executor, driver = ManualExecutor(), ManualDriver()
        >>> controller = Controller(executor=executor, driver=driver)
        >>> handle = controller.submit(pow, 2, 10)
        >>> driver.settle()
        >>> executor.of(handle.id).begin()
        >>> executor.of(handle.id).finish(7)
        >>> driver.settle()
        >>> handle.status.value, handle.snapshot.outcome
        ('succeeded', 7)
        >>> _ = controller.close()
    """

    name = "manual"

    def __init__(self, monotonic: Callable[[], float] = lambda: 0.0, *, killable: bool = False) -> None:
        self.launched: list[ManualExecution] = []
        self.closed = False
        self.obstacle: str | None = None
        self._tell: Callable[[], None] = lambda: None
        self._monotonic = monotonic
        self._killable = killable

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Accepts everything.

        Args:
            target: Does not matter.
            args: Does not matter.
            kwargs: Does not matter.
        """

    def launch(self, request: AttemptRequest, deliver: Deliver) -> ManualExecution:
        """Keep the attempt.

        Args:
            request: What to run.
            deliver: Where it reports to.
        """
        execution = ManualExecution(request, deliver, self._monotonic, killable=self._killable)
        self.launched.append(execution)
        return execution

    def of(self, task_id: str) -> ManualExecution:
        """The newest attempt of a record.

        Args:
            task_id: The record's id.

        Raises:
            LookupError: When none was launched.
        """
        for execution in reversed(self.launched):
            if execution.request.task_id == task_id:
                return execution
        raise LookupError(f"no attempt of {task_id} was launched")

    def when_clear(self, tell: Callable[[], None]) -> None:
        """See :class:`~chongming_task.core.ports.Obstructed`."""
        self._tell = tell

    def clear(self) -> None:
        """Nothing is in the way any more."""
        self.obstacle = None
        self._tell()

    @property
    def running(self) -> list[ManualExecution]:
        """Attempts that have not ended."""
        return [execution for execution in self.launched if execution.running]

    def close(self) -> None:
        """Note it."""
        self.closed = True
