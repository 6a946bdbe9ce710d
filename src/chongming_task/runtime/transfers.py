"""Records that come from other controllers and go to them, and what others ask of those here. The engine's own.

``adopt``, ``equip``, ``show``, ``reaffirm`` and ``obey`` may be called from any thread, the rest on the ticking one.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chongming_task.core.commands import done, refused
from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import CommandAnswer, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.core.triggers import Timer, Trigger
from chongming_task.runtime.live import LiveTask, NoWork
from chongming_task.runtime.task_log import fields_of

if TYPE_CHECKING:
    from chongming_task.runtime.engine import Engine

__all__ = ["Order", "Transfers"]

S = TaskStatus
_logger = logging.getLogger("chongming_task.engine")


class Order(NamedTuple):
    """A verb from another process."""

    command_id: str
    owner: str  # who has taken the command
    live: LiveTask  # of an ended record only the newest are kept: this one is, until it is done
    trigger: Trigger


class Transfers:
    """The way in and out for records of other controllers.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def adopt(self, live: LiveTask, triggers: Sequence[Trigger] = ()) -> None:
        """Watch a record that the store holds, and that is this controller's there already; apply triggers to it."""
        self._engine.inbox.put(self.take_over, live, triggers)

    def equip(self, live: LiveTask, found: LiveTask) -> None:
        """Let a record that could not be run here be run as ``found`` says."""
        self._engine.inbox.put(_equip, live, found)

    def show(self, live: LiveTask, task: TaskSnapshot) -> None:
        """Publish what the store says of a record that another controller has taken over."""
        self._engine.inbox.put(self._take_news, live, task)

    def reaffirm(self) -> None:
        """Find out which records are still this controller's, by writing them as they are.

        Others may have thought it dead; it lets go of those that are not.
        """
        self._engine.inbox.put(self._take_doubt)

    def obey(self, order: Order) -> None:
        """Carry out a command of another process; the answer is stored with what it changes."""
        self._engine.inbox.put(self._take_order, order)

    # on the ticking thread

    def take_over(self, live: LiveTask, triggers: Sequence[Trigger]) -> None:
        """Watch a record that the store holds; apply triggers to it, or let it go on as it is."""
        engine, task = self._engine, live.draft
        known = engine.index.find(task.task_id)
        if known is not None and known.member is None and live.member is not None:
            engine.index.remove(known)  # it came here without its run
        elif known is not None or engine.is_shut:
            return
        engine.journal.resync(task.task_id)
        # A node of a run comes with its run; the handle of an earlier one goes on showing what the store says.
        if live.member is None and (known := engine.index.come_back(task.task_id)) is not None:
            live = _renewed(known, live)
        engine.index.add(live)
        engine.index.follow(live)
        engine.outbox.mark(live)  # views learn of it
        for trigger in triggers:
            engine.apply(live, trigger)
        if triggers or isinstance(live.work, NoWork):
            return
        if task.status is S.QUEUED:
            engine.ready.add(task.task_id, live.needs, priority=task.priority, age=live.age)
        elif task.status is S.RETRY_WAIT and task.retry_at is not None:
            left = (task.retry_at - engine.now.utc).total_seconds()
            engine.supervisor.set_timer(live, Timer.RETRY, max(left, 0.0))

    def _take_news(self, live: LiveTask, task: TaskSnapshot) -> None:
        if self._engine.index.elsewhere.get(task.task_id) is live:
            self._replace(live, task)
            self._engine.outbox.mark(live)

    def _replace(self, live: LiveTask, task: TaskSnapshot) -> None:
        before, live.draft = live.draft.status, task
        if live.member is not None and task.status is not before:  # in the next tick: this one may be half told
            assert self._engine.pipelines is not None
            self._engine.inbox.put(self._engine.pipelines.moved, live, before, task.status)

    def _take_doubt(self) -> None:
        for live in self._engine.tasks.values():
            task, held = live.draft, live.stored_version
            if held is not None and task.status not in TERMINAL and not live.transitions:  # those are written anyway
                self._engine.journal.add([Write(task, held, expect_owner=task.owner)])

    def _take_order(self, order: Order) -> None:
        command_id, owner, live, trigger = order
        answer = self._engine.answer(live.draft.task_id, trigger)
        outcome = refused(answer.error) if answer.error is not None else done(live.draft.status, acted=answer.acted)
        said = CommandAnswer(command_id, owner, self._engine.now.utc, outcome)
        if live.transitions:
            live.answers += (said,)
        else:
            self._engine.journal.answer(said)

    def fence(self, task_ids: Collection[str]) -> list[LiveTask]:
        """Let go of records that somebody else has written or taken over: what the store holds is what counts.

        Their workers are told to stop and are on their own, as those that were given up.
        """
        lives = [live for task_id in task_ids if (live := self._engine.tasks.get(task_id)) is not None]
        stored = self._stored([live.draft.task_id for live in lives])
        for live in lives:
            self._let_go(live)
            live.transitions, live.attempts, live.answers = (), (), ()
            self._replace(live, stored.get(live.draft.task_id) or self._lost(live.draft))
            live.stored_version = live.draft.status_version
        return lives

    def _let_go(self, live: LiveTask) -> None:
        engine, task_id = self._engine, live.draft.task_id
        engine.index.leave(live)
        engine.ready.discard(task_id)
        engine.ready.release(task_id)
        for timer in live.timers:
            engine.supervisor.clear_timer(live, timer)
        engine.supervisor.let_go(live, give_up=True)
        for worker in live.given_up.values():
            try:
                worker.stop(StopReason.DETACHED)
            except Exception:  # an executor's fault must not take the other records of the tick along
                _logger.exception("the engine could not stop a worker of %s", task_id, extra=fields_of(live.draft))

    def _stored(self, task_ids: Collection[str]) -> dict[str, TaskSnapshot]:
        if not task_ids:
            return {}
        try:
            found = self._engine.journal.store.query(TaskQuery(task_ids=frozenset(task_ids)))
        except Exception:  # whatever the store raises: the records will say that they cannot be read
            _logger.exception("the store could not be asked about records of other controllers")
            return {}
        return {task.task_id: task for task in found}

    def _lost(self, task: TaskSnapshot) -> TaskSnapshot:
        failure = Failure(FailureKind.LOST, "somebody else wrote this record, and what became of it cannot be read")
        return task.evolve({"status": S.LOST, "live": False, "failure": failure, "ended_at": self._engine.now.utc})


def _equip(live: LiveTask, found: LiveTask) -> None:
    live.work, live.policy, live.needs, live.hooks = found.work, found.policy, found.needs, found.hooks


def _renewed(known: LiveTask, found: LiveTask) -> LiveTask:
    """A record that was here before, as it is stored now. What to run of it is known since then."""
    known.draft, known.stored_version = found.draft, found.stored_version
    known.output_seq = max(known.output_seq, found.output_seq)  # whoever ran it meanwhile has written, too
    if isinstance(known.work, NoWork):
        _equip(known, found)
    return known
