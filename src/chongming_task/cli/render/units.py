"""Times, spans and progress in few letters."""

from __future__ import annotations

from datetime import datetime

from chongming_task.core.records import Progress, TaskSnapshot

__all__ = ["clock_time", "elapsed", "moment", "progress_text", "span"]


def span(seconds: float) -> str:
    """A duration.

    Example:
        >>> [span(s) for s in (0.04, 7.2, 75, 3700, 200_000)]
        ['0.0s', '7.2s', '1m15s', '1h01m', '2d07h']
    """
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3_600}h{whole % 3_600 // 60:02d}m"
    return f"{whole // 86_400}d{whole % 86_400 // 3_600:02d}h"


def moment(at: datetime) -> str:
    """A time with its date, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S}Z"


def clock_time(at: datetime) -> str:
    """A time of day to the millisecond, in UTC."""
    return f"{at:%H:%M:%S}.{at.microsecond // 1_000:03d}Z"


def elapsed(task: TaskSnapshot, now: datetime) -> str:
    """How long it has run, or has waited to run."""
    since = task.started_at or task.queued_at or task.created_at
    return span(((task.ended_at or now) - since).total_seconds())


def progress_text(progress: Progress | None) -> str:
    """How far it has come.

    Example:
        >>> progress_text(Progress(done=37, total=100, unit="rows"))
        '37% 37/100 rows'
    """
    if progress is None or progress.done is None:
        return ""
    count = f"{progress.done:.6g}" if progress.total is None else f"{progress.done:.6g}/{progress.total:.6g}"
    unit = f" {progress.unit}" if progress.unit else ""
    fraction = progress.fraction
    share = "" if fraction is None else f"{int(fraction * 100)}% "  # 100 only when it is
    return f"{share}{count}{unit}"
