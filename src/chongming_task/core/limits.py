"""When a running attempt is out of time. Pure: the engine measures, this decides.

Time spent paused does not count, and neither does time that the wall clock invents: all moments here are seconds on a
monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from chongming_task.core.failures import FailureKind
from chongming_task.core.policies import Timeout

__all__ = ["AttemptWatch", "next_limit"]


@dataclass(slots=True)
class AttemptWatch:
    """The moments of one attempt. The engine's own, so it is mutable."""

    launched: float
    started: float | None = None  # user code began
    held_before: float = 0.0  # seconds held until then: they are no part of its time
    held_since: float | None = None  # paused at a checkpoint since then
    held_seconds: float = 0.0  # in earlier pauses
    resumed: float | None = None  # the end of the last pause
    overdue: bool = False  # told that its time is up

    def start(self, now: float) -> None:
        """User code begins."""
        self.started, self.held_before = now, self.held_seconds

    def hold(self, now: float) -> None:
        """The pause came true."""
        if self.held_since is None:
            self.held_since = now

    def go_on(self, now: float) -> None:
        """The pause is over."""
        if self.held_since is not None:
            self.held_seconds += max(now - self.held_since, 0.0)
            self.held_since, self.resumed = None, now

    def seconds(self, now: float) -> float:
        """How long the attempt has taken, pauses included."""
        return max(now - self.launched, 0.0)

    def paused_seconds(self, now: float) -> float:
        """How much of it was spent paused."""
        return self.held_seconds + (max(now - self.held_since, 0.0) if self.held_since is not None else 0.0)


def next_limit(
    timeout: Timeout, watch: AttemptWatch, last_checkpoint: float | None
) -> tuple[float, FailureKind] | None:
    """The next limit an attempt can overrun: its moment, and which one it is.

    Args:
        timeout: The record's limits.
        watch: The attempt so far.
        last_checkpoint: When its worker last passed a checkpoint; None before the first.

    Returns:
        The earliest one, or None while no limit runs: none is set, the attempt is paused, or it was told already.
    """
    if watch.overdue or watch.held_since is not None:
        return None
    if watch.started is None:
        return None if timeout.start is None else (watch.launched + timeout.start, FailureKind.TIMEOUT_START)
    found: list[tuple[float, FailureKind]] = []
    if timeout.per_attempt is not None:
        held = watch.held_seconds - watch.held_before
        found.append((watch.started + timeout.per_attempt + held, FailureKind.TIMEOUT_ATTEMPT))
    if timeout.idle is not None:
        beat = max(watch.started, last_checkpoint or 0.0, watch.resumed or 0.0)
        found.append((beat + timeout.idle, FailureKind.TIMEOUT_IDLE))
    return min(found) if found else None
