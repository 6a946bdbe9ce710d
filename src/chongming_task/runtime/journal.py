"""Carries a tick's changes into the store, and keeps them when the store cannot take them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence

from chongming_task.core.ports import TaskStore, Touch, Write
from chongming_task.errors import ConcurrencyConflict

__all__ = ["Journal"]

_logger = logging.getLogger("chongming_task.store")
_KEPT_FAILURES = 100


class Journal:
    """Writes in order, one transaction a tick. A store that fails never fails a task: its writes wait and are retried.

    Args:
        store: Where to.
    """

    def __init__(self, store: TaskStore) -> None:
        self.store = store
        self.failures: deque[str] = deque(maxlen=_KEPT_FAILURES)  # what went wrong, newest last
        self.desynced: dict[str, ConcurrencyConflict] = {}  # records that somebody else wrote; ours are held back
        self._backlog: dict[str, Write] = {}

    @property
    def behind(self) -> int:
        """How many records have changes that the store does not hold yet."""
        return len(self._backlog)

    def commit(self, writes: Iterable[Write]) -> bool:
        """Store ``writes``, and first what was left over; whether nothing is left over now."""
        waiting = self._backlog
        for write in writes:
            task_id = write.snapshot.task_id
            if task_id not in self.desynced:
                earlier = waiting.get(task_id)
                waiting[task_id] = write if earlier is None else _merge(earlier, write)
        if not waiting:
            return True
        try:
            conflicts = self.store.commit(list(waiting.values()))
        except Exception as error:  # whatever the store raises: tasks go on, and the journal tells
            self._failed(f"commit of {len(waiting)} records", error)
            return False
        self._backlog = {}
        for conflict in conflicts:
            self.desynced[conflict.task_id] = conflict
            self._failed("commit", conflict)
        return True

    def touch(self, touches: Sequence[Touch]) -> None:
        """Store frequent news. What fails is not kept: newer news follows."""
        if not touches or self._backlog:
            return
        try:
            self.store.touch(touches)
        except Exception as error:  # as above
            self._failed("touch", error)

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
    )
