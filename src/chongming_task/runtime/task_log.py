"""``ctx.log``: a logger whose lines always reach the task's own output."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chongming_task.core.records import TaskSnapshot
    from chongming_task.runtime.context import TaskContext

__all__ = ["LOGGER_NAME", "TaskLog", "fields_of", "text_of"]

LOGGER_NAME = "chongming_task.task"

_KNOWN = frozenset({"exc_info", "extra", "stack_info", "stacklevel"})  # keywords that logging itself takes
_logger = logging.getLogger(LOGGER_NAME)
_formatter = logging.Formatter()


class TaskLog(logging.LoggerAdapter[logging.Logger]):
    """The logger of one attempt.

    Args:
        fields: What its records carry.
        unheard: Takes a level and a line that logging would drop, because nobody listens at that level.
    """

    def __init__(self, fields: dict[str, Any], unheard: Callable[[int, str], None]) -> None:
        super().__init__(_logger, fields)
        self._unheard = unheard

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Give the record the fields of the task beside those of the caller."""
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a line; see :meth:`logging.Logger.log`. Keywords it does not know are added to the message."""
        words = {name: kwargs.pop(name) for name in tuple(kwargs) if name not in _KNOWN}
        if words:
            said = " ".join(f"{name}={value!r}" for name, value in words.items())
            msg = f"{msg} {said.replace('%', '%%') if args else said}"
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1  # the caller's line, not this one
        if self.isEnabledFor(level):
            super().log(level, msg, *args, **kwargs)
            return
        exc_info = kwargs.get("exc_info")
        if isinstance(exc_info, BaseException):
            exc_info = (type(exc_info), exc_info, exc_info.__traceback__)
        elif exc_info and not isinstance(exc_info, tuple):
            exc_info = sys.exc_info()
        record = self.logger.makeRecord(LOGGER_NAME, level, "", 0, msg, args, exc_info or None)
        self._unheard(level, text_of(record))


def fields_of(task: TaskSnapshot | TaskContext) -> dict[str, Any]:
    """What log records carry as ``extra``: those made in a task, and our own about one."""
    return {
        "task_id": task.task_id,
        "task_name": task.name,
        "attempt": task.attempt,
        "pipeline_run_id": task.pipeline_run_id,
    }


def text_of(record: logging.LogRecord) -> str:
    """What a record says, with its traceback; the logger's name before it, unless it is the task's own."""
    try:
        text = record.getMessage()
    except Exception as wrong:  # arguments that do not fit: logging tells on its own, and the line is not lost
        text = f"{record.msg!r} with {record.args!r}: {type(wrong).__name__}: {wrong}"
    if record.name != LOGGER_NAME:
        text = f"{record.name}: {text}"
    if record.exc_info and record.exc_info[0] is not None:
        text = f"{text}\n{_formatter.formatException(record.exc_info)}"
    if record.stack_info:
        text = f"{text}\n{record.stack_info}"
    return str.__str__(text)
