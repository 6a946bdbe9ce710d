"""Records that are not in this controller's memory: whose they are, and how a verb reaches them.

One that another controller watches gets the verb as a command. One that nobody watches any more is taken over: the
store lets exactly one controller do so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress

from chongming_task.api.link import EngineLink
from chongming_task.api.submission import Submissions
from chongming_task.core.commands import command_of, refused, trigger_of
from chongming_task.core.policies import TaskPolicy
from chongming_task.core.ports import Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import Command, TaskSnapshot
from chongming_task.core.states import TaskStatus, Verb
from chongming_task.core.triggers import Asked, Forced, Orphaned
from chongming_task.core.verbs import refusal
from chongming_task.errors import ConcurrencyConflict, NotRestartable, StoreError, TaskError
from chongming_task.runtime.ids import new_id
from chongming_task.runtime.live import LiveTask, NoWork
from chongming_task.runtime.ownership import Watchers
from chongming_task.runtime.steward import Steward
from chongming_task.runtime.transfers import Order

__all__ = ["Elsewhere"]

_logger = logging.getLogger("chongming_task.store")
_GOES_ON = frozenset({TaskStatus.QUEUED, TaskStatus.RETRY_WAIT})  # by itself, when nobody asks
_SETTLE = frozenset({Verb.STOP, Verb.CANCEL, Verb.SKIP, Verb.PAUSE, Verb.RESET})  # after these it does not


class Elsewhere:
    """The way to records of other controllers, living and gone.

    Args:
        link: To this controller's engine and store.
        submissions: Knows what can be run here.
        owner: What this controller calls itself.
        lease_seconds: How long a controller that says nothing is taken to live.
    """

    def __init__(self, link: EngineLink, submissions: Submissions, owner: str, lease_seconds: float) -> None:
        self._link = link
        self._submissions = submissions
        self._owner = owner
        self._lease_seconds = lease_seconds
        # Between taking records over and handing them to the engine with what is to become of them.
        self.taking = threading.Lock()

    def steward(self, buckets: frozenset[int] | None) -> Steward:
        """What keeps this controller's lease on the store, and hears what others ask of it.

        Args:
            buckets: Those that are to be its own; None: it shares all of them.
        """
        return Steward(
            self._link.store,
            owner=self._owner,
            buckets=buckets,
            lease_seconds=self._lease_seconds,
            clock=self._link.engine.clock,
            take=self.take,
            follow=self.follow,
            doubt=self._link.engine.transfers.reaffirm,
        )

    def reach(self, task_id: str, trigger: Asked | Forced) -> LiveTask | None:
        """Bring a record that nobody else watches here, or send the verb to whoever watches it.

        Returns:
            The record, to which the verb can be applied here now, as long as it is held. None: the verb is on its way.

        Raises:
            InvalidTransition: When the record, as it is stored, refuses the verb.
            UnknownTask: When there is none.
            StoreError: When the store cannot be asked.
        """
        task = self._link.snapshot(task_id)
        no = refusal(task, trigger.verb, force=trigger.force) if isinstance(trigger, Asked) else None
        if no is not None and not self._only_seems_to_run(task):
            raise no
        if task.owner != self._owner and (watchers := self.watchers()).watch(task):
            self._link.store.submit_command(command_of(new_id(), task_id, trigger, self._link.engine.clock.now()))
            if task.owner in watchers.living:
                self._listen_for(task.owner)
            return None
        with self.taking:
            return self._bring_here(task, trigger)

    def _only_seems_to_run(self, task: TaskSnapshot) -> bool:
        """Whether what is stored was true of a process that is gone: that refuses nothing."""
        return task.holds_worker and task.owner != self._owner and not self.watchers().watch(task)

    def _listen_for(self, owner: str) -> None:
        """Hear what an owner was asked, if it has gone just now.

        As long as it lives it hears that itself, or answers it when it is closed. One that was gone before the command
        was there does not, and whoever has taken its records over may have looked for commands before.
        """
        if self._link.steward is not None and owner not in self.watchers().living:
            self._link.announce()
            self._link.steward.hear(owner)

    def watchers(self) -> Watchers:
        """Who watches records at this moment."""
        return Watchers(self._link.store.owner_leases(), self._link.engine.clock.now(), self._lease_seconds)

    def _bring_here(self, task: TaskSnapshot, trigger: Asked | Forced) -> LiveTask:
        """Take a record over, and watch it, for a verb that comes next; under ``taking``."""
        if (held := self._link.find(task.task_id)) is not None:  # a reconciliation has brought it
            return held
        taken = self.take_over([task])
        if not taken:
            found = self._link.snapshot(task.task_id)
            raise ConcurrencyConflict(
                task.task_id, expected=task.status_version, found=found.status_version, owner=found.owner
            )
        lost = task.holds_worker
        settles = isinstance(trigger, Forced) or trigger.verb in _SETTLE
        # It would start, and cannot, and nothing is asked that changes this.
        stuck = task.status in _GOES_ON and isinstance(taken[0].work, NoWork) and not settles
        self._link.engine.transfers.adopt(taken[0], [self.orphaned(task)] if lost or stuck else ())
        return self._link.find(task.task_id) or taken[0]

    def orphaned(self, task: TaskSnapshot) -> Orphaned:
        """What has happened to a record nobody watches."""
        # Its attempt tells better who ran it: its owner may be one that had taken it over, and died before it said so.
        attempts = self._link.store.attempts(task.task_id) if task.live else []
        owner = attempts[-1].owner if attempts else task.owner
        return Orphaned(self._owner, f"its process ({owner or 'unknown'}) is gone", owner)

    def take_over(self, tasks: Sequence[TaskSnapshot]) -> list[LiveTask]:
        """Make records this controller's, ready for the engine; see :meth:`claim`."""
        return [self.live(task) for task in self.claim(tasks)]

    def claim(self, tasks: Sequence[TaskSnapshot]) -> list[TaskSnapshot]:
        """Make records this controller's, in one transaction; nothing else about them changes.

        Returns:
            Those that are ours now. Of the others, somebody else was quicker.
        """
        self._link.announce()
        ours = [task.evolve({"owner": self._owner}) for task in tasks]
        pairs = zip(tasks, ours, strict=True)
        writes = [Write(mine, mine.status_version, expect_owner=task.owner) for task, mine in pairs]
        lost = {conflict.task_id for conflict in self._link.store.commit(writes)}
        if self._link.steward is not None:
            self._link.steward.forget({t.task_id for t in tasks if t.owner != self._owner and t.task_id not in lost})
        return [task for task in ours if task.task_id not in lost]

    def bury(self) -> None:
        """Answer what was asked of controllers that are gone, and forget them."""
        store, now = self._link.store, self._link.engine.clock.now()
        gone = self.watchers().gone
        for owner in gone:
            store.release_commands(owner)
        answer = refused(TaskError("the process that watched this record is gone, and has not heard this; ask again"))
        while gone and (left := store.claim_commands(self._owner, now=now, lease_seconds=60.0, records_of=gone)):
            for command in left:
                store.complete_command(command.id, self._owner, now=now, outcome=answer)
        for owner in gone:
            store.release_buckets(owner)
            store.release_owner(owner)

    def live(self, task: TaskSnapshot) -> LiveTask:
        """A stored record for the engine; with what to run, where that is known here."""
        try:
            found = self._submissions.revive(task)
        except NotRestartable as why:
            found = LiveTask(task, NoWork(str(why)), TaskPolicy(), stored_version=task.status_version)
        found.output_seq = self.lines_written(task.task_id)
        return found

    def lines_written(self, task_id: str) -> int:
        """How many lines a record has written so far, whoever ran it; new ones are counted from there."""
        newest = self._link.store.output(task_id, limit=1)
        return newest[-1].seq if newest else 0

    def equip(self, live: LiveTask) -> None:
        """Look again for what to run of a record that came here without: its task may be registered by now.

        Raises:
            NotRestartable: When it still cannot be run here.
        """
        if isinstance(live.work, NoWork):
            self._link.engine.transfers.equip(live, self._submissions.revive(live.snapshot))

    def follow(self) -> None:
        """Bring the handles of records that others have taken over up to date.

        Raises:
            StoreError: When the store cannot be asked.
        """
        away = dict(list(self._link.engine.index.elsewhere.items()))
        if away:
            for task in self._link.store.query(TaskQuery(task_ids=frozenset(away))):
                if task != away[task.task_id].snapshot:
                    self._link.engine.transfers.show(away[task.task_id], task)

    def take(self, command: Command) -> None:
        """Carry out what another process asks."""
        try:
            trigger = trigger_of(command)
            live = self._link.find(command.task_id)
            if live is None:
                with self.taking:
                    live = self._bring_here(self._link.snapshot(command.task_id), trigger)
            with suppress(NotRestartable):  # the engine refuses the verb, if it would run the task
                self.equip(live)
        except StoreError:  # not its fault: it is taken again
            raise
        except TaskError as error:
            self._refuse(command, error)
        except Exception as error:  # a fault of ours: told to whoever asked, and to the log
            _logger.exception("the command %s for %s could not be carried out", command.id, command.task_id)
            self._refuse(command, TaskError(f"its controller could not do that: {error!r}"))
        else:
            self._link.engine.transfers.obey(Order(command.id, self._owner, live, trigger))

    def _refuse(self, command: Command, error: TaskError) -> None:
        now = self._link.engine.clock.now()
        self._link.store.complete_command(command.id, self._owner, now=now, outcome=refused(error))
