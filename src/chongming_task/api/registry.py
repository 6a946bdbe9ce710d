"""Names of tasks that a controller accepts: the list that keeps other processes from running code of their choice."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from chongming_task.api.task import TaskSpec, checked_name, spec_of
from chongming_task.errors import ConfigurationError, UnknownTask

__all__ = ["TaskRegistry"]


class TaskRegistry:
    """Tasks by name.

    Example:
        >>> registry = TaskRegistry()
        >>> registry.register(len, name="length").name
        'length'
        >>> "length" in registry
        True
    """

    def __init__(self) -> None:
        self._specs: dict[str, TaskSpec] = {}

    def register(self, target: Callable[..., Any], *, name: str | None = None) -> TaskSpec:
        """Accept a task under its own name or another one. Registering the same function again renews its defaults.

        Raises:
            ConfigurationError: When the name belongs to another function.
        """
        spec = spec_of(target)
        key = spec.name if name is None else checked_name(name)
        known = self._specs.get(key)
        if known is not None and not _same_place(known.function, spec.function):
            raise ConfigurationError(
                f"the name {key!r} belongs to {known.function!r}; register this one as register(..., name=...)"
            )
        self._specs[key] = spec = replace(spec, name=key)
        return spec

    def get(self, name: str) -> TaskSpec:
        """The task of that name.

        Raises:
            UnknownTask: When there is none; names that look alike are suggested.
        """
        spec = self._specs.get(name)
        if spec is not None:
            return spec
        close = difflib.get_close_matches(name, self._specs, n=1)
        if close:
            hint = f"did you mean {close[0]!r}?"
        elif self._specs:
            hint = f"registered: {', '.join(sorted(self._specs))}"
        else:
            hint = "none is registered yet; controller.register(my_task) adds one"
        raise UnknownTask(f"no task is called {name!r}; {hint}")

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def _same_place(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether both are the same function, or a new version of it after its cell or module ran again."""
    places = [(getattr(f, "__module__", None), getattr(f, "__qualname__", None)) for f in (one, other)]
    return one is other or (places[0] == places[1] and places[0][1] is not None)
