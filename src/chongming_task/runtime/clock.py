"""The real clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["SystemClock"]


class SystemClock:
    """Wall time from the system, durations from its monotonic clock."""

    def now(self) -> datetime:
        """The present, UTC."""
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)
    """Seconds that never go back: the very function, since every checkpoint calls it."""
