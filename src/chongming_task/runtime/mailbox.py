"""What waits for one subscriber. Whoever owns it brings the lock; putting something in never waits for anybody."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chongming_task.core.events import Event

__all__ = ["STUCK_CHANGES", "Mailbox"]

STUCK_CHANGES = 100_000  # that came while a subscriber was busy with one and the same event: it will not come back


class Mailbox:
    """Events in order, bounded in what may be left out.

    Progress, heartbeats and output find room for ``size`` events; what comes beyond is dropped and counted. Changes of
    status always find room, for whoever takes events at all, however slowly. From one that takes none while
    ``STUCK_CHANGES`` changes come nothing is to be expected any more: it is given up, and the mailbox takes nothing
    more in. So it is never a change that is missing, but the end.

    Args:
        size: How many events may wait before some are dropped.

    Attributes:
        dropped: How many events were not told; when it was given up, with those that waited then.
        given_up: Whether it was given up.
    """

    __slots__ = ("_mail", "_size", "_untaken", "dropped", "given_up")

    def __init__(self, size: int) -> None:
        self.dropped = 0
        self.given_up = False
        self._mail: deque[Event] = deque()
        self._size = size
        self._untaken = 0  # changes since something was taken

    def put(self, events: Iterable[Event]) -> None:
        """Put events in."""
        for event in events:
            if self.given_up or (event.droppable and len(self._mail) >= self._size):
                self.dropped += 1
                continue
            self._mail.append(event)
            self._untaken += not event.droppable
            if self._untaken > STUCK_CHANGES:
                self.given_up = True
                self.dropped += len(self._mail)
                self._mail.clear()

    def take(self) -> Event | None:
        """The oldest; None when there is none."""
        if not self._mail:
            return None
        self._untaken = 0
        return self._mail.popleft()

    def __len__(self) -> int:
        return len(self._mail)
