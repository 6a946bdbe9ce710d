"""How callers say how long."""

from __future__ import annotations

from typing import Any

from chongming_task.core.policies import LARGEST_SECONDS
from chongming_task.errors import ConfigurationError

__all__ = ["patience_of", "seconds_of", "within"]


def seconds_of(name: str, value: Any) -> float:
    """A caller's number of seconds.

    Raises:
        ConfigurationError: When it is no number, negative, or beyond what a clock can wait for.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= LARGEST_SECONDS:
        raise ConfigurationError(
            f"{name} must be a number of seconds, 0 or more and at most {LARGEST_SECONDS:g}, got {value!r}"
        )
    return float(value)


def patience_of(value: Any) -> float | None:
    """How long a caller is willing to wait, which may be for ever: None, infinity, or any number of seconds.

    Raises:
        ConfigurationError: When it is no number, or negative.
    """
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
        raise ConfigurationError(f"timeout must be a number of seconds, 0 or more, or None, got {value!r:.50}")
    return float(min(value, LARGEST_SECONDS))


def within(timeout: float | None) -> str:
    """For a message: in what time something has not happened."""
    return f"within {timeout:g} s" if timeout is not None else "though nothing moves any more"
