"""What a task may return: strict JSON, the same on every store and in every process."""

from __future__ import annotations

import math
from typing import Any

from chongming_task.core.text import clean
from chongming_task.errors import TaskError

__all__ = ["ResultInvalid", "to_json"]

_DEPTH = 200  # levels of nesting; deeper values break readers elsewhere


class ResultInvalid(TaskError, TypeError):
    """A value that cannot be stored as JSON; says where in it, and what to do."""


def to_json(value: Any) -> Any:
    """``value`` as strict JSON: dicts with text keys, lists, text, finite numbers, booleans, None.

    Tuples become lists and text is cleaned, so that what is read back in this process equals what another one reads.

    Raises:
        ResultInvalid: For anything else, with the path to it.
    """
    if value is None or value is True or value is False or type(value) is int:
        return value
    return _convert(value, "$", 0)


def _convert(value: Any, path: str, depth: int) -> Any:
    if depth > _DEPTH:
        raise ResultInvalid(f"the result is nested deeper than {_DEPTH} levels (or contains itself)")
    if isinstance(value, str):
        return clean(str(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise ResultInvalid(f"the result holds {value!r} at {path}: JSON has no such number; return None instead")
    if isinstance(value, (list, tuple)):
        return [_convert(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
    if isinstance(value, dict):
        return {_key(key, path): _convert(each, f"{path}.{key}", depth + 1) for key, each in value.items()}
    kind = type(value)
    raise ResultInvalid(
        f"the result holds a {kind.__module__}.{kind.__qualname__} at {path}: results are JSON (dict, list, text, "
        "number, boolean, None); return plain values, or save the object and return where it is"
    )


def _key(key: Any, path: str) -> str:
    if isinstance(key, str):
        return clean(str(key))
    raise ResultInvalid(f"the result holds the key {key!r} at {path}: JSON keys are text; use str(key)")
