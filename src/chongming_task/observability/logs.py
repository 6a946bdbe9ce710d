"""Log records that say which task they come from, and a formatter that writes them as JSON.

For the handlers of an application: nothing in here is set up by itself. With ``logging.config.dictConfig``::

    "filters": {"task": {"()": "chongming_task.observability.logs.TaskFieldsFilter"}},
    "formatters": {"json": {"()": "chongming_task.observability.logs.JsonFormatter"}},
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from chongming_task.runtime.context import running_context

__all__ = ["TASK_FIELDS", "JsonFormatter", "TaskFieldsFilter"]

TASK_FIELDS = ("task_id", "task_name", "attempt", "pipeline_run_id")
"""What a record made inside a task carries, and what the library's own records about a task do."""

_OWN = ("time", "level", "logger", "message", *TASK_FIELDS, "exception", "stack")
_MADE_BY_LOGGING = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class TaskFieldsFilter(logging.Filter):
    """Lets every record pass, and gives it ``task_id``, ``task_name``, ``attempt`` and ``pipeline_run_id``.

    Add it to a handler: then it sees the records of all loggers, also those of libraries that the task calls. It must
    see them in the thread that makes them, so with a ``QueueHandler`` it belongs to that one, not to the listener's.

    Args:
        missing: What the fields are outside of tasks, so that a format such as ``"%(task_name)s %(message)s"`` works
            there, too.

    Example:
        >>> import logging
        >>> from chongming_task.observability.logs import TaskFieldsFilter
        >>> handler = logging.StreamHandler()
        >>> handler.addFilter(TaskFieldsFilter(missing="-"))
        >>> handler.setFormatter(logging.Formatter("%(levelname)s [%(task_name)s #%(attempt)s] %(message)s"))
    """

    def __init__(self, missing: str | None = None) -> None:
        super().__init__()
        self._missing = missing

    def filter(self, record: logging.LogRecord) -> bool:
        """Fill in what the record does not say by itself.

        Args:
            record: What was logged; it is given the fields.
        """
        fields = record.__dict__
        for name, value in _fields_here().items():
            fields.setdefault(name, value)
        for name in TASK_FIELDS:
            fields.setdefault(name, self._missing)
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a record, on one line: ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``message``, the task's
    fields, ``exception`` and ``stack`` where there are any, and whatever was given as ``extra``.

    It needs no filter, unless the record is formatted in another thread. It never raises: a value that JSON does not
    know is written as its ``repr``, and an ``extra`` that is called like one of our own keys as ``extra_<name>``.

    Args:
        constant: Keys and values for every record, such as ``{"service": "billing"}``.

    Example:
        >>> import logging
        >>> from chongming_task.observability.logs import JsonFormatter
        >>> said = {"created": 0.0, "levelname": "INFO", "name": "app", "msg": "up", "port": 80}
        >>> record = logging.makeLogRecord(said)
        >>> print(JsonFormatter().format(record))
        {"time": "1970-01-01T00:00:00.000000Z", "level": "INFO", "logger": "app", "message": "up", "port": 80}
    """

    def __init__(self, constant: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._constant = dict(constant or {})

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line.

        Args:
            record: What was logged.
        """
        try:
            return _dump(self._said(record))
        except Exception as wrong:  # whatever it is: a log line that is poor is better than none
            poor = {"level": _said_of(record.levelname), "message": _said_of(record.msg), "exception": _said_of(wrong)}
            return json.dumps(poor)

    def _said(self, record: logging.LogRecord) -> dict[str, Any]:
        fields = record.__dict__
        said: dict[str, Any] = {
            "time": _time(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
        }
        here = _fields_here()
        for name in TASK_FIELDS:
            value = fields.get(name, here.get(name))
            if value is not None:
                said[name] = value
        if record.exc_info:
            said["exception"] = self._exception(record.exc_info)
        elif record.exc_text:
            said["exception"] = record.exc_text
        if record.stack_info:
            said["stack"] = record.stack_info
        for name, value in (*self._constant.items(), *fields.items()):
            if name not in _MADE_BY_LOGGING and name not in TASK_FIELDS:
                said[f"extra_{name}" if name in _OWN else name] = value
        return said

    def _exception(self, exc_info: Any) -> str:
        try:
            return self.formatException(exc_info)
        except Exception:  # no (type, value, traceback), or an exception that cannot be printed
            return _said_of(exc_info)


def _fields_here() -> Mapping[str, Any]:
    """The fields of the task that runs in this thread."""
    context = running_context.get()
    return {} if context is None else context._log_fields


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as wrong:  # arguments that do not fit: told with what there is
        return f"{_said_of(record.msg)} with {_said_of(record.args)}: {type(wrong).__name__}: {_said_of(wrong)}"


def _dump(said: Mapping[str, Any]) -> str:
    """One line of strict JSON in ASCII, whatever the stream behind and the values are."""
    try:
        return json.dumps(said, default=_said_of, allow_nan=False)
    except Exception:  # one of the values: NaN, a key that is no text, a circle, a repr that raises
        return json.dumps({str(name): _strict(value) for name, value in said.items()})


def _strict(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except Exception:
        return _said_of(value)
    return value


def _said_of(value: Any) -> str:
    try:
        return value if type(value) is str else repr(value)
    except Exception as wrong:
        return f"<{type(value).__name__}, and its repr raised {type(wrong).__name__}>"
