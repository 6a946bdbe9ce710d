"""Notices that running tasks pass checkpoints: one look at all of them every few seconds. The engine's own."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from chongming_task.core.triggers import Timer
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.task_log import fields_of

if TYPE_CHECKING:
    from chongming_task.runtime.engine import Engine

__all__ = ["PULSE_SECONDS", "PULSE_TIMER", "Pulse"]

PULSE_SECONDS = 5.0
PULSE_TIMER = ("", Timer.PROGRESS)
"""The time for the next look; no record has an empty id."""

_PULSE, _NOTHING = timedelta(seconds=PULSE_SECONDS), timedelta()
_logger = logging.getLogger("chongming_task.engine")


class Pulse:
    """Brings ``last_heartbeat_at`` up to date. Where nothing runs it does not look, and needs no timer.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._beats = False
        self._seen: dict[str, float] = {}  # the last checkpoint of each record, when it was looked at last

    def begin(self) -> None:
        """A worker has begun."""
        if not self._beats:
            self._beats = True
            self._wait()

    def end(self) -> None:
        """No worker is left."""
        self._beats = False
        self._seen = {}
        self._engine.timers.clear(PULSE_TIMER)

    def _wait(self) -> None:
        self._engine.timers.set(PULSE_TIMER, self._engine.clock.monotonic() + PULSE_SECONDS)

    def beat(self) -> None:
        """Look at every record that holds a worker."""
        holding, seen = self._engine.ready.holding, self._seen
        self._seen = {}
        for task_id in holding:
            live = self._engine.tasks.get(task_id)
            checkpoint = None if live is None else _last_checkpoint(live)
            if live is not None and checkpoint is not None:
                self._seen[task_id] = checkpoint
                if checkpoint != seen.get(task_id):
                    self._passed(live, checkpoint)
        self._beats = bool(holding)
        if holding:
            self._wait()

    def _passed(self, live: LiveTask, checkpoint: float) -> None:
        """A record has passed a checkpoint since the last look."""
        engine = self._engine
        now, heard = engine.now.utc, live.draft.last_heartbeat_at
        at = now - timedelta(seconds=max(engine.clock.monotonic() - checkpoint, 0.0))  # the end of a nap is to come
        if heard is not None and _NOTHING <= heard - at < _PULSE:  # by its progress, or its start
            return
        live.draft = live.draft.evolve({"last_heartbeat_at": at})
        live.touched = True
        engine.outbox.mark(live)
        if (narrator := engine.bus.narrator) is not None:
            engine.outbox.events.append(narrator.beat(live.draft, at))


def _last_checkpoint(live: LiveTask) -> float | None:
    try:
        return None if live.execution is None else live.execution.last_checkpoint
    except Exception:  # an executor's fault must not keep the others from being looked at
        _logger.exception(
            "the engine could not read the last checkpoint of %s", live.draft.task_id, extra=fields_of(live.draft)
        )
        return None
