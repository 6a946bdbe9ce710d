"""Ids that sort by the time they were made."""

from __future__ import annotations

import os
import threading
import time

__all__ = ["new_id"]

_VARIANT = 1 << 63  # the two bits before the counter, 10
_ROOM = 1 << 62  # of the counter


class _Generator:
    """UUIDv7: a millisecond, twelve random bits, and 62 bits that start at random and count within the millisecond."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Know nothing of ids made before. A forked process does so, or it would go on exactly as its parent does."""
        self._lock = threading.Lock()
        self._millis = 0
        self._count = 0
        self._head = ""

    def next(self) -> str:
        with self._lock:
            millis = time.time_ns() // 1_000_000
            if millis > self._millis:
                self._turn(millis)
            else:  # the same millisecond, or a clock that went back
                self._count += 1
                if self._count >= _ROOM:
                    self._turn(self._millis + 1)
            tail = f"{_VARIANT | self._count:016x}"
            return f"{self._head}{tail[:4]}-{tail[4:]}"

    def _turn(self, millis: int) -> None:
        """Begin a millisecond."""
        self._millis = millis
        noise = int.from_bytes(os.urandom(10), "big")
        self._count = (noise >> 16) % (_ROOM >> 1)  # the upper half is room to count
        text = f"{millis:012x}"
        self._head = f"{text[:8]}-{text[8:]}-7{noise & 0xFFF:03x}-"


_generator = _Generator()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_generator.begin)


def new_id() -> str:
    """A UUIDv7 as text. Ids of one process sort in the order they were made, also within one millisecond."""
    return _generator.next()
