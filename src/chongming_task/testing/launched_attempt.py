"""An attempt that a test launched on an executor, and what it has reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from chongming_task.core.ports import Emitted, ExecutionHandle, Report
from chongming_task.core.triggers import Ended

__all__ = ["LaunchedAttempt"]


class LaunchedAttempt:
    """One attempt of a contract test.

    Args:
        patience: Seconds to wait for a report before it counts as missing.
    """

    def __init__(self, patience: float) -> None:
        self.execution: ExecutionHandle
        self.reports: list[Report] = []
        self._inbox: SimpleQueue[Report] = SimpleQueue()
        self._patience = patience
        self.deliver = self._inbox.put

    def next(self) -> Report:
        """The next report."""
        try:
            report = self._inbox.get(timeout=self._patience)
        except Empty:
            raise AssertionError(f"nothing was reported for {self._patience} s after {self.reports}") from None
        self.reports.append(report)
        return report

    def until(self, wanted: type[Report] | Callable[[Report], bool]) -> Any:
        """The next report of that class, or that satisfies; nothing may come after the end."""
        while True:
            report = self.next()
            if isinstance(report, wanted) if isinstance(wanted, type) else wanted(report):
                return report
            assert not isinstance(report, Ended), f"ended without it: {self.reports}"

    def end(self) -> Ended:
        """The end of it."""
        ended: Ended = self.until(Ended)
        return ended

    def checkpoint_seen(self, good: Callable[[float | None], bool]) -> float | None:
        """The time of its last checkpoint, once that is good. No report tells it, so it has to be looked for."""
        deadline = time.monotonic() + self._patience
        while not good(last := self.execution.last_checkpoint):
            assert time.monotonic() < deadline, f"last_checkpoint stayed {last}"
            time.sleep(0.005)
        return last

    @property
    def emitted(self) -> list[Any]:
        """The payloads it emitted so far."""
        return [report.payload for report in self.reports if isinstance(report, Emitted)]

    @property
    def unread(self) -> int:
        """Reports that nobody has looked at."""
        return self._inbox.qsize()
