"""A clock that stands still until it is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["FakeClock"]


class FakeClock:
    """Both kinds of time, moved by hand.

    Args:
        start: The first moment, an aware UTC datetime.

    Example:
        >>> clock = FakeClock()
        >>> before = clock.monotonic()
        >>> clock.advance(90)
        >>> clock.monotonic() - before
        90.0
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 1000.0

    def now(self) -> datetime:
        """The wall clock."""
        return self._now

    def monotonic(self) -> float:
        """The monotonic clock, seconds."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks.

        Args:
            seconds: How many seconds, 0 or more.

        Raises:
            ValueError: For less than 0: time does not run back.
        """
        if seconds < 0:
            raise ValueError("time does not run back; jump() moves the wall clock alone")
        self._monotonic += seconds
        self._now += timedelta(seconds=seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back, as NTP or a suspend does; the monotonic clock does not notice.

        Args:
            seconds: How many seconds later the wall clock says it is; less than 0: earlier.
        """
        self._now += timedelta(seconds=seconds)
