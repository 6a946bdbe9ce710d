"""What every executor must do. Subclass it under pytest, and say how yours is made.

    class TestMyExecutor(ExecutorContract):
        def make_executor(self):
            return MyExecutor()

The tests wait for reports, never for time to pass; ``patience`` is how long they wait before they call it a failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import FailureKind
from chongming_task.core.policies import RetryPolicy
from chongming_task.core.ports import AttemptRequest, Emitted, Executor, Obstructed, ProgressReported
from chongming_task.core.triggers import Ended, Held, Started
from chongming_task.testing import contract_tasks as tasks
from chongming_task.testing.launched_attempt import LaunchedAttempt

__all__ = ["ExecutorContract"]


NAP_SECONDS = 1.0
"""``ctx.sleep`` naps for less at a time, and passes a checkpoint between two naps."""


class ExecutorContract:
    """The contract of :class:`~chongming_task.core.ports.Executor`; see the module for how to use it.

    Example:
        >>> from chongming_task import ThreadExecutor
        >>> class TestMyExecutor(ExecutorContract):
        ...     def make_executor(self):
        ...         return ThreadExecutor()
        >>> TestMyExecutor().test_it_reports_started_and_one_end()
    """

    patience = 20.0  # seconds, for one report

    def make_executor(self) -> Executor:
        """A new executor. Override it."""
        raise NotImplementedError("override make_executor() in your subclass")

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        """An executor for one test."""
        made = self.make_executor()
        try:
            yield made
        finally:
            made.close()

    def launch(
        self, executor: Executor, target: Callable[..., Any], *args: Any, context: bool = False, **fields: Any
    ) -> LaunchedAttempt:
        """Launch an attempt as the engine does.

        Args:
            executor: Who runs it.
            target: The function.
            args: Its arguments.
            context: Whether it takes a context first.
            fields: Of the request, beside those.
        """
        attempt = LaunchedAttempt(self.patience)
        executor.check(target, args, fields.get("kwargs", {}))
        said: dict[str, Any] = {"task_id": "task-1", "name": "contract", "attempt": 1} | fields
        request = AttemptRequest(target=target, args=args, takes_context=context, **said)
        attempt.execution = executor.launch(request, attempt.deliver)
        return attempt

    def ended(self, executor: Executor, target: Callable[..., Any], *args: Any, **options: Any) -> Ended:
        """Run an attempt to its end.

        Args:
            executor: Who runs it.
            target: The function.
            args: Its arguments.
            options: As for :meth:`launch`.
        """
        return self.launch(executor, target, *args, **options).end()

    # the order of things

    def test_it_reports_started_and_one_end(self) -> None:
        """Started first, Ended last, each once, marked with the attempt's number."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.add, 1, 2, attempt=3)
            ended = attempt.end()
            self.ended(executor, tasks.add, 1)
            assert [type(report) for report in attempt.reports] == [Started, Ended]
            assert [report.attempt for report in attempt.reports] == [3, 3]
            assert (ended.outcome, ended.failure) == (3, None)
            assert attempt.unread == 0

    def test_running_is_the_truth(self) -> None:
        """True while user code runs, False once the end was delivered."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.until_stopped, context=True)
            attempt.until(Started)
            assert attempt.execution.running
            attempt.execution.stop(StopReason.STOP)
            attempt.end()
            assert not attempt.execution.running

    def test_many_run_at_once(self) -> None:
        """No limit of its own, and no mix-up: eight are held at the same time, then all go on."""
        with self.executor() as executor:
            attempts = [
                self.launch(executor, tasks.say_began, context=True, task_id=f"task-{n}", attempt=n + 1)
                for n in range(8)
            ]
            for attempt in attempts:
                attempt.until(Emitted)
            for number, attempt in enumerate(attempts, start=1):
                attempt.execution.stop(StopReason.STOP)
                assert attempt.end().attempt == number

    def test_it_is_used_again_and_again(self) -> None:
        """One attempt after the other, each with its own outcome."""
        with self.executor() as executor:
            assert [self.ended(executor, tasks.add, n, 1).outcome for n in range(20)] == list(range(1, 21))

    def test_close_lets_the_running_end(self) -> None:
        """A task that runs when the executor is closed goes on to its end; closing twice does no harm."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.until_stopped, context=True)
            attempt.until(Started)
            executor.close()
            assert attempt.execution.running
            attempt.execution.stop(StopReason.STOP)
            attempt.end()

    def test_nothing_is_in_its_way(self) -> None:
        """One that can be obstructed is not when it was just made, and takes somebody to tell."""
        with self.executor() as executor:
            if isinstance(executor, Obstructed):
                executor.when_clear(lambda: None)
                assert executor.obstacle is None

    def test_its_worker_has_a_name_or_none(self) -> None:
        """A text for people, by the time it has begun."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.until_stopped, context=True)
            attempt.until(Started)
            assert attempt.execution.worker is None or attempt.execution.worker.strip()
            attempt.execution.stop(StopReason.STOP)
            attempt.end()

    # what it runs

    def test_arguments_arrive(self) -> None:
        """By position and by keyword."""
        with self.executor() as executor:
            executor.check(tasks.add, (1,), {"right": 2})
            assert self.ended(executor, tasks.add, 1, kwargs={"right": 2}).outcome == 3

    def test_the_context_is_given_to_who_takes_it(self) -> None:
        """With the fields of the request, and a deadline where there is a limit."""
        with self.executor() as executor:
            fields: dict[str, Any] = {
                "task_id": "task-7",
                "attempt": 2,
                "pipeline_run_id": "run-1",
                "limit_seconds": 60.0,
            }
            ended = self.ended(executor, tasks.who_am_i, context=True, **fields)
            assert ended.outcome == ["task-7", "contract", 2, "run-1", True]

    def test_current_context_works(self) -> None:
        """For code that was not given the context."""
        with self.executor() as executor:
            assert self.ended(executor, tasks.who_am_i_deep_down, task_id="task-8").outcome == "task-8"

    def test_coroutines_run_to_their_end(self) -> None:
        """``async def`` needs nothing of the caller."""
        with self.executor() as executor:
            assert self.ended(executor, tasks.add_later, 1, 2).outcome == 3

    def test_progress_arrives(self) -> None:
        """With the last numbers at the end, whatever was throttled on the way."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.count, 500, context=True)
            attempt.end()
            assert any(isinstance(report, ProgressReported) for report in attempt.reports)
            found = attempt.execution.progress
            assert found is not None
            assert (found.done, found.total, found.unit, found.message) == (500, 500, "rows", "counted")

    def test_what_it_emits_arrives_in_order(self) -> None:
        """Payloads are equal on this side."""
        payloads = [None, 1, "two", {"three": [3.0]}, ("four",), b"five"]
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.emit_all, payloads, context=True)
            attempt.end()
            assert attempt.emitted == payloads

    def test_checkpoints_are_seen(self) -> None:
        """``last_checkpoint`` moves while the task passes some, on the clock that the engine uses."""
        with self.executor() as executor:
            before = time.monotonic()
            attempt = self.launch(executor, tasks.until_stopped, context=True)
            attempt.until(Started)
            seen = {attempt.checkpoint_seen(lambda last: last is not None)}
            seen.add(attempt.checkpoint_seen(lambda last: last not in seen))
            latest = time.monotonic() + NAP_SECONDS  # one that sleeps counts as at a checkpoint till it wakes
            assert all(last is not None and before < last <= latest for last in seen)
            attempt.execution.stop(StopReason.STOP)
            attempt.end()

    # how it fails

    def test_an_exception_is_told_in_full(self) -> None:
        """Type, message, the task's own frames, and whether the policy answers it."""
        with self.executor() as executor:
            for policy, expected in ((RetryPolicy(), True), (RetryPolicy(give_up_on=(LookupError,)), False)):
                failure = self.ended(executor, tasks.fail, "no such thing", retry=policy).failure
                assert failure is not None
                assert failure.kind is FailureKind.EXCEPTION
                assert (failure.exception_type, failure.message) == ("builtins.LookupError", "no such thing")
                assert failure.traceback is not None
                assert "in fail" in failure.traceback
                assert failure.retryable is expected

    def test_an_exception_that_cannot_be_handled_is_told(self) -> None:
        """It cannot be printed, pickled or rebuilt, and ends its own attempt only."""
        with self.executor() as executor:
            failure = self.ended(executor, tasks.fail_awkwardly).failure
            assert failure is not None
            assert failure.kind is FailureKind.EXCEPTION
            assert failure.exception_type == "chongming_task.testing.contract_tasks.Awkward"
            assert self.ended(executor, tasks.add, 1, 2).outcome == 3

    def test_what_is_no_exception_ends_the_attempt_only(self) -> None:
        """SystemExit and its like: a failed attempt, and the executor goes on."""
        with self.executor() as executor:
            for kind in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
                failure = self.ended(executor, tasks.leave, kind).failure
                assert failure is not None
                assert (failure.kind, failure.exception_type) == (FailureKind.EXCEPTION, f"builtins.{kind}")
            assert self.ended(executor, tasks.add, 1, 2).outcome == 3

    def test_a_result_that_is_no_json_is_told(self) -> None:
        """RESULT_INVALID, whether the executor or the task finds it."""
        with self.executor() as executor:
            for target in (tasks.return_an_object, tasks.refuse_the_result):
                failure = self.ended(executor, target).failure
                assert failure is not None
                assert failure.kind is FailureKind.RESULT_INVALID

    # how it is told

    def test_a_stop_is_obeyed_at_a_checkpoint(self) -> None:
        """It counts as what it was told for."""
        expected = {
            StopReason.STOP: FailureKind.CANCELLED,
            StopReason.CANCEL: FailureKind.CANCELLED,
            StopReason.TIMEOUT_ATTEMPT: FailureKind.TIMEOUT_ATTEMPT,
            StopReason.TIMEOUT_IDLE: FailureKind.TIMEOUT_IDLE,
        }
        with self.executor() as executor:
            for reason, kind in expected.items():
                attempt = self.launch(executor, tasks.until_stopped, context=True)
                attempt.until(Started)
                attempt.execution.stop(reason)
                failure = attempt.end().failure
                assert failure is not None
                assert failure.kind is kind

    def test_a_stop_before_it_began_is_its_end(self) -> None:
        """Ended alone, when user code has not begun; else Started, and the end at a checkpoint."""
        with self.executor() as executor:
            for _ in range(10):
                attempt = self.launch(executor, tasks.say_began, context=True)
                attempt.execution.stop(StopReason.STOP)
                failure = attempt.end().failure
                assert failure is not None
                assert failure.kind is FailureKind.CANCELLED
                started = any(isinstance(report, Started) for report in attempt.reports)
                assert started or len(attempt.reports) == 1, attempt.reports

    def test_a_stop_is_told_again_to_who_swallows_it(self) -> None:
        """The next checkpoint raises again."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.swallow_the_stop, context=True)
            attempt.until(Started)
            attempt.execution.stop(StopReason.STOP)
            attempt.until(Emitted)
            assert attempt.end().failure is not None

    def test_a_pause_holds_it_until_it_may_go_on(self) -> None:
        """Held tells which request it answers; a worker that cannot be held says so at once."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.until_stopped, context=True)
            attempt.until(Started)
            if attempt.execution.pause(5):
                assert attempt.until(Held) == Held(1, 5)
                attempt.execution.resume()
                attempt.execution.pause(9)
                assert attempt.until(Held) == Held(1, 9)
                attempt.execution.resume()
            attempt.execution.stop(StopReason.STOP)
            attempt.end()

    def test_a_held_worker_obeys_a_stop(self) -> None:
        """It need not be resumed first."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.until_stopped, context=True)
            attempt.until(Started)
            if attempt.execution.pause(5):
                attempt.until(Held)
            attempt.execution.stop(StopReason.CANCEL)
            assert attempt.end().failure is not None

    def test_a_pause_that_is_withdrawn_leaves_no_trace(self) -> None:
        """Whether or not it was reached in between, the task comes to its end."""
        with self.executor() as executor:
            attempt = self.launch(executor, tasks.rounds, 0.05, context=True)
            attempt.execution.pause(5)
            attempt.execution.resume()
            assert attempt.end().outcome == "done"

    def test_a_kill_ends_what_obeys_nothing(self) -> None:
        """Where it is possible at all: soon, and with a failure of the reason's kind."""
        with self.executor() as executor:
            for reason, kind in (
                (StopReason.STOP, FailureKind.CANCELLED),
                (StopReason.TIMEOUT_START, FailureKind.TIMEOUT_START),
                (StopReason.TIMEOUT_ATTEMPT, FailureKind.TIMEOUT_ATTEMPT),
            ):
                attempt = self.launch(executor, tasks.until_stopped, context=True)
                if not attempt.execution.killable:
                    attempt.execution.stop(reason)
                    attempt.end()
                    return
                attempt.execution.kill(reason)
                failure = attempt.end().failure
                assert failure is not None
                assert (failure.kind, failure.retryable) == (kind, kind is not FailureKind.CANCELLED)
                assert not attempt.execution.running

    def test_a_kill_that_comes_too_late_hits_nobody(self) -> None:
        """The worker may run the next attempt by then."""
        with self.executor() as executor:
            first = self.launch(executor, tasks.add, 1)
            first.end()
            if first.execution.killable:
                second = self.launch(executor, tasks.rounds, 0.05, context=True)
                first.execution.kill(StopReason.STOP)
                assert second.end().outcome == "done"
