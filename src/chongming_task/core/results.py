"""What a task may return: strict JSON, the same on every store and in every process."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from chongming_task.core.text import clean
from chongming_task.errors import ResultInvalid

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MARK", "ResultPolicy", "StrictJson", "to_json"]

MARK = "$chongming"
"""The key of a stored result that is more than it says: a pointer to a file, say. No result may have a key like it."""


_DEPTH = 200  # levels of nesting; deeper values break readers elsewhere
_LARGEST = 10**4300  # Python, and so its json, refuses to write a whole number with more digits
_SHOWN = 80  # characters of a key in a message

_Path = tuple[Any, ...]
"""Where a value stands: ``()``, or the path of what holds it and its key or index there."""


class ResultPolicy(Protocol):
    """How a return value becomes what is stored. Crosses to the worker: an implementation can be pickled."""

    def keep(self, value: Any, folder: Callable[[], Path]) -> Any:
        """The JSON that stands for ``value`` in the record. Called in the worker, once the task has returned.

        Args:
            value: What it returned.
            folder: Makes a new folder among the attempt's artifacts.

        Raises:
            ResultInvalid: When the value cannot be kept.
        """
        ...


class StrictJson:
    """Keeps JSON, and nothing else."""

    def keep(self, value: Any, folder: Callable[[], Path]) -> Any:
        """See :class:`ResultPolicy`."""
        return to_json(value)


def to_json(value: Any, otherwise: Callable[[Any, str], Any] | None = None) -> Any:
    """``value`` as strict JSON: dicts with text keys, lists, text, finite numbers, booleans, None.

    Tuples become lists and text is cleaned, so that what is read back in this process equals what another one reads.

    Args:
        value: Any value.
        otherwise: Makes JSON of what is none; takes that value and its place. Default: it is refused.

    Raises:
        ResultInvalid: For anything else, with the path to it.
    """
    if value is None or value is True or value is False:
        return value
    return _convert(value, (), 0, otherwise or _refuse)


def _convert(value: Any, path: _Path, depth: int, otherwise: Callable[[Any, str], Any]) -> Any:
    if depth > _DEPTH:
        raise ResultInvalid(
            f"the result is nested deeper than {_DEPTH} levels (or contains itself); return something flatter"
        )
    if isinstance(value, str):
        return clean(str.__str__(value))  # what it holds: an Enum's own __str__ says its name
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if -_LARGEST < value < _LARGEST:
            return int(value)
        raise ResultInvalid(f"the result holds a whole number of more than 4300 digits at {_place(path)}; return text")
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise ResultInvalid(
            f"the result holds {float(value)!r} at {_place(path)}: JSON has no such number; return None instead"
        )
    if isinstance(value, (list, tuple)):
        return [_convert(each, (path, index), depth + 1, otherwise) for index, each in enumerate(value)]
    if isinstance(value, dict):
        if MARK in value:
            raise ResultInvalid(f"the result holds the key {MARK!r} at {_place(path)}: it is reserved; return another")
        return {_key(key, path): _convert(each, (path, key), depth + 1, otherwise) for key, each in value.items()}
    return otherwise(value, _place(path))


def _refuse(value: Any, place: str) -> Any:
    kind = type(value)
    raise ResultInvalid(
        f"the result holds a {kind.__module__}.{kind.__qualname__} at {place}: results are JSON (dict, list, "
        "text, number, boolean, None); return plain values, or save the object and return where it is"
    )


def _key(key: Any, path: _Path) -> str:
    if isinstance(key, str):
        return clean(str.__str__(key))
    try:
        shown = clean(repr(key), _SHOWN)
    except Exception as broken:  # the refusal is about the key's type, not about its text
        shown = f"of type {type(key).__qualname__} (its text raised {type(broken).__name__})"
    raise ResultInvalid(f"the result holds the key {shown} at {_place(path)}: JSON keys are text; use str(key)")


def _place(path: _Path) -> str:
    """The path as text; made only when it is needed."""
    steps = []
    while path:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{clean(str.__str__(step), _SHOWN)}")
    return clean("$" + "".join(reversed(steps)), 5 * _SHOWN)
