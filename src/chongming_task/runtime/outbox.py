"""What a tick has brought about, until its end: then it is stored, told and done, in that order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from chongming_task.core.effects import Effect
from chongming_task.core.ports import Clock, Touch, Write
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.triggers import Timer
from chongming_task.errors import ConcurrencyConflict
from chongming_task.runtime.bus import Bus
from chongming_task.runtime.journal import Journal
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.supervisor import Supervisor
from chongming_task.runtime.task_log import fields_of
from chongming_task.runtime.timers import Timers
from chongming_task.runtime.unhappy import warn_of

if TYPE_CHECKING:
    from chongming_task.core.events import Event

__all__ = ["STORE_TIMER", "Outbox"]

STORE_TIMER = ("", Timer.RETRY)
"""Wakes the engine when the journal should try again; no record has an empty id."""

_SLOW_SECONDS = 0.001  # a store that takes so long for a tick is worth a wait:
_GATHER_SHARE = 0.05  # this much of what it took,
_GATHER_SECONDS = 0.005  # and no more
_logger = logging.getLogger("chongming_task.engine")


class Outbox:
    """Collects changes, events, effects and answers. The engine's own.

    Args:
        journal: Stores.
        bus: Tells.
        supervisor: Does.
        clock: Time.
        timers: The engine's timers.
        fence: Lets go of records that turn out to be somebody else's, and gives them back as they are stored.
    """

    def __init__(
        self,
        journal: Journal,
        bus: Bus,
        supervisor: Supervisor,
        clock: Clock,
        timers: Timers[tuple[str, Timer]],
        *,
        fence: Callable[[Collection[str]], list[LiveTask]],
    ) -> None:
        self.events: list[Event] = []
        self.effects: list[tuple[LiveTask, int, Effect]] = []  # with the attempt they are meant for
        self.unhappy: list[TaskSnapshot] = []  # records that failed or were lost
        # Called last, with what turned out to be somebody else's: the rest of what they speak of is stored by then.
        self.answers: list[Callable[[Mapping[str, ConcurrencyConflict]], None]] = []
        self._took = 0.0  # seconds, by the store, the last time
        self._changed: list[LiveTask] = []
        self._journal = journal
        self._bus = bus
        self._supervisor = supervisor
        self._clock = clock
        self._timers = timers
        self._fence = fence

    @property
    def worth_a_wait(self) -> float:
        """Seconds to wait for what other workers report, so that it is stored together: none where that is quick.

        Else half of the workers report while the others' reports are stored, by turns, and transactions are twice as
        many.
        """
        return min(self._took * _GATHER_SHARE, _GATHER_SECONDS) if self._took >= _SLOW_SECONDS else 0.0

    def mark(self, live: LiveTask) -> None:
        """Note that a record has changed."""
        if not live.changed:
            live.changed = True
            self._changed.append(live)

    def settle(self) -> bool:
        """Store, then tell, then act; whether there was anything."""
        changed, events, effects, answers = self._changed, self.events, self.effects, self.answers
        if not (changed or events or effects or answers or self._journal.due(self._clock.monotonic())):
            return False
        self._changed, self.events, self.effects, self.answers = [], [], [], []
        self._store(changed)
        fenced = {conflict.task_id: conflict for conflict in self._journal.take_fenced()}
        if fenced:
            changed, events, effects = self._without(fenced, changed, events, effects)
        self._tell(changed, events)
        self._warn()
        for live, attempt, effect in effects:
            try:
                self._supervisor.perform(live, attempt, effect)
            except Exception:  # an executor's fault must not end the engine
                task = live.snapshot
                _logger.exception("the engine could not perform %s on %s", effect, task.task_id, extra=fields_of(task))
        for answer in answers:
            try:
                answer(fenced)
            except Exception:  # a caller's fault must not keep the others waiting
                _logger.exception("a caller raised on its answer")
        return True

    def _without(
        self,
        fenced: Mapping[str, ConcurrencyConflict],
        changed: list[LiveTask],
        events: list[Event],
        effects: list[tuple[LiveTask, int, Effect]],
    ) -> tuple[list[LiveTask], list[Event], list[tuple[LiveTask, int, Effect]]]:
        """Let go of records that are somebody else's: nothing of ours about them is told or done, for it is not so."""
        let_go = self._fence(fenced.keys())
        self.unhappy = [task for task in self.unhappy if task.task_id not in fenced]
        return (
            [*changed, *(live for live in let_go if not live.changed)],
            [event for event in events if event.task_id not in fenced],
            [effect for effect in effects if effect[0].draft.task_id not in fenced],
        )

    def _tell(self, changed: Sequence[LiveTask], events: Sequence[Event]) -> None:
        # In this order: who is woken may close his subscription at once, and who is told may look at the record.
        for live in changed:
            live.show()
        self._bus.publish(events, [live.snapshot for live in changed])
        for live in changed:
            live.wake()

    def _warn(self) -> None:
        unhappy, self.unhappy = self.unhappy, []
        for task in unhappy:
            warn_of(task)

    def _store(self, changed: Sequence[LiveTask]) -> None:
        writes, touches = [], []
        for live in changed:
            if live.transitions or live.stored_version is None:
                writes.append(_write_of(live))
            elif live.touched:
                draft = live.draft
                touches.append(Touch(draft.task_id, draft.progress, draft.last_heartbeat_at, owner=draft.owner))
        self._journal.add(writes)
        now = self._clock.monotonic()
        if self._journal.due(now):
            again = self._journal.flush(now)
            self._took = self._clock.monotonic() - now
            if again is not None:
                self._timers.set(STORE_TIMER, again)
        self._journal.touch(touches)


def _write_of(live: LiveTask) -> Write:
    """What the store lacks of a record; it lacks nothing afterwards."""
    task, held = live.draft, live.stored_version
    owner = None if held is None else task.owner
    write = Write(task, held, live.transitions, live.attempts, live.clear_attempts, live.answers, owner)
    live.stored_version = task.status_version
    live.transitions, live.attempts, live.answers = (), (), ()
    live.clear_attempts = False
    return write
