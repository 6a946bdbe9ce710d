"""When a node of a pipeline starts, and when it cannot: pure, and without recursion however deep the graph is.

Nodes are numbers. Whoever runs them tells ``RunGraph`` how each has ended, and is told what follows for others.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from chongming_task.core.states import BROKEN, TERMINAL, TaskStatus

__all__ = ["Decision", "JoinMode", "RunGraph", "Tally", "Verdict", "decide", "find_cycle", "heights"]

S = TaskStatus
BAD = BROKEN | {S.STOPPED, S.CANCELLED}
"""How a node can end so that what relies on it cannot start."""


class JoinMode(StrEnum):
    """What a node asks of its upstream nodes.

    Example:
        >>> from chongming_task import Controller, Pipeline
        >>> pipeline = Pipeline("either")
        >>> first, second = pipeline.add(int, "ten", name="first"), pipeline.add(int, "10", name="second")
        >>> _ = pipeline.add(max, [0], deps=[first, second], name="report", join=JoinMode.ALL_DONE)
        >>> pipeline["report"]
        <node 'report' of 'either'>
    """

    ALL_SUCCEEDED = "all_succeeded"
    NONE_FAILED = "none_failed"  # skipped ones are all right, as long as one has succeeded
    ANY_SUCCEEDED = "any_succeeded"  # the first one will do
    ALL_DONE = "all_done"  # however they ended


class Verdict(StrEnum):
    """What follows for a node."""

    RUN = "run"
    CANCEL = "cancel"
    SKIP = "skip"


class Decision(NamedTuple):
    """A node, what follows for it, and which upstream node decided it."""

    node: int
    verdict: Verdict
    cause: int | None = None


class Tally(NamedTuple):
    """How the upstream nodes of one node have ended so far."""

    total: int
    succeeded: int = 0
    skipped: int = 0
    bad: int = 0

    @property
    def settled(self) -> bool:
        """Whether all have."""
        return self.succeeded + self.skipped + self.bad == self.total


def decide(join: JoinMode, tally: Tally) -> Verdict | None:
    """What a join mode makes of the upstream nodes so far; None while it depends on those that have not ended."""
    if tally.total == 0:
        return Verdict.RUN
    if join is JoinMode.ALL_DONE:
        return Verdict.RUN if tally.settled else None
    if join is JoinMode.ANY_SUCCEEDED:
        if tally.succeeded:
            return Verdict.RUN
        if not tally.settled:
            return None
        return Verdict.CANCEL if tally.bad else Verdict.SKIP
    if tally.bad:
        return Verdict.CANCEL
    if not tally.settled:
        return None
    enough = tally.skipped == 0 if join is JoinMode.ALL_SUCCEEDED else tally.succeeded > 0
    return Verdict.RUN if enough else Verdict.SKIP


class RunGraph:
    """The nodes of one run, and how each has ended. Belongs to one thread.

    Args:
        upstream: Of each node, those it waits for.
        joins: Of each node, what it asks of them.
    """

    def __init__(self, upstream: Sequence[Sequence[int]], joins: Sequence[JoinMode]) -> None:
        self.upstream = [tuple(each) for each in upstream]
        self.downstream: list[list[int]] = [[] for _ in upstream]
        for node, above in enumerate(self.upstream):
            for each in above:
                self.downstream[each].append(node)
        self._joins = list(joins)
        self._ends: list[TaskStatus | None] = [None] * len(upstream)
        self._counts = _none_ended(len(upstream))
        self._first_bad: list[int | None] = [None] * len(upstream)
        self._decided = [False] * len(upstream)

    def __len__(self) -> int:
        return len(self.upstream)

    @property
    def sinks(self) -> list[int]:
        """The nodes that nobody waits for."""
        return [node for node, below in enumerate(self.downstream) if not below]

    def begin(self) -> list[Decision]:
        """What can be said before anything has ended: nodes without upstream run."""
        return self._look(range(len(self)))

    def settle(self, node: int, end: TaskStatus) -> list[Decision]:
        """Note how a node has ended; what follows for those below it.

        Args:
            node: The node.
            end: A terminal status.
        """
        if self._ends[node] is not None:
            return []
        self._ends[node] = end
        self._decided[node] = True
        kind = 0 if end is S.SUCCEEDED else 1 if end is S.SKIPPED else 2
        below = self.downstream[node]
        for each in below:
            self._counts[kind][each] += 1
            if kind == 2 and self._first_bad[each] is None:
                self._first_bad[each] = node
        return self._look(below)

    def rebuild(self, ends: Mapping[int, TaskStatus]) -> list[Decision]:
        """Begin again from how things stand, after nodes have been revived or were read from a store.

        Args:
            ends: Of the nodes that have ended, how. The others are undecided, also those that were decided before.
        """
        count = len(self)
        self._ends = [None] * count
        self._counts = _none_ended(count)
        self._first_bad = [None] * count
        self._decided = [False] * count
        for node, end in ends.items():
            assert end in TERMINAL
            self.settle(node, end)
        self._decided = [end is not None for end in self._ends]
        return self.begin()

    def tally(self, node: int) -> Tally:
        """How the upstream of a node has ended so far."""
        succeeded, skipped, bad = self._counts
        return Tally(len(self.upstream[node]), succeeded[node], skipped[node], bad[node])

    def _look(self, nodes: Iterable[int]) -> list[Decision]:
        found = []
        for node in nodes:
            if self._decided[node]:
                continue
            verdict = decide(self._joins[node], self.tally(node))
            if verdict is not None:
                self._decided[node] = True
                found.append(Decision(node, verdict, self._first_bad[node]))
        return found


def _none_ended(count: int) -> tuple[array[int], array[int], array[int]]:
    """Of each node, how many of its upstream have succeeded, were skipped, or are bad."""
    return array("L", [0]) * count, array("L", [0]) * count, array("L", [0]) * count


def find_cycle(upstream: Sequence[Sequence[int]]) -> list[int] | None:
    """A cycle as the path along it, its first node again at the end; None when there is none.

    Args:
        upstream: Of each node, those it waits for.
    """
    unseen, open_, done = 0, 1, 2
    state = [unseen] * len(upstream)
    for root in range(len(upstream)):
        if state[root] != unseen:
            continue
        path, ways = [root], [iter(upstream[root])]
        state[root] = open_
        while path:
            step = next(ways[-1], None)
            if step is None:
                state[path.pop()] = done
                ways.pop()
            elif state[step] == open_:
                return [*path[path.index(step) :], step][::-1]
            elif state[step] == unseen:
                state[step] = open_
                path.append(step)
                ways.append(iter(upstream[step]))
    return None


def heights(upstream: Sequence[Sequence[int]]) -> list[int]:
    """Of each node, how many nodes the longest path from it down has, itself included: the longest run first.

    Args:
        upstream: Of each node, those it waits for; without a cycle.
    """
    waiting = [0] * len(upstream)  # for how many below
    for above in upstream:
        for each in above:
            waiting[each] += 1
    found = [1] * len(upstream)
    ready = [node for node, below in enumerate(waiting) if not below]
    while ready:
        node = ready.pop()
        for each in upstream[node]:
            found[each] = max(found[each], found[node] + 1)
            waiting[each] -= 1
            if not waiting[each]:
                ready.append(each)
    return found
