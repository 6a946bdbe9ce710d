"""Performs what the rules ask for on workers, and keeps their time. The engine's own; no lock, no thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from chongming_task.core.effects import ClearTimer, Detach, Effect, Launch, SetTimer, Signal, StopReason, TellWorker
from chongming_task.core.failures import describe_exception
from chongming_task.core.limits import AttemptWatch, next_limit
from chongming_task.core.ports import AttemptRequest, Clock, Deliver, Executor, Obstructed, Report
from chongming_task.core.states import TaskStatus
from chongming_task.core.triggers import Elapsed, Ended, Timer
from chongming_task.runtime.live import LiveTask, Work
from chongming_task.runtime.task_log import fields_of
from chongming_task.runtime.timers import Timers

__all__ = ["PROGRESS_SECONDS", "Supervisor"]

PROGRESS_SECONDS = 0.5  # how often a worker's progress is looked at while it moves

_logger = logging.getLogger("chongming_task.engine")

Surround = Callable[[AttemptRequest, Deliver], tuple[AttemptRequest, Deliver]]
"""What attempts run inside of, such as their spans. On the engine's thread, so it only prepares."""


class Supervisor:
    """Launches, tells, kills and times workers.

    Args:
        executor: Runs attempts.
        clock: The engine's clock.
        timers: The engine's timers.
        report: Takes a worker's report to the engine's inbox; called from worker threads.
    """

    def __init__(
        self,
        executor: Executor,
        clock: Clock,
        timers: Timers[tuple[str, Timer]],
        report: Callable[[LiveTask, int, Report], None],
    ) -> None:
        self.executor = executor
        self._clock = clock
        self._timers = timers
        self._report = report
        self.surround: Surround | None = None
        self.gate = executor if isinstance(executor, Obstructed) else None

    @property
    def obstacle(self) -> str | None:
        """Why nothing can be launched now; None when nothing is in the way."""
        return None if self.gate is None else self.gate.obstacle

    def perform(self, live: LiveTask, attempt: int, effect: Effect) -> None:
        """Do what a step asked for, now that it is stored.

        Args:
            live: The record.
            attempt: The attempt the step was about; what concerns an earlier one has lost its point.
            effect: What to do.
        """
        if isinstance(effect, Launch):
            self._launch(live, effect)
        elif isinstance(effect, Detach):
            for worker in live.given_up.values():  # all are on their own; one that was told before does not mind
                worker.stop(StopReason.DETACHED)
        elif attempt != live.draft.attempt:
            return
        elif isinstance(effect, SetTimer):
            if live.draft.live or effect.timer is Timer.RETRY:
                self.set_timer(live, effect.timer, effect.seconds)
        elif isinstance(effect, ClearTimer):
            self.clear_timer(live, effect.timer)
        elif isinstance(effect, TellWorker):
            self._tell(live, effect)
        elif live.execution is not None:
            live.execution.kill(effect.reason)

    def request_for(self, live: LiveTask) -> AttemptRequest:
        """The live attempt as an executor wants it."""
        task, work, policy = live.draft, live.work, live.policy
        assert isinstance(work, Work)  # the engine queues nothing that cannot be run
        return AttemptRequest(
            task_id=task.task_id,
            name=task.name,
            attempt=task.attempt,
            target=work.target,
            args=work.args,
            kwargs=work.kwargs,
            takes_context=work.takes_context,
            retry=policy.retry,
            limit_seconds=policy.timeout.per_attempt,
            pipeline_run_id=task.pipeline_run_id,
            results=work.results,
            artifacts=work.artifacts,
            output=work.output,
            input=work.input,
            upstream=work.upstream,
            origin=work.origin,
            tags=task.tags,
        )

    def _launch(self, live: LiveTask, effect: Launch) -> None:
        if not live.draft.live or live.draft.attempt != effect.attempt:
            return
        live.watch = AttemptWatch(launched=self._clock.monotonic())
        live.overrun = live.error = live.traceback = None
        deliver: Deliver = partial(self._report, live, live.epoch)
        try:
            request = self.request_for(live)
            if self.surround is not None:
                request, deliver = self.surround(request, deliver)
            live.execution = self.executor.launch(request, deliver)
        except Exception as error:  # no worker could be had: the attempt failed, the engine goes on
            _logger.exception("could not launch %s", live.draft.task_id, extra=fields_of(live.draft))
            failure = describe_exception(error, retryable=True)
            deliver(Ended(effect.attempt, failure=failure))
        self.time_limits(live)

    def _tell(self, live: LiveTask, effect: TellWorker) -> None:
        execution = live.execution
        if execution is None:
            return
        if effect.signal is Signal.STOP:
            assert effect.reason is not None
            execution.stop(effect.reason)
        elif effect.signal is Signal.RESUME:
            execution.resume()
        elif not execution.pause(effect.request):
            self.set_timer(live, Timer.PAUSE_WINDOW, 0.0)  # it never will: roll back at once

    def started(self, live: LiveTask, attempt: int) -> None:
        """User code begins: the start limit is met, the others begin to run."""
        if live.watch is not None and live.watch.started is None and attempt == live.draft.attempt:
            live.watch.start(self._clock.monotonic())
            self.time_limits(live)

    def let_go(self, live: LiveTask, *, give_up: bool) -> None:
        """Forget the attempt: it is over; or, with ``give_up``, its worker goes on and only does not count."""
        if live.timers:
            for timer in live.timers - {Timer.RETRY, Timer.OUTPUT}:
                self.clear_timer(live, timer)
        if give_up and live.execution is not None:
            live.given_up[live.epoch, live.draft.attempt] = live.execution
        live.execution = live.watch = live.overrun = None

    # time

    def set_timer(self, live: LiveTask, timer: Timer, seconds: float) -> None:
        """Wake the record after ``seconds``."""
        live.timers |= {timer}
        self._timers.set((live.draft.task_id, timer), self._clock.monotonic() + seconds)

    def clear_timer(self, live: LiveTask, timer: Timer) -> None:
        """Forget a timer of the record."""
        if timer in live.timers:
            live.timers -= {timer}
            self._timers.clear((live.draft.task_id, timer))

    def keep_time(self, live: LiveTask, before: TaskStatus, after: TaskStatus) -> None:
        """Stop and start the attempt's watch as it is held and goes on."""
        watch = live.watch
        if watch is None:
            return
        if after is TaskStatus.PAUSED:
            watch.hold(self._clock.monotonic())
        elif before is TaskStatus.PAUSED:
            watch.go_on(self._clock.monotonic())
        self.time_limits(live)

    def time_limits(self, live: LiveTask) -> None:
        """Set the timer for the next limit the attempt can overrun."""
        timeout, watch, execution = live.policy.timeout, live.watch, live.execution
        if watch is None or (timeout.start is None and timeout.per_attempt is None and timeout.idle is None):
            return
        due = next_limit(timeout, watch, execution.last_checkpoint if execution is not None else None)
        if due is None:
            self.clear_timer(live, Timer.LIMIT)
        else:
            self.set_timer(live, Timer.LIMIT, due[0] - self._clock.monotonic())

    def elapsed(self, live: LiveTask, timer: Timer) -> Elapsed | None:
        """The trigger for a timer that ran out; None when a look shows that it is not time yet."""
        now, watch, execution = self._clock.monotonic(), live.watch, live.execution
        if timer is Timer.LIMIT:
            if watch is None:
                return None
            due = next_limit(live.policy.timeout, watch, execution.last_checkpoint if execution is not None else None)
            if due is None or due[0] > now:  # a checkpoint came meanwhile
                self.time_limits(live)
                return None
            watch.overdue, live.overrun = True, due[1]
        return Elapsed(
            timer,
            live.draft.attempt,
            limit=live.overrun,
            killable=execution is not None and execution.killable,
            seconds=None if watch is None else watch.seconds(now),
            paused_seconds=0.0 if watch is None else watch.paused_seconds(now),
            worker=None if execution is None else execution.worker,
        )

    def measured(self, live: LiveTask, ended: Ended) -> Ended:
        """A worker's ``Ended`` with the time it took."""
        now, watch = self._clock.monotonic(), live.watch
        if watch is None:
            return ended
        return ended._replace(seconds=watch.seconds(now), paused_seconds=watch.paused_seconds(now))
