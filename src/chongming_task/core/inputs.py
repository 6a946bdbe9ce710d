"""The inputs of a restartable task as JSON that comes back equal, in this process and in every other.

Results may be converted on their way into the record, since nobody runs them. Inputs may not: a task that is run again
must see what it saw the first time. So what JSON would change is refused, tuples and keys that are no text included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, NamedTuple

from chongming_task.core.policies import Timeout
from chongming_task.core.text import NAME_LIMIT, clean
from chongming_task.errors import ConfigurationError, NotRestartable

__all__ = ["LARGEST_INPUTS", "Inputs", "inputs_from", "stored_inputs"]

LARGEST_INPUTS = 10_000_000
"""Characters that the inputs of one record may take, about; more is data, and belongs into a file."""

_DEPTH = 200  # levels of nesting, as for results
_LARGEST = 10**4300  # Python refuses to read a whole number with more digits
_SHOWN = 80  # characters of a key in a message
# Two surrogates that JSON reads as one character. NUL and lone surrogates come back as they are: JSON escapes them.
_MERGING = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_Path = tuple[Any, ...]
"""Where a value stands: ``()``, or the path of what holds it and its key or index there."""


class Inputs(NamedTuple):
    """What a record was submitted with."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    timeout: Timeout | None = None  # given at its submission; None: the task's own


def stored_inputs(
    name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], timeout: Timeout | None = None
) -> dict[str, Any]:
    """Arguments as the JSON for ``TaskSnapshot.inputs``: a copy, which no later change of theirs reaches.

    Args:
        name: The task, for messages.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        timeout: Limits that belong to this record alone.

    Raises:
        ConfigurationError: For an argument that would not come back equal, and of the same type: which one it is, why,
            and what to pass instead.
    """
    try:
        positional, named = _copied(args, kwargs)
    except _Unfit as unfit:
        raise ConfigurationError(f"{unfit.whose} of {name} {unfit}, or leave restartable=True away") from None
    stored: dict[str, Any] = {"args": positional, "kwargs": named}
    if timeout is not None:
        limits = {each.name: getattr(timeout, each.name) for each in fields(timeout)}
        stored["timeout"] = {limit: None if seconds is None else float(seconds) for limit, seconds in limits.items()}
    return stored


def inputs_from(stored: Any) -> Inputs:
    """What ``stored_inputs`` was given: a copy again, which a task may change without changing the record.

    Args:
        stored: ``TaskSnapshot.inputs``.

    Raises:
        NotRestartable: When nothing is stored, or something else.
    """
    if stored is None:
        raise NotRestartable("what to run is not stored: submit it again, or declare it @task(restartable=True)")
    known = {"args", "kwargs", "timeout"}
    if not isinstance(stored, dict) or not {"args", "kwargs"} <= stored.keys() <= known:
        raise NotRestartable("its stored inputs are not what this version writes; submit it again")
    args, kwargs, limits = stored["args"], stored["kwargs"], stored.get("timeout")
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise NotRestartable("its stored inputs are no arguments; submit it again")
    try:
        positional, named = _copied(args, kwargs)
        return Inputs(tuple(positional), named, None if limits is None else Timeout(**limits))
    except _Unfit as unfit:
        raise NotRestartable(f"its stored inputs are damaged: {unfit.whose} {unfit}; submit it again") from None
    except (ConfigurationError, TypeError) as wrong:  # limits that are none
        raise NotRestartable(f"its stored timeout is damaged: {wrong}; submit it again") from None


def _copied(args: Iterable[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    walk, positional, named, whose = _Walk(), [], {}, ""
    try:
        for position, value in enumerate(args, start=1):
            whose = f"argument {position}"
            positional.append(walk.copy(value))
        for key, value in kwargs.items():
            whose = f"argument {_shown(key)}"
            named[walk.key(key, ())] = walk.copy(value)
    except _Unfit as unfit:
        unfit.whose = whose
        raise
    return positional, named


def _shown(key: Any) -> str:
    return clean(str.__repr__(key), _SHOWN) if isinstance(key, str) else "without a name"


class _Unfit(Exception):
    """Something would not come back equal; says where, why and what to pass instead."""

    whose = ""  # the argument it is, or is in

    def __init__(self, thing: str, path: _Path, why: str, instead: str) -> None:
        said = f"holds {thing} at {_place(path)}" if path else f"is {thing}"
        super().__init__(f"{said}: {why}; {instead}")


class _Walk:
    """Copies values, and counts what they take: what is small here, shared many times over, can be endless in JSON."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = LARGEST_INPUTS

    def copy(self, value: Any, path: _Path = (), depth: int = 0) -> Any:
        """An equal value of the same plain types.

        Raises:
            _Unfit: When JSON has no such value.
        """
        kind = type(value)
        self._count(2, path)  # itself and its comma
        if value is None or kind is bool:
            return value
        if kind is str:
            return self._text(value, path)
        if kind is int:
            return self._whole(value, path)
        if kind is float:
            return _finite(value, path)
        if kind is not list and kind is not dict:
            raise _Unfit(f"a {_called(kind)}", path, *_advice(kind))
        if depth >= _DEPTH:
            raise _Unfit("a value", path, f"it is nested deeper than {_DEPTH} levels, or contains itself", "flatten it")
        if kind is list:
            return [self.copy(each, (path, index), depth + 1) for index, each in enumerate(value)]
        return {self.key(key, path): self.copy(each, (path, key), depth + 1) for key, each in value.items()}

    def key(self, key: Any, path: _Path) -> str:
        """A key as it is; any but plain text is refused, since it would come back as text."""
        if type(key) is str:
            return self._text(key, path)
        raise _Unfit(f"a key of type {_called(type(key))}", path, "it would come back as plain text", "use str(key)")

    def _text(self, text: str, path: _Path) -> str:
        self._count(len(text), path)
        if not text.isascii() and _MERGING.search(text):
            raise _Unfit(
                "text with a pair of surrogates",
                path,
                "the two would come back as one character",
                'pass text.encode("utf-16", "surrogatepass").decode("utf-16")',
            )
        return text

    def _whole(self, number: int, path: _Path) -> int:
        self._count(number.bit_length() // 3, path)
        if -_LARGEST < number < _LARGEST:
            return number
        raise _Unfit("a whole number", path, "it has more than 4300 digits", "pass hex(number)")

    def _count(self, characters: int, path: _Path) -> None:
        self._left -= characters
        if self._left < 0:
            why = f"the inputs of a record take at most {LARGEST_INPUTS:,} characters"
            raise _Unfit("too large", (), why, "save it and pass its path instead")


def _finite(number: float, path: _Path) -> float:
    if math.isfinite(number):
        return number
    raise _Unfit(repr(number), path, "JSON has no such number", "pass None or text instead")


def _called(kind: type) -> str:
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return clean(f"{module}{kind.__qualname__}", NAME_LIMIT)


_PLAIN = (str, int, float, list, dict)
_BY_TYPE: dict[type, str] = {
    set: "pass a list, such as sorted(values)",
    frozenset: "pass a list, such as sorted(values)",
    range: "pass a list",
    bytes: "pass text, or the path of a file",
    bytearray: "pass text, or the path of a file",
}
_BY_METHOD = {
    "__fspath__": "pass str(path)",
    "isoformat": "pass its isoformat()",
    "tolist": "pass its tolist(), or save it and pass its path",
}
_ANY = "pass plain values, or save it, pass its path instead, and load it inside the task"


def _advice(kind: type) -> tuple[str, str]:
    """Why a value of that type cannot be stored, and what can."""
    if issubclass(kind, Enum):
        return "it would come back as a plain value, if at all", "pass its .value"
    if issubclass(kind, tuple):
        return "it would come back as a list", "pass a list"
    for plain in _PLAIN:
        if issubclass(kind, plain):
            return f"it would come back as a plain {plain.__name__}", f"pass {plain.__name__}(value)"
    if kind in _BY_TYPE:
        return "it is no JSON", _BY_TYPE[kind]
    return "it is no JSON", next((do for method, do in _BY_METHOD.items() if hasattr(kind, method)), _ANY)


def _place(path: _Path) -> str:
    """The path as text; made only when it is needed."""
    steps = []
    while path:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{clean(step, _SHOWN)}")
    return clean("$" + "".join(reversed(steps)), 5 * _SHOWN)
