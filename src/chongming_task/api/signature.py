"""What arguments a task's function takes, so that a wrong call is refused at submission and not in the worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from chongming_task.errors import ConfigurationError
from chongming_task.runtime.context import TaskContext

__all__ = ["Shape", "shape_of"]

_LIKE_A_CONTEXT = frozenset({"ctx", "context", "task_context"})
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of a function, as its submitters see them: without the context."""

    takes_context: bool = False  # the first parameter is the TaskContext
    signature: inspect.Signature | None = None  # None when Python cannot tell, as for some builtins
    positional: tuple[int, int] | None = (
        None  # how many arguments, when all can be positional; None: it is not so simple
    )
    context_name: str | None = None  # what the context's parameter is called, where a keyword could mean it

    def check(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse arguments that the function would refuse.

        Raises:
            ConfigurationError: Naming what does not fit.
        """
        if self.signature is None:
            return
        if self.positional is not None and not kwargs and self.positional[0] <= len(args) <= self.positional[1]:
            return
        try:
            if self.context_name in kwargs:  # it would slip into the function's own **keywords
                raise TypeError(f"got an unexpected keyword argument {self.context_name!r}")
            self.signature.bind(*args, **kwargs)
        except TypeError as wrong:
            raise ConfigurationError(f"{name}{self.signature}: {wrong}{self._hint(args, kwargs, str(wrong))}") from None

    def _hint(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], said: str) -> str:
        """What the caller most likely got wrong about the context; empty when it has nothing to do with it."""
        if self.takes_context:
            meant = self.context_name in kwargs or "too many positional" in said
            return "; the context is passed by the executor, leave it out" if meant else ""
        assert self.signature is not None
        given = set(list(self.signature.parameters)[: len(args)]) | set(kwargs)
        likely = [each for each in self.signature.parameters if each in _LIKE_A_CONTEXT and each not in given]
        return "; the context goes to a first parameter named ctx or annotated TaskContext" if likely else ""


_known: WeakKeyDictionary[Callable[..., Any], Shape] = WeakKeyDictionary()


def shape_of(function: Callable[..., Any]) -> Shape:
    """The shape of a function; remembered for as long as the function lives."""
    try:
        known = _known.get(function)
        if known is None:
            known = _known[function] = _inspect(function)
    except TypeError:  # neither hashable nor weakly referable
        return _inspect(function)
    return known


def _inspect(function: Callable[..., Any]) -> Shape:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # no signature to be had: the arguments are checked when it runs
        return Shape()
    parameters = list(signature.parameters.values())
    if not _is_context(parameters):
        return Shape(False, signature, _positional(parameters))
    context = parameters.pop(0)
    name = None if context.kind is inspect.Parameter.POSITIONAL_ONLY else context.name
    return Shape(True, signature.replace(parameters=parameters), _positional(parameters), name)


def _is_context(parameters: list[inspect.Parameter]) -> bool:
    if not parameters or parameters[0].kind not in _POSITIONAL:
        return False
    first = parameters[0]
    hint = first.annotation
    if isinstance(hint, str):  # as ``from __future__ import annotations`` leaves it
        hint = TaskContext if hint.rpartition(".")[2] == "TaskContext" else None
    return first.name == "ctx" or hint is TaskContext


def _positional(parameters: list[inspect.Parameter]) -> tuple[int, int] | None:
    if any(p.kind not in _POSITIONAL for p in parameters):
        return None
    return sum(p.default is inspect.Parameter.empty for p in parameters), len(parameters)
