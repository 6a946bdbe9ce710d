"""What workers say, taken into the records: they begin, are held, come further, write and end. The engine's own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from chongming_task.core.ports import OutputWritten, ProgressReported, Report, Touch
from chongming_task.core.records import Progress
from chongming_task.core.triggers import Ended, Held, Now, Started, Timer
from chongming_task.runtime.collect import collect
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.supervisor import PROGRESS_SECONDS
from chongming_task.runtime.task_log import fields_of

if TYPE_CHECKING:
    from chongming_task.runtime.engine import Engine

__all__ = ["Reports"]

_NOTHING, _MOMENT, _TICK = timedelta(), timedelta(microseconds=1), timedelta(milliseconds=1)
_logger = logging.getLogger("chongming_task.engine")


class Reports:
    """Takes the reports of workers. On the ticking thread.

    Args:
        engine: The engine.
        dice: Random numbers in [0, 1), for jitter.
    """

    def __init__(self, engine: Engine, dice: Callable[[], float]) -> None:
        self._engine = engine
        self._dice = dice

    def take(self, live: LiveTask, epoch: int, report: Report) -> None:
        """Take the report of a worker that was launched when the record had been reset ``epoch`` times."""
        engine = self._engine
        if isinstance(report, Ended) and (epoch, report.attempt) in live.given_up:
            self._ended_too_late(live, epoch, report)
        elif epoch != live.epoch:  # of an attempt that a reset has forgotten
            return
        elif isinstance(report, Started):
            engine.supervisor.started(live, report.attempt)
            engine.pulse.begin()
            engine.apply(live, report)
        elif isinstance(report, Ended):
            self._end(live, report)
        elif isinstance(report, ProgressReported):
            self.look(live)
        elif isinstance(report, OutputWritten):
            self.collect(live, report)
        elif isinstance(report, Held):
            self.look(live)
            engine.apply(live, report)
        elif (narrator := engine.bus.narrator) is not None:
            engine.outbox.events.append(narrator.emitted(live.draft, report, engine.now.utc))

    def _end(self, live: LiveTask, ended: Ended) -> None:
        engine = self._engine
        if live.draft.live and ended.attempt == live.draft.attempt:
            self.look(live)
            live.error = None if live.execution is None else live.execution.error
            live.traceback = None if live.error is None else live.error.__traceback__
            if ended.failure is not None:
                engine.now = Now(engine.now.utc, self._dice())
            engine.apply(live, engine.supervisor.measured(live, ended))

    def _ended_too_late(self, live: LiveTask, epoch: int, report: Ended) -> None:
        """A worker that was given up is gone after all: noted, never counted."""
        engine = self._engine
        del live.given_up[epoch, report.attempt]
        how = "returned" if report.failure is None else f"ended ({report.failure.kind}: {report.failure.message})"
        live.draft = live.draft.evolve({"abandoned": bool(live.given_up)})
        engine.outbox.mark(live)
        note = f"the worker that was given up {how} at {engine.now.utc:%Y-%m-%d %H:%M:%S} UTC"
        known = (report.attempt, note) if epoch == live.epoch else None  # a reset has forgotten its attempt
        task = live.draft
        engine.journal.note(Touch(task.task_id, abandoned=task.abandoned, note=known, owner=task.owner))
        engine.index.follow(live)  # nothing keeps it in memory any more

    def look(self, live: LiveTask) -> None:
        """Bring a worker's progress up to date; look again in a moment if it moved."""
        engine, execution = self._engine, live.execution
        try:
            found = None if execution is None else execution.progress
        except Exception:  # an executor's fault must not swallow the report that comes with it
            _logger.exception(
                "the engine could not read the progress of %s", live.draft.task_id, extra=fields_of(live.draft)
            )
            return
        if found is None or found.says_the_same(live.draft.progress):
            return
        now, known = engine.now.utc, live.draft.progress
        if known is not None and known.updated_at is not None and _NOTHING <= known.updated_at - now < _TICK:
            now = known.updated_at + _MOMENT  # twice within a tick: newer all the same, and another event
        progress = Progress(found.done, found.total, found.unit, found.message, now)
        live.draft = live.draft.evolve({"progress": progress, "last_heartbeat_at": now})
        live.touched = True
        engine.outbox.mark(live)
        engine.supervisor.set_timer(live, Timer.PROGRESS, PROGRESS_SECONDS)
        if (narrator := engine.bus.narrator) is not None:
            engine.outbox.events.append(narrator.progressed(live.draft, progress, now))

    def take_output(self, task_id: str) -> None:
        """Take in what the workers of a record have written so far."""
        live = self._engine.tasks.get(task_id)
        if live is not None and live.writers:
            self.collect(live)

    def collect(self, live: LiveTask, news: OutputWritten | None = None) -> None:
        """Take in what workers have written; come back in a moment while they write."""
        engine = self._engine
        lines, again = collect(live, news)
        if again is not None:
            engine.supervisor.set_timer(live, Timer.OUTPUT, again)
        if lines:
            engine.journal.add_output(lines)
            if (narrator := engine.bus.narrator) is not None:
                engine.outbox.events += narrator.wrote(live.draft, lines)
