"""Carries a tick's changes into the store, and keeps them when the store cannot take them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence

from chongming_task.core.ports import CommandAnswer, TaskStore, Touch, Write
from chongming_task.core.records import OutputLine
from chongming_task.errors import ConcurrencyConflict

__all__ = ["Journal"]

_logger = logging.getLogger("chongming_task.store")
_KEPT_FAILURES = 100
_REST_SECONDS = 1.0  # a store that failed is left alone for so long
_KEPT_LINES = 100_000  # of output wait for a store that fails; then the oldest go, which their numbers tell
_KEPT_CHARACTERS = 10_000_000  # and of these as many as hold so much text


class Journal:
    """Writes in order, one transaction a tick. A store that fails never fails a task: its writes wait and are retried.

    Args:
        store: Where to.
    """

    def __init__(self, store: TaskStore) -> None:
        self.store = store
        self.failures: deque[str] = deque(maxlen=_KEPT_FAILURES)  # what went wrong, newest last
        self.desynced: dict[str, ConcurrencyConflict] = {}  # records that somebody else wrote; ours are held back
        self._fenced: list[ConcurrencyConflict] = []  # the same as news
        self._backlog: dict[str, Write] = {}
        self._notes: list[Touch] = []
        self._answers: list[CommandAnswer] = []
        self._output: deque[OutputLine] = deque()
        self._characters = 0  # of the output
        self._rests_until = 0.0

    @property
    def behind(self) -> int:
        """How many changes the store does not hold yet."""
        return len(self._backlog) + len(self._notes) + len(self._answers) + len(self._output)

    def due(self, now: float) -> bool:
        """Whether there is something to store, and the store is not resting from a failure."""
        return now >= self._rests_until and self.behind > 0

    def add(self, writes: Iterable[Write]) -> None:
        """Take changes in, to be stored with the next ``flush``."""
        waiting = self._backlog
        for write in writes:
            task_id = write.snapshot.task_id
            if task_id not in self.desynced:
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
        waiting = self._output
        for line in lines:
            waiting.append(line)
            self._characters += len(line.text)
        while len(waiting) > _KEPT_LINES or self._characters > _KEPT_CHARACTERS:
            self._characters -= len(waiting.popleft().text)

    def take_fenced(self) -> list[ConcurrencyConflict]:
        """Records found, since the last call, to have been written or taken over by somebody else."""
        taken, self._fenced = self._fenced, []
        return taken

    def resync(self, task_id: str) -> None:
        """Write a record again that was desynced: it has been read anew, and is ours."""
        self.desynced = {held: conflict for held, conflict in self.desynced.items() if held != task_id}

    def flush(self, now: float) -> float | None:
        """Store what was taken in, oldest first.

        Args:
            now: Monotonic seconds.

        Returns:
            None when it is stored; else when to try again.
        """
        # A record's last lines are there before its end is, but no line before its record. Output that cannot be stored
        # holds no change of status up.
        early = self._all_born()
        appended = early and self._append()
        committed = self._commit()
        if committed and not early:
            appended = self._append()
        if committed and appended and self._touch(self._notes):
            self._notes = []
            if self._answer():
                return None
        self._rests_until = now + _REST_SECONDS
        return self._rests_until

    def _all_born(self) -> bool:
        """Whether the store knows every record whose output waits."""
        backlog = self._backlog
        return not any((write := backlog.get(line.task_id)) and write.expect_version is None for line in self._output)

    def _append(self) -> bool:
        waiting = self._output
        if not waiting:
            return True
        try:
            self.store.append_output([line for line in waiting if line.task_id not in self.desynced])
        except Exception as error:  # whatever the store raises: tasks go on, and the journal tells
            self._failed(f"output of {len(waiting)} lines", error)
            return False
        waiting.clear()
        self._characters = 0
        return True

    def _commit(self) -> bool:
        waiting = self._backlog
        if not waiting:
            return True
        try:
            conflicts = list(self.store.commit(list(waiting.values())))
            if conflicts:
                conflicts = self._settle_conflicts(conflicts)
        except Exception as error:  # whatever the store raises: tasks go on, and the journal tells
            self._failed(f"commit of {len(waiting)} records", error)
            return False
        self._backlog = {}
        if conflicts:
            self._fenced += conflicts
            # Replaced, not changed: other threads read it.
            self.desynced = self.desynced | {conflict.task_id: conflict for conflict in conflicts}
        for conflict in conflicts:
            self._failed("commit", conflict)
        return True

    def _settle_conflicts(self, conflicts: Sequence[ConcurrencyConflict]) -> list[ConcurrencyConflict]:
        """Store what is left of our own writes that the store had taken although it raised; the others stay."""
        left = {conflict.task_id: self._left_of(self._backlog[conflict.task_id], conflict) for conflict in conflicts}
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

    def _answer(self) -> bool:
        """Write answers back. Whether it was ours to answer does not matter: else somebody else does."""
        while self._answers:
            command_id, owner, at, outcome = self._answers[0]
            try:
                self.store.complete_command(command_id, owner, now=at, outcome=outcome)
            except Exception as error:  # as above
                self._failed(f"answer to command {command_id}", error)
                return False
            del self._answers[0]
        return True

    def touch(self, touches: Sequence[Touch]) -> None:
        """Store frequent news. What fails is not kept: newer news follows."""
        if touches and not self.behind:
            self._touch(touches)

    def _touch(self, touches: Sequence[Touch]) -> bool:
        if not touches:
            return True
        if self.desynced:
            touches = [touch for touch in touches if touch.task_id not in self.desynced]
        try:
            self.store.touch(touches)
        except Exception as error:  # as above
            self._failed("touch", error)
            return False
        return True

    def _failed(self, what: str, error: Exception) -> None:
        text = f"{what}: {type(error).__name__}: {error}"
        if not self.failures or self.failures[-1] != text:
            _logger.error("the task store failed: %s", text)
        self.failures.append(text)


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
