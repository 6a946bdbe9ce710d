"""Carries a tick's changes into the store, and keeps them when the store cannot take them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from chongming_task.core.ports import CommandAnswer, TaskStore, Touch, Write
from chongming_task.core.records import OutputLine
from chongming_task.errors import ConcurrencyConflict
from chongming_task.runtime.output_queue import OutputQueue
from chongming_task.runtime.set_aside import SetAside
from chongming_task.runtime.sift import Sifted, sift
from chongming_task.runtime.trouble import Trouble

__all__ = ["Journal"]

T = TypeVar("T")
_SIFT_EVERY = 3  # times in a row that a try fails, it is found out what of a batch can be stored
_NEWS_SECONDS = 1.0  # after frequent news has failed, the next is left out for so long
_NAMED = 5  # records, in one line
_logger = logging.getLogger("chongming_task.store")


class Journal:
    """Writes in order, one transaction a tick. A store that fails never fails a task: its writes wait and are retried.

    A record that the store refuses while it takes others is set aside, so that it holds nobody up.

    Args:
        store: Where to.
        owner: Whose records they are; None: nobody asks.
    """

    def __init__(self, store: TaskStore, owner: str | None = None) -> None:
        self.store = store
        self._owner = owner
        self.trouble = Trouble()
        self.set_aside = SetAside()
        # Records that somebody else wrote: ours are held back. Replaced, never changed: other threads read it.
        self.desynced: dict[str, ConcurrencyConflict] = {}
        self._fenced: list[ConcurrencyConflict] = []  # the newest of them
        self._backlog: dict[str, Write] = {}
        self._notes: list[Touch] = []
        self._answers: deque[CommandAnswer] = deque()
        self._output = OutputQueue()
        self.asked_at: float | None = None  # when the store was last given something; None: it has answered
        self._now = 0.0  # as the engine has told last
        self._news_after = 0.0

    @property
    def behind(self) -> int:
        """How many changes the store does not hold yet, without those that were set aside."""
        return len(self._backlog) + len(self._notes) + len(self._answers) + len(self._output)

    @property
    def failures(self) -> deque[str]:
        """What could not be stored, newest last."""
        return self.trouble.failures

    def due(self, now: float) -> bool:
        """Whether there is something to do, and the store is not resting from a failure."""
        self._now, trouble = now, self.trouble
        if trouble.rests_until is not None and now < trouble.rests_until:
            return False
        return self.behind > 0 or self.set_aside.due(now) or (trouble.owes and now >= trouble.pays_at)

    def add(self, writes: Iterable[Write]) -> None:
        """Take changes in, to be stored with the next ``flush``."""
        aside = self.set_aside.writes
        for write in writes:
            task_id = write.snapshot.task_id
            if task_id not in self.desynced:
                waiting = aside if task_id in aside else self._backlog
                earlier = waiting.get(task_id)
                waiting[task_id] = write if earlier is None else _merge(earlier, write)

    def note(self, touch: Touch) -> None:
        """Take in what became known late and nothing newer will follow; stored after the changes before it."""
        self._notes.append(touch)

    def answer(self, answer: CommandAnswer) -> None:
        """Take in the answer to a command that changes no record; stored after the changes that it may speak of."""
        self._answers.append(answer)

    def add_output(self, lines: Iterable[OutputLine]) -> None:
        """Take in what tasks wrote; stored before the changes that are taken in later."""
        self._output.add(lines)

    def take_fenced(self) -> list[ConcurrencyConflict]:
        """Records found, since the last call, to have been written or taken over by somebody else."""
        taken, self._fenced = self._fenced, []
        return taken

    def resync(self, task_id: str) -> None:
        """Write a record again that was held back or set aside: it has been read anew, and is ours."""
        self.desynced = {held: conflict for held, conflict in self.desynced.items() if held != task_id}
        self.set_aside.drop(task_id)

    def flush(self, now: float) -> float | None:
        """Store what was taken in, oldest first.

        Args:
            now: Monotonic seconds.

        Returns:
            When to flush again although nothing new comes; None when there is no need to.
        """
        self._now = self.asked_at = now
        trouble, waited = self.trouble, self.behind
        if self._store():
            trouble.over(now, waited)
            if self.set_aside.due(now):
                self._retry()
        else:
            trouble.rest(now)
        self.asked_at = None
        trouble.pay(now)
        if self.behind:  # it rests: until then it is not due, whatever else there is to do
            return trouble.rests_until
        moments = [self.set_aside.again] if self.set_aside.writes else []
        moments += [trouble.pays_at] if trouble.owes else []
        return min(moments, default=None)

    def finish(self, now: float) -> None:
        """Store at last what is left, and tell what cannot be: nobody will try again."""
        self.set_aside.again = now
        self.flush(now)
        self.trouble.end()
        left, aside = self.behind, self.set_aside.writes
        if left or aside:
            ids = [*self._backlog, *aside]
            named = ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
            why = self.trouble.failures[-1] if self.trouble.failures else "unknown"
            _logger.error(
                "%d changes are lost: the task store has not taken them before the end (records: %s; last failure: %s)",
                *(left + len(aside), named or "none", why),
            )

    # what is stored in one flush

    def _store(self) -> bool:
        # A record's last lines are there before its end is, but no line before its record. Output that cannot be stored
        # holds no change of status up.
        early = self._all_born()
        appended = early and self._append()
        committed = self._commit()
        if committed and not early:
            appended = self._append()
        return committed and appended and self._note() and self._answer()

    def _all_born(self) -> bool:
        """Whether the store knows every record whose output waits."""
        unborn = {task_id for task_id, write in self._backlog.items() if write.expect_version is None}
        return not unborn or unborn.isdisjoint(self._output.task_ids())

    def _try(self, what: str, batch: Sequence[T], store: Callable[[Sequence[T]], None]) -> Sifted[T] | None:
        """Store a batch, or what of it can be stored when it has failed often enough; None: it failed."""
        try:
            store(batch)
        except Exception as error:  # whatever the store raises: tasks go on, and the journal tells
            self.trouble.failed(self._now, what, error)
            if len(batch) == 1 or (self.trouble.in_a_row + 1) % _SIFT_EVERY:
                return None
            return sift(batch, store)
        return Sifted()

    def _append(self) -> bool:
        if self._output:
            self._try(f"output of {len(self._output)} lines", self._output.by_record(), self._append_lines)
        return not self._output

    def _append_lines(self, parts: Sequence[Sequence[OutputLine]]) -> None:
        ours = [line for part in parts for line in part if line.task_id not in self.desynced]
        self.store.append_output(ours, self._owner)
        self._output.stored(parts)

    def _commit(self) -> bool:
        waiting = list(self._backlog.values())
        if not waiting:
            return True
        sifted = self._try(f"commit of {len(waiting)} records", waiting, self._commit_writes)
        if sifted is None:
            return False
        for write, error in sifted.refused:
            task_id = write.snapshot.task_id
            del self._backlog[task_id]
            self.set_aside.add(write, self._now)
            self.trouble.told(
                self._now, f"the task store refuses record {task_id} and takes others, so it is set aside", error
            )
        for write in sifted.doubtful:  # others first, the next time
            task_id = write.snapshot.task_id
            self._backlog[task_id] = self._backlog.pop(task_id)
        if len(self._backlog) < len(waiting):
            self.trouble.in_a_row = _SIFT_EVERY - 2  # something was stored; the rest is soon gone through as well
        return not self._backlog

    def _commit_writes(self, writes: Sequence[Write]) -> None:
        conflicts = list(self.store.commit(writes))
        if conflicts:
            conflicts = self._settle_conflicts({write.snapshot.task_id: write for write in writes}, conflicts)
        for write in writes:
            self._backlog.pop(write.snapshot.task_id, None)
        if conflicts:
            self._fenced += conflicts
            self.desynced = self.desynced | {conflict.task_id: conflict for conflict in conflicts}
        for conflict in conflicts:
            self.trouble.told(self._now, "a record is no longer stored here", conflict)

    def _retry(self) -> None:
        """Try once more what was set aside."""
        for task_id, error in self.set_aside.retry(self._now, self._commit_writes):
            self.trouble.failures.append(f"record {task_id} is still refused: {type(error).__name__}: {error}")

    def _settle_conflicts(
        self, writes: Mapping[str, Write], conflicts: Sequence[ConcurrencyConflict]
    ) -> list[ConcurrencyConflict]:
        """Store what is left of our own writes that the store had taken although it raised; the others stay."""
        left = {conflict.task_id: self._left_of(writes[conflict.task_id], conflict) for conflict in conflicts}
        again = self.store.commit([write for write in left.values() if write is not None])
        return [*(conflict for conflict in conflicts if left[conflict.task_id] is None), *again]

    def _left_of(self, write: Write, conflict: ConcurrencyConflict) -> Write | None:
        """What an earlier try, whose answer was lost, did not hold yet; None when somebody else wrote."""
        before = write.expect_version or 0
        stored = tuple(self.store.transitions(conflict.task_id, before))
        ours, rest = write.transitions[: len(stored)], write.transitions[len(stored) :]
        if conflict.found != before + len(stored) or stored != ours:
            return None
        owner = None if write.expect_owner is None else write.snapshot.owner  # which that try has put there
        return write._replace(expect_version=conflict.found, transitions=rest, expect_owner=owner)

    def _note(self) -> bool:
        if not self._notes or self._touch(self._notes):
            self._notes = []
        return not self._notes

    def _answer(self) -> bool:
        """Write answers back. Whether it was ours to answer does not matter: else somebody else does."""
        while self._answers:
            command_id, owner, at, outcome = answer = self._answers.popleft()
            try:
                self.store.complete_command(command_id, owner, now=at, outcome=outcome)
            except Exception as error:  # as above
                self._answers.append(answer)  # others first, the next time
                self.trouble.failed(self._now, f"answer to command {command_id}", error)
                return False
        return True

    def touch(self, touches: Sequence[Touch]) -> None:
        """Store frequent news. What fails is not kept: newer news follows."""
        now, waits = self._now, self._backlog or self._notes
        if touches and not waits and now >= self._news_after:
            self.asked_at = now
            if not self._touch(touches):
                self._news_after = now + _NEWS_SECONDS
            elif not self.behind:
                self.trouble.over(now, 0)
            self.asked_at = None

    def _touch(self, touches: Sequence[Touch]) -> bool:
        if self.desynced:
            touches = [touch for touch in touches if touch.task_id not in self.desynced]
        try:
            self.store.touch(touches)
        except Exception as error:  # as above
            self.trouble.failed(self._now, "touch", error)
            return False
        return True


def _merge(first: Write, second: Write) -> Write:
    """Two changes of one record as one."""
    kept = () if second.clear_attempts else first.attempts
    return Write(
        second.snapshot,
        first.expect_version,
        first.transitions + second.transitions,
        kept + second.attempts,
        first.clear_attempts or second.clear_attempts,
        first.answers + second.answers,
        first.expect_owner,
    )
