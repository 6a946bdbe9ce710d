"""Names of tasks that a controller accepts: the list that keeps other processes from running code of their choice."""

from __future__ import annotations

import difflib
import threading
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
        self._implied: set[str] = set()  # names that came with a submission, and that nobody registered
        self._lock = threading.Lock()  # two submissions may bring the same name at once

    def register(self, target: Callable[..., Any], *, name: str | None = None) -> TaskSpec:
        """Accept a task under its own name or another one. Registering the same function again renews its defaults.

        Raises:
            ConfigurationError: When the name belongs to another function.
        """
        spec = spec_of(target)
        key = spec.name if name is None else checked_name(name)
        spec = replace(spec, name=key)
        with self._lock:
            self._accept(spec, "register this one as register(..., name=...)")
            self._implied.discard(key)
        return spec

    def remember(self, spec: TaskSpec) -> None:
        """Accept the restartable task of a submission, so that its records find it again.

        What :meth:`register` said of the same function stays. A new version of it, from a cell that ran again, takes
        its place.

        Raises:
            ConfigurationError: When the name belongs to another function.
        """
        with self._lock:
            known = self._specs.get(spec.name)
            if known is not None and known.function is spec.function and spec.name not in self._implied:
                return
            self._accept(spec, "give this one a name of its own: task.with_options(name=...)")
            if known is None:
                self._implied.add(spec.name)

    def _accept(self, spec: TaskSpec, instead: str) -> None:
        known = self._specs.get(spec.name)
        if known is not None and not _same_place(known.function, spec.function):
            raise ConfigurationError(f"the name {spec.name!r} belongs to {known.function!r}; {instead}")
        self._specs[spec.name] = spec

    def get(self, name: str) -> TaskSpec:
        """The task of that name.

        Args:
            name: The name it was registered under.

        Raises:
            UnknownTask: When there is none; names that look alike are suggested.
        """
        spec = self._specs.get(name)
        if spec is not None:
            return spec
        close = difflib.get_close_matches(name, list(self._specs), n=1)
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
