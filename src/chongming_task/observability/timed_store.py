"""A store whose operations are timed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any, cast

from chongming_task.core.ports import TaskStore

__all__ = ["Took", "timed"]

Took = Callable[[str, float, bool], None]
"""Is told the operation, its seconds, and whether it failed. Quick, never raises."""

_UNTIMED = frozenset({"close", "wait_for_change"})  # the one is the end, the other waits because it is meant to


def timed(store: TaskStore, took: Took) -> TaskStore:
    """The same store, which tells how long its operations take."""
    return cast("TaskStore", _TimedStore(store, took))


class _TimedStore:
    def __init__(self, store: TaskStore, took: Took) -> None:
        self._store = store
        self._took = took

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name.startswith("_") or name in _UNTIMED or not callable(found):
            return found
        operation = self.__dict__[name] = _timed(name, found, self._took)  # looked up once
        return operation

    def __repr__(self) -> str:
        return repr(self._store)


def _timed(name: str, operation: Callable[..., Any], took: Took) -> Callable[..., Any]:
    @wraps(operation)
    def call(*args: Any, **kwargs: Any) -> Any:
        began, failed = perf_counter(), True
        try:
            value = operation(*args, **kwargs)
            failed = False
            return value
        finally:
            took(name, perf_counter() - began, failed)

    return call
