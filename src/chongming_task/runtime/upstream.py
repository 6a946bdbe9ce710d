"""What a node of a pipeline is handed of the nodes before it: loaded in its worker, when it is first looked at."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from chongming_task.errors import UnknownInput
from chongming_task.runtime.results import ResultCodec, load_result

__all__ = ["FromNode", "Gathered", "Upstream", "places_of"]


class FromNode(NamedTuple):
    """Stands in a node's arguments for the result of another node."""

    name: str


class Gathered(NamedTuple):
    """The outcomes of the tasks of a map, in the order of its items; None for those without success."""

    outcomes: tuple[Any, ...]


class Upstream(Mapping[str, Any]):
    """Results of the nodes before one, by name. A node that did not succeed has None; of a map, each of its tasks that
    did not, in the list.

    A result that was kept as a file is read when it is asked for, each time anew; JSON is copied, so that a task that
    changes what it was handed changes nobody else's. It crosses to other processes.

    Args:
        outcomes: As the records hold them.
        codecs: Who reads files.
        base: The folder of all attempts' files.
    """

    def __init__(self, outcomes: Mapping[str, Any], codecs: Sequence[ResultCodec], base: str | None) -> None:
        self._outcomes = outcomes
        self._codecs = tuple(codecs)
        self._base = base

    def __getitem__(self, name: Any) -> Any:
        """The result of a node, by its name or by the node itself.

        Raises:
            UnknownInput: When it is not one that this node waits for.
            ResultUnavailable: When it cannot be had in this process.
        """
        wanted = getattr(name, "name", name)
        if not isinstance(wanted, str) or wanted not in self._outcomes:
            known = ", ".join(map(repr, self._outcomes)) or "nothing"
            raise UnknownInput(f"there is no upstream node {wanted!r:.100} here; there is {known:.500}")
        held = self._outcomes[wanted]
        if isinstance(held, Gathered):
            return [self._load(each) for each in held.outcomes]
        return self._load(held)

    def _load(self, outcome: Any) -> Any:
        value = load_result(outcome, self._codecs, self._base)
        return copy.deepcopy(value) if value is outcome else value

    def outcomes(self) -> Iterator[Any]:
        """As the records hold them; those of a map one by one."""
        for held in self._outcomes.values():
            if isinstance(held, Gathered):
                yield from held.outcomes
            else:
                yield held

    def replaced(self, new: Callable[[Any], Any]) -> Upstream:
        """The same with ``new`` of every outcome in its place."""
        outcomes = {
            name: Gathered(tuple(map(new, held.outcomes))) if isinstance(held, Gathered) else new(held)
            for name, held in self._outcomes.items()
        }
        return Upstream(outcomes, self._codecs, self._base)

    def __contains__(self, name: object) -> bool:
        return getattr(name, "name", name) in self._outcomes

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __repr__(self) -> str:
        return f"<results of {', '.join(map(repr, self._outcomes)) or 'nothing'}>"

    def fill(self, value: Any) -> Any:
        """``value`` with results in the places that stand for them, also within lists, tuples and dicts."""
        if isinstance(value, FromNode):
            return self[value.name]
        if type(value) is list:
            return [self.fill(each) for each in value]
        if type(value) is tuple:
            return tuple(self.fill(each) for each in value)
        if type(value) is dict:
            return {key: self.fill(each) for key, each in value.items()}
        return value


def places_of(value: Any) -> Iterator[str]:
    """The names of the nodes whose results ``value`` has places for."""
    open_ = [value]
    while open_:
        each = open_.pop()
        if isinstance(each, FromNode):
            yield each.name
        elif type(each) in (list, tuple):
            open_ += each
        elif type(each) is dict:
            open_ += each.values()
