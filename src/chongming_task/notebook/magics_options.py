"""The options of ``%%task`` and ``%tasks``: their values, from what is written on the line."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from chongming_task.core.policies import FixedBackoff, RetryPolicy, Timeout

__all__ = ["count", "executor_name", "retry_of", "seconds", "tags_of", "timeout_of", "variable"]

_UNITS: Mapping[str, float] = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smhd]?)")


def seconds(text: str) -> float:
    """``90``, ``90s``, ``1.5m``, ``2h``: more than 0 seconds."""
    found = _AMOUNT.fullmatch(text.strip())
    amount = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < amount < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time; write seconds, or 30s, 5m, 2h")
    return amount


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def variable(text: str) -> str:
    """A name that can be assigned to."""
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a variable")
    return text


def executor_name(text: str) -> str:
    """An executor that can run a cell."""
    if text not in ("thread", "inline"):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot run a cell: it works on the notebook's own names, which only this process has. Use "
            'thread or inline, or put the work into a @task function and submit that to Controller(executor="process")'
        )
    return text


def tags_of(written: Iterable[str]) -> frozenset[str]:
    """``--tags io,slow``, ``--tags io slow`` and ``--tags io --tags slow`` say the same."""
    return frozenset(tag for each in written for tag in each.split(",") if tag)


def retry_of(attempts: int, backoff: str | None) -> RetryPolicy:
    """The policy of a cell that is tried so often.

    Args:
        attempts: In all, 1 or more.
        backoff: A policy's name, or the seconds between two attempts; None: exponential.

    Raises:
        ConfigurationError: For another name.
    """
    if backoff is None:
        return RetryPolicy(max_attempts=attempts)
    if _AMOUNT.fullmatch(backoff):
        return RetryPolicy(max_attempts=attempts, backoff=FixedBackoff(seconds(backoff)))
    return RetryPolicy(max_attempts=attempts, backoff=backoff)


def timeout_of(**limits: float | None) -> Timeout | None:
    """The limits that were given; None when none was."""
    given: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    return Timeout(**given) if given else None
