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

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
