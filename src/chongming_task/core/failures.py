"""Why an attempt or a record ended without success, as plain data that any store and process can carry."""

from __future__ import annotations

import traceback as tb
from dataclasses import dataclass
from enum import StrEnum

from chongming_task.core.text import MESSAGE_LIMIT, TRACEBACK_LIMIT, clean

__all__ = ["RETRIED_KINDS", "TIMEOUT_KINDS", "Failure", "FailureKind", "describe_exception"]


class FailureKind(StrEnum):
    """What sort of end it was; it decides whether a retry makes sense.

    Example:
        >>> from chongming_task import run_task
        >>> run_task(int, "ten").failure.kind is FailureKind.EXCEPTION
        True
    """

    EXCEPTION = "exception"  # the task raised
    NONZERO_EXIT = "nonzero_exit"  # its process died or exited with a code
    TIMEOUT_START = "timeout_start"  # it did not begin in time
    TIMEOUT_ATTEMPT = "timeout_attempt"  # it did not end in time
    TIMEOUT_IDLE = "timeout_idle"  # too long between two checkpoints
    CANCELLED = "cancelled"  # it was asked to stop, and did
    LOST = "lost"  # nobody knows how it ended
    DEPENDENCY_FAILED = "dependency_failed"  # an upstream record ended badly
    CONDITION_FALSE = "condition_false"  # its when= said no
    RESULT_INVALID = "result_invalid"  # the return value cannot be stored


TIMEOUT_KINDS = frozenset({FailureKind.TIMEOUT_START, FailureKind.TIMEOUT_ATTEMPT, FailureKind.TIMEOUT_IDLE})
RETRIED_KINDS = TIMEOUT_KINDS | {FailureKind.EXCEPTION, FailureKind.NONZERO_EXIT}
"""Kinds that a retry policy may answer with another attempt; the others never are retried by themselves."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an attempt went wrong.

    Example:
        >>> from chongming_task import run_task
        >>> failure = run_task(int, "ten").failure
        >>> failure.exception_type, failure.retryable
        ('builtins.ValueError', True)
    """

    kind: FailureKind
    message: str = ""
    traceback: str | None = None  # complete and readable, of the task's own frames
    exception_type: str | None = None  # "module.QualName"
    retryable: bool = False  # whether the retry policy may answer it
    exit_code: int | None = None  # of a process; negative: the signal that killed it


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # a broken __str__ must not hide the failure itself
        return f"<{type(error).__name__}, and its __str__ raised {type(broken).__name__}>"


def _traceback_of(error: BaseException) -> str:
    try:
        return "".join(tb.format_exception(error))
    except Exception as broken:  # same: the frames are worth more than the text
        frames = "".join(tb.format_tb(error.__traceback__))
        return f"{frames}{_text_of(error)} (formatting it raised {type(broken).__name__})"


def describe_exception(error: BaseException, *, retryable: bool = False) -> Failure:
    """``error`` as a :class:`Failure`; works for any exception, also one that cannot be printed.

    Args:
        error: What the task raised.
        retryable: Whether the retry policy may answer it.
    """
    kind = type(error)
    return Failure(
        kind=FailureKind.EXCEPTION,
        message=clean(_text_of(error), MESSAGE_LIMIT),
        traceback=clean(_traceback_of(error), TRACEBACK_LIMIT),
        exception_type=clean(f"{kind.__module__}.{kind.__qualname__}"),
        retryable=retryable,
    )
