"""What a record is worth to who asks for its result: the value itself, or the exception that stands for it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from chongming_task.core.failures import TIMEOUT_KINDS, Failure
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError, TaskExecutionError, TaskTimeout
from chongming_task.runtime.codecs import BUILT_IN
from chongming_task.runtime.context import DEFAULT_ARTIFACTS
from chongming_task.runtime.results import CodecResults, ResultCodec, checked_codecs, load_result

__all__ = ["ResultValues"]


class ResultValues:
    """How one controller keeps results, and gives them back.

    Args:
        artifacts: The folder of all attempts' files; default: one in the current directory, as it is now.
        codecs: Who keeps values as files, before the built-in ones.

    Attributes:
        artifacts: The folder, absolute.
        policy: How workers keep what they return.

    Raises:
        ConfigurationError: For a value that cannot work.
    """

    def __init__(self, artifacts: str | os.PathLike[str] | None, codecs: Iterable[ResultCodec]) -> None:
        self.artifacts = _absolute(DEFAULT_ARTIFACTS if artifacts is None else artifacts)
        self.policy = CodecResults((*checked_codecs(tuple(codecs)), *BUILT_IN))

    def of(self, task: TaskSnapshot, error: BaseException | None = None, traceback: TracebackType | None = None) -> Any:
        """The value of a record that has ended.

        Args:
            task: The record.
            error: The exception that ended it, when it was raised in this process.
            traceback: Where it was raised.

        Raises:
            Exception: ``error``, when the task failed with it.
            TaskTimeout: When it ran out of time, also when it was lost for it. No TimeoutError.
            TaskExecutionError: When it has no value for another reason.
            ResultUnavailable: When it succeeded, but its value cannot be had here.
        """
        if task.status is TaskStatus.SUCCEEDED:
            return load_result(task.outcome, self.policy.codecs, self.artifacts)
        if task.status is TaskStatus.FAILED and isinstance(error, Exception):
            raise error.with_traceback(traceback)
        failure = task.failure
        kind = TaskTimeout if failure is not None and failure.kind in TIMEOUT_KINDS else TaskExecutionError
        why = "" if failure is None else _why(failure)
        verb = "" if task.status is TaskStatus.FAILED else "was "
        said = f"{verb}{task.status}" if task.is_terminal else f"has not ended: it is {task.status}"
        raise kind(f"{task.name!r} {said}{why}", task_id=task.task_id, status=task.status) from error


_NO_EXCEPTIONS = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})  # their text alone says nothing


def _why(failure: Failure) -> str:
    name = (failure.exception_type or "").removeprefix("builtins.")
    if name in _NO_EXCEPTIONS:
        return f": it raised {name}({failure.message})"
    return f": {failure.message or name}" if failure.message or name else ""


def _absolute(artifacts: str | os.PathLike[str]) -> str:
    """The folder as it is meant now, whatever the current directory will be when it is first used."""
    try:
        text = os.fspath(artifacts)
    except TypeError:
        raise ConfigurationError(f"artifacts takes a folder, got {artifacts!r}") from None
    try:
        return os.path.abspath(text)  # noqa: PTH100 - pathlib is not loaded for those who keep no files
    except OSError:  # the current directory is gone; who needs the folder will be told
        return text
