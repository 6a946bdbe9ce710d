"""Functions and arguments on their way to another process, and a clear word when they cannot go.

A function goes by reference: module and qualified name, which the worker imports. Where the module holds a decorated
object instead, such as a ``@task``, the reference leads through its ``__wrapped__``. What no import can find (lambdas,
closures, whatever a notebook cell or a script defines) goes by value, which takes cloudpickle.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import io
import pickle
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from chongming_task.errors import ConfigurationError

__all__ = ["dump", "load", "refuse"]

_EXTRA = 'pip install "chongming-task[process]"'
_THREADS = 'run it on threads: Controller(executor="thread")'


class _NoReference(Exception):
    """No import in another process leads to this object."""


def dump(value: Any) -> bytes:
    """A value as bytes. In one piece, so that a class in two places of it stays one class.

    Raises:
        Exception: Whatever pickling it raises. Runs user code (``__reduce__`` and its like).
    """
    sink = io.BytesIO()
    _write(value, sink)
    return sink.getvalue()


def load(blob: bytes) -> Any:
    """What was dumped. Imports what it refers to."""
    return pickle.loads(blob)


def refuse(target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Let pass what can go to another process.

    Raises:
        ConfigurationError: Naming the function or the argument that cannot, and what to do.
    """
    try:
        _write((target, args, dict(kwargs)), _Nowhere())
    except Exception:  # found out and told below, piece by piece
        name = getattr(target, "__qualname__", None) or repr(target)
        for what, value in _pieces(name, target, args, kwargs):
            _refuse_piece(what, value)
        raise ConfigurationError(f"the arguments of {name} cannot go to another process together; {_THREADS}") from None


def _pieces(
    name: str, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    positional = [(f"argument {place} of {name}", value) for place, value in enumerate(args, start=1)]
    named = [(f"argument {key!r} of {name}", value) for key, value in kwargs.items()]
    return [(f"the function {name}", target), *positional, *named]


def _refuse_piece(what: str, value: Any) -> None:
    try:
        _write(value, _Nowhere())
    except _NoReference as missing:
        raise ConfigurationError(
            f"{what} cannot go to another process: {missing}. Put it at the top level of a module, or install "
            f"cloudpickle ({_EXTRA}), or {_THREADS}"
        ) from None
    except Exception as error:
        kind = type(value)
        raise ConfigurationError(
            f"{what} (a {kind.__module__}.{kind.__qualname__}) cannot go to another process: "
            f"{type(error).__name__}: {error}. Pass plain data and make the rest inside the task, or {_THREADS}"
        ) from error


class _Nowhere(io.RawIOBase):
    """Takes what a trial produces, and keeps nothing of it."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def _write(value: Any, sink: Any) -> None:
    """By reference where that leads somewhere; else by value, where cloudpickle is installed."""
    try:
        _ByReference(sink, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
        return
    except Exception:  # cloudpickle knows more kinds of things, too
        pickler = _by_value()
        if pickler is None:
            raise
    if sink.seekable():
        sink.seek(0)
        sink.truncate()
    pickler(sink, protocol=pickle.HIGHEST_PROTOCOL).dump(value)


class _ByReference(pickle.Pickler):
    """Pickles functions and classes as references that hold in another process."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType):
            return _reference(obj)
        if isinstance(obj, type):
            if obj.__module__ != "builtins" and (
                _in_main(obj) or _look_up(obj.__module__, obj.__qualname__) is not obj
            ):
                raise _NoReference(_why(obj))
        elif _stands_for_function(obj) and _in_main(obj):
            raise _NoReference(_why(obj))
        return NotImplemented


def _in_main(obj: Any) -> bool:
    """Whether it was made in a notebook cell, or in the script itself: ``__main__`` is another module over there."""
    return getattr(obj, "__module__", None) == "__main__"


def _stands_for_function(obj: Any) -> bool:
    """Whether it is a decorator's object, such as a ``@task``: those are pickled by name."""
    return "__wrapped__" in getattr(obj, "__dict__", ())


def _reference(function: FunctionType) -> Any:
    """How to pickle a function by name; NotImplemented when pickle knows by itself.

    Raises:
        _NoReference: When no name leads to it.
    """
    module, name = function.__module__, function.__qualname__
    found, depth = None if _in_main(function) else _look_up(module, name), 0
    while found is not None and found is not function:
        found, depth = getattr(found, "__wrapped__", None), depth + 1
    if found is None:
        raise _NoReference(_why(function))
    return (_resolve, (module, name, depth)) if depth else NotImplemented


def _why(obj: Any) -> str:
    name = str(getattr(obj, "__qualname__", None) or type(obj).__qualname__)
    if name.endswith("<lambda>"):
        return "it is a lambda" if name == "<lambda>" else f"{name} is a lambda"
    if _in_main(obj):
        return f"{name} is defined in a notebook cell or in the script itself"
    if "<locals>" in name:
        return f"{name} is defined inside a function"
    return f"importing {obj.__module__}.{name} leads to something else"


def _look_up(module: str | None, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module or ""])
    except (KeyError, AttributeError):
        return None


def _resolve(module: str, name: str, depth: int) -> Any:
    """In the worker: the function behind a decorated name."""
    found = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    for _ in range(depth):
        found = found.__wrapped__
    return found


@functools.cache
def _by_value() -> Callable[..., pickle.Pickler] | None:
    """A pickler that also takes functions and classes apart; None without cloudpickle."""
    try:
        import cloudpickle
    except ImportError:
        return None

    class ByValue(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle ships no types
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, FunctionType):
                try:
                    return _reference(obj)
                except _NoReference:
                    return super().reducer_override(obj)
            if _in_main(obj) and not isinstance(obj, type) and _stands_for_function(obj):
                return copyreg.__newobj__, (type(obj),), obj.__dict__  # type: ignore[attr-defined]  # not by name
            return super().reducer_override(obj)

    return ByValue
