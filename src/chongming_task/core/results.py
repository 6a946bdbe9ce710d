"""What a task may return: strict JSON, the same on every store and in every process."""

from __future__ import annotations

import math
from typing import Any

from chongming_task.core.text import clean
from chongming_task.errors import TaskError

__all__ = ["ResultInvalid", "to_json"]

_DEPTH = 200  # levels of nesting; deeper values break readers elsewhere
_LARGEST = 10**4300  # Python, and so its json, refuses to write a whole number with more digits
_SHOWN = 80  # characters of a key in a message

_Path = tuple[Any, ...]
"""Where a value stands: ``()``, or the path of what holds it and its key or index there."""


class ResultInvalid(TaskError, TypeError):
    """A value that cannot be stored as JSON; says where in it, and what to do."""


def to_json(value: Any) -> Any:
    """``value`` as strict JSON: dicts with text keys, lists, text, finite numbers, booleans, None.

    Tuples become lists and text is cleaned, so that what is read back in this process equals what another one reads.

    Raises:
        ResultInvalid: For anything else, with the path to it.
    """
    if value is None or value is True or value is False:
        return value
    return _convert(value, (), 0)


def _convert(value: Any, path: _Path, depth: int) -> Any:
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
        return [_convert(each, (path, index), depth + 1) for index, each in enumerate(value)]
    if isinstance(value, dict):
        return {_key(key, path): _convert(each, (path, key), depth + 1) for key, each in value.items()}
    kind = type(value)
    raise ResultInvalid(
        f"the result holds a {kind.__module__}.{kind.__qualname__} at {_place(path)}: results are JSON (dict, list, "
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
