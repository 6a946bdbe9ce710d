"""Logs the records that ended badly, so that a script whose author never asks for a result hears of it all the same."""

from __future__ import annotations

import logging

from chongming_task.core.failures import Failure
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.place import in_kernel
from chongming_task.runtime.task_log import LOGGER_NAME, fields_of

__all__ = ["warn_of"]


_FIRST_LINE = 500  # characters of it
_logger = logging.getLogger(LOGGER_NAME)
_package = logging.getLogger("chongming_task")


def warn_of(task: TaskSnapshot) -> None:
    """Log one WARNING about a record that failed or was lost. Never raises.

    In a Jupyter kernel only for who has given one of our own loggers a handler: the root's would write into whichever
    cell is newest, and there the panel tells.
    """
    try:
        if in_kernel() and not (_logger.handlers or _package.handlers):
            return
        _logger.warning(
            "task %r %s: %s (for more: handle.failure.traceback, handle.output(); its id is %s)",
            task.name,
            "failed" if task.status is TaskStatus.FAILED else "was lost",
            _first_line(task.failure),
            task.task_id,
            extra=fields_of(task),
        )
    except Exception:  # a log handler's fault, and the way to report it is the one that is broken
        pass


def _first_line(failure: Failure | None) -> str:
    if failure is None:
        return "nobody said why"
    line = failure.message.strip().partition("\n")[0][:_FIRST_LINE]
    kind = (failure.exception_type or "").removeprefix("builtins.")
    return f"{kind}: {line}" if kind else line
