"""Waits for what nothing tells: states outside of a controller, such as processes, files and other threads."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(true: Callable[[], object], what: str, seconds: float = 20) -> None:
    """Look again and again until it is so; after some seconds, fail with what never came true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"it never came true that {what}"
        time.sleep(0.01)
