"""A node of a pipeline run as it was declared, and what a caller's code is asked about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chongming_task.core.graph import JoinMode
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.upstream import Upstream

__all__ = ["ConditionFalse", "FanPlan", "NodePlan"]


class ConditionFalse:
    """What asking a node's condition gives when it says no."""


class FanPlan(NamedTuple):
    """How a map makes its tasks."""

    items: Callable[[Upstream], Any]  # runs a caller's code: never on the engine
    make: Callable[[Any, Upstream], Iterator[LiveTask]]  # the task of each item; as above
    max_parallel: int | None = None


class NodePlan(NamedTuple):
    """One node as it was declared."""

    name: str
    upstream: tuple[int, ...] = ()
    join: JoinMode = JoinMode.ALL_SUCCEEDED
    when: Callable[[Upstream], Any] | None = None  # runs a caller's code: never on the engine
    fan: FanPlan | None = None  # a map

    @property
    def asks_first(self) -> bool:
        """Whether a caller's code decides on it before it starts."""
        return self.when is not None or self.fan is not None

    def ask(self, upstream: Upstream, wanted: Callable[[], bool]) -> Any:
        """What a caller's code says: ConditionFalse, the tasks of a map, what it raised, or True.

        Args:
            upstream: The results of the nodes before.
            wanted: Whether anybody still waits for the answer: items may have no end.
        """
        try:
            if self.when is not None and not _plainly(self.when(upstream)):
                return ConditionFalse()
            if self.fan is not None:
                return _while_wanted(self.fan.make(self.fan.items(upstream), upstream), wanted)
        except BaseException as error:  # whatever it raises is the node's failure, and nobody else's
            return error
        return True


def _while_wanted(tasks: Iterator[LiveTask], wanted: Callable[[], bool]) -> list[LiveTask]:
    found = []
    for live in tasks:
        if not wanted():
            break
        found.append(live)
    return found


def _plainly(said: Any) -> Any:
    """What a condition says; a coroutine says nothing, and is true like any object."""
    if not inspect.iscoroutine(said):
        return said
    said.close()
    raise ConfigurationError("its condition gave a coroutine, which nobody awaits; when takes a plain function")
