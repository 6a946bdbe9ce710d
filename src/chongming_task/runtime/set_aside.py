"""Changes that the store refuses though it takes others: set aside, and tried again from time to time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chongming_task.core.ports import Write

__all__ = ["SetAside"]

_REST_SECONDS = 60.0
_MISSES = 3  # fail in a row at most, each time


class SetAside:
    """One write for each record. The engine's own; ``writes`` may be read from any thread."""

    def __init__(self) -> None:
        self.writes: dict[str, Write] = {}  # replaced, never changed in size: other threads read it
        self.again = 0.0  # when to try them: monotonic seconds

    def add(self, write: Write, now: float) -> None:
        """Set a write aside, as the last to be tried."""
        if not self.writes:
            self.again = now + _REST_SECONDS
        task_id = write.snapshot.task_id
        self.drop(task_id)
        self.writes = {**self.writes, task_id: write}

    def drop(self, task_id: str) -> None:
        """Forget a record's."""
        if task_id in self.writes:
            self.writes = {held: write for held, write in self.writes.items() if held != task_id}

    def due(self, now: float) -> bool:
        """Whether it is time to try them again."""
        return bool(self.writes) and now >= self.again

    def retry(self, now: float, store: Callable[[Sequence[Write]], None]) -> list[tuple[str, Exception]]:
        """Try one after the other, until some have failed.

        Args:
            now: Monotonic seconds.
            store: Stores writes, or raises.

        Returns:
            The ids of those that failed, and why.
        """
        failed: list[tuple[str, Exception]] = []
        for task_id, write in list(self.writes.items()):
            try:
                store([write])
            except Exception as error:  # whatever the store raises, it is told by the caller
                self.add(write, now)
                failed.append((task_id, error))
                if len(failed) == _MISSES:
                    break
            else:
                self.drop(task_id)
        self.again = now + _REST_SECONDS
        return failed
