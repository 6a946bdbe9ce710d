"""What can be wrong with a pipeline, in words that name the nodes."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence

from chongming_task.core.graph import find_cycle
from chongming_task.core.runs import AggregationPolicy
from chongming_task.errors import ConfigurationError

__all__ = ["check_acyclic", "check_controller", "check_names", "check_quorum", "unknown_node"]

_SHOWN = 20  # nodes of a path in a message


def unknown_node(pipeline: str, name: object, known: Iterable[str], by: str | None = None) -> ConfigurationError:
    """The error for a node that is not there.

    Args:
        pipeline: The pipeline's name.
        name: The node that was meant.
        known: Those that are there.
        by: The node that asks for it, if one does.
    """
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(map(repr, names[:_SHOWN])) or 'none'}"
    asks = "" if by is None else f"{by!r} waits for it, and "
    return ConfigurationError(f"{asks}the pipeline {pipeline!r} has no node {name!r:.100}{hint}")


def check_controller(verb: str, given: object) -> None:
    """Something can run it: a controller, or what does the same as one.

    Raises:
        ConfigurationError: For anything else.
    """
    if not hasattr(given, "start_run"):
        raise ConfigurationError(f"{verb} takes a Controller, got {given!r:.100}")


def check_names(pipeline: str, names: Iterable[str], maps: Collection[str]) -> None:
    """No node is called like a task of a map.

    Raises:
        ConfigurationError: For one that is.
    """
    for name in names:
        head, bracket, tail = name.rpartition("[")
        if bracket and head in maps and tail.removesuffix("]").isdecimal():
            raise ConfigurationError(
                f"the pipeline {pipeline!r} has a map {head!r}, whose tasks are called {head + '[0]'!r} and so on, "
                f"and a node {name!r}; give name= another"
            )


def check_quorum(pipeline: str, policy: AggregationPolicy, upstream: Sequence[Sequence[int]]) -> None:
    """A quorum can be met.

    Raises:
        ConfigurationError: When there are not as many last nodes.
    """
    last = len(upstream) - len({node for above in upstream for node in above})
    if policy.name == "quorum" and policy.needed > last:
        raise ConfigurationError(
            f"the pipeline {pipeline!r} needs {policy.needed} of its last nodes to succeed, and has {last}: nodes that "
            "no other waits for"
        )


def check_acyclic(pipeline: str, deps: Mapping[str, Iterable[str]]) -> list[tuple[int, ...]]:
    """The nodes each one waits for, as numbers in their order.

    Raises:
        ConfigurationError: For one that is not there, or a cycle, with the path along it.
    """
    numbers = {name: number for number, name in enumerate(deps)}
    upstream = []
    for name, above in deps.items():
        for each in above:
            if each not in numbers:
                raise unknown_node(pipeline, each, deps, by=name)
        upstream.append(tuple(numbers[each] for each in above))
    cycle = find_cycle(upstream)
    if cycle is not None:
        names = list(deps)
        path = [repr(names[number]) for number in cycle]
        if len(path) > _SHOWN:
            path = [*path[: _SHOWN // 2], "…", *path[-_SHOWN // 2 :]]
        raise ConfigurationError(
            f"the pipeline {pipeline!r} has a cycle: {' → '.join(path)}; each waits for the one before it, so none "
            "could start"
        )
    return upstream
