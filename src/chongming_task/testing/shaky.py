"""The unreliable parts of a simulated world: a store that fails, a network that is slow, an ear for what is logged."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver, Touch, Write
from chongming_task.core.records import OutputLine
from chongming_task.errors import ConcurrencyConflict, StoreError
from chongming_task.stores.memory import MemoryTaskStore
from chongming_task.testing.clock import FakeClock
from chongming_task.testing.manual_executor import ManualExecution, ManualExecutor

__all__ = ["ShakyStore", "SlowNetworkExecutor", "overheard"]


class ShakyStore(MemoryTaskStore):
    """A memory store that can be told to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    def commit(self, writes: Sequence[Write]) -> Sequence[ConcurrencyConflict]:
        """Store, or fail as a whole."""
        self._stand()
        return super().commit(writes)

    def touch(self, touches: Sequence[Touch]) -> None:
        """Store, or fail."""
        self._stand()
        super().touch(touches)

    def append_output(self, lines: Sequence[OutputLine], owner: str | None = None) -> None:
        """Store, or fail."""
        self._stand()
        super().append_output(lines, owner)

    def complete_command(self, command_id: str, owner: str, *, now: datetime, outcome: Any = None) -> bool:
        """Store, or fail."""
        self._stand()
        return super().complete_command(command_id, owner, now=now, outcome=outcome)

    def _stand(self) -> None:
        if self.down:
            raise StoreError("simulated: the store is down")


class SlowNetworkExecutor(ManualExecutor):
    """Workers whose reports wait in a mailbox each until the simulation hands them over."""

    def __init__(self, clock: FakeClock, *, killable: bool, on_launch: Callable[[AttemptRequest], None]) -> None:
        super().__init__(clock.monotonic, killable=killable)
        self.mail: dict[int, deque[Callable[[], None]]] = {}
        self.handed_over: list[Callable[[], None]] = []
        self._on_launch = on_launch

    def launch(self, request: AttemptRequest, deliver: Deliver) -> ManualExecution:
        """Keep the attempt, and its mail."""
        self._on_launch(request)
        mailbox: deque[Callable[[], None]] = deque()
        self.mail[len(self.launched)] = mailbox
        return super().launch(request, lambda report: mailbox.append(partial(deliver, report)))

    def hand_over(self, number: int) -> None:
        """Deliver the oldest report of a worker."""
        report = self.mail[number].popleft()
        report()
        self.handed_over = [*self.handed_over[-20:], report]

    @property
    def waiting(self) -> list[int]:
        """Workers with mail."""
        return [number for number, mail in self.mail.items() if mail]


class _Ear(logging.Handler):
    """Takes what the engine logs as errors: it goes on after every one of them, and none may come."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        """Note it."""
        error = record.exc_info[1] if record.exc_info else None
        self._faults.append(f"{record.getMessage()}: {error!r}")


@contextmanager
def overheard(faults: list[str]) -> Iterator[None]:
    """Listen to the engine, and spare everybody the store's complaints: the simulation is their cause."""
    engine, store, ear = (
        logging.getLogger("chongming_task.engine"),
        logging.getLogger("chongming_task.store"),
        _Ear(faults),
    )
    before = engine.propagate, store.disabled
    engine.addHandler(ear)
    engine.propagate, store.disabled = False, True
    try:
        yield
    finally:
        engine.removeHandler(ear)
        engine.propagate, store.disabled = before
