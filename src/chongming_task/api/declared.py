"""What a pipeline keeps of what a caller declares: its nodes, and places for their results in arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chongming_task.api.submission import Options
from chongming_task.core.graph import JoinMode
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.upstream import FromNode, Upstream

if TYPE_CHECKING:
    from chongming_task.api.pipeline import Pipeline

__all__ = [
    "Condition",
    "Declared",
    "MapDeclared",
    "Node",
    "checked_condition",
    "items_of",
    "join_of",
    "names_of",
    "place",
]

Condition = Callable[[Upstream], Any]
"""Says of a node, by the results of the nodes it waits for, whether it runs."""


class Node:
    """One step of a pipeline. Give it to other steps as an argument, and they are handed its result.

    Attributes:
        name: What it is called in its pipeline.
        pipeline: The pipeline.

    Example:
        >>> from chongming_task import Pipeline
        >>> pipeline = Pipeline("sums")
        >>> numbers = pipeline.add(range, 4, name="numbers")
        >>> pipeline.add(sum, numbers)
        <node 'sum' of 'sums'>
    """

    __slots__ = ("name", "pipeline")

    def __init__(self, pipeline: Pipeline, name: str) -> None:
        self.pipeline = pipeline
        self.name = name

    def __repr__(self) -> str:
        return f"<node {self.name!r} of {self.pipeline.name!r}>"


@dataclass(frozen=True, slots=True)
class MapDeclared:
    """What is special about a map."""

    items: Any  # a list; FromNode; or a function of the results of the nodes before it
    max_parallel: int | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """A node as its pipeline knows it."""

    node: Node
    target: Callable[..., Any] | str
    args: tuple[Any, ...] = ()  # with FromNode in the places of other nodes' results
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    deps: tuple[str, ...] = ()  # names of the nodes it waits for, each once
    join: JoinMode = JoinMode.ALL_SUCCEEDED
    when: Condition | None = None
    fan: MapDeclared | None = None


def place(pipeline: Pipeline, value: Any) -> Any:
    """``value`` with a place for the result of every node in it.

    Raises:
        ConfigurationError: For a node of another pipeline, or lists that hold themselves.
    """
    try:
        return _place(pipeline, value)
    except RecursionError:
        raise ConfigurationError("lists or dicts among the arguments nest too deeply, or hold themselves") from None


def _place(pipeline: Pipeline, value: Any) -> Any:
    if isinstance(value, Node):
        return FromNode(_own(pipeline, value))
    if type(value) is list:
        return [_place(pipeline, each) for each in value]
    if type(value) is tuple:
        return tuple(_place(pipeline, each) for each in value)
    if type(value) is dict:
        return {key: _place(pipeline, each) for key, each in value.items()}
    return value


def _own(pipeline: Pipeline, node: Node) -> str:
    if node.pipeline is not pipeline:
        raise ConfigurationError(
            f"{node!r} is a node of another pipeline than {pipeline.name!r}; a step can wait for steps of its own only"
        )
    return node.name


def names_of(pipeline: Pipeline, deps: Iterable[Node | str] | Node | str) -> list[str]:
    """The names of the nodes to wait for.

    Raises:
        ConfigurationError: For what is no node or name, or a node of another pipeline.
    """
    several = not isinstance(deps, Node | str) and isinstance(deps, Iterable)
    found = []
    for each in deps if several else [deps]:  # type: ignore[union-attr]  # mypy forgets what `several` says
        if not isinstance(each, Node | str):
            raise ConfigurationError(f"deps takes nodes of this pipeline, or their names, got {each!r:.100}")
        found.append(_own(pipeline, each) if isinstance(each, Node) else each)
    return found


def items_of(pipeline: Pipeline, items: Any) -> Any:
    """The items of a map, or where they come from.

    Raises:
        ConfigurationError: For what is none.
    """
    if inspect.iscoroutinefunction(items):
        raise ConfigurationError(f"map takes a list of items, a node or a plain function, got {items!r:.100}")
    if isinstance(items, Node) or callable(items):
        return place(pipeline, items)
    if isinstance(items, str | bytes | Mapping):
        raise ConfigurationError(f"map takes a list of items, a node or a function, got {items!r:.100}")
    try:
        return list(items)
    except TypeError:
        raise ConfigurationError(
            f"map takes a list of items, a node whose result is one, or a function, got {items!r:.100}"
        ) from None


def checked_condition(when: Any) -> Condition | None:
    """A condition, or None.

    Raises:
        ConfigurationError: For what cannot be asked; a coroutine would be true whatever it says.
    """
    if when is None:
        return None
    if not callable(when) or inspect.iscoroutinefunction(when):
        kind = "plain function" if callable(when) else "function"
        raise ConfigurationError(f"when takes a {kind} of the upstream results, got {when!r:.100}")
    return when  # type: ignore[no-any-return]  # whatever it takes: that is told when it is asked


def join_of(join: Any) -> JoinMode:
    """A join mode, also by its name.

    Raises:
        ConfigurationError: For what is none.
    """
    try:
        return JoinMode(join)
    except ValueError:
        raise ConfigurationError(f"join must be one of {', '.join(JoinMode)}, got {join!r:.100}") from None
