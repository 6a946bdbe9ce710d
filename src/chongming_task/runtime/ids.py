"""Ids that sort by the time they were made."""

from __future__ import annotations

import os
import threading
import time

__all__ = ["new_id"]

_lock = threading.Lock()
_last = [0, 0]  # millisecond and 74-bit tail of the newest id


def new_id() -> str:
    """A UUIDv7 as text. Ids of one process sort in the order they were made, also within one millisecond."""
    with _lock:
        millis = time.time_ns() // 1_000_000
        if millis > _last[0]:
            _last[:] = millis, int.from_bytes(os.urandom(9), "big")
        else:  # the same millisecond, or a clock that went back: count on from the newest
            _last[1] += 1 + (_last[1] & 0xFF)
        millis, tail = _last
    digits = f"{millis:012x}7{(tail >> 62) & 0xFFF:03x}{0x8 | (tail >> 60) & 0x3:x}{tail & 0xFFFFFFFFFFFFFFF:015x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
