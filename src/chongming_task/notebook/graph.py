"""The graph of a pipeline run, read from its records alone: its nodes, what each waits for, and which are maps. Pure.

Records are all that runs of other processes, and runs that were continued, have in common with one of this process. A
node's record tells its name and the ids of those it waits for; the tasks of a map "load" are called "load[0]" and so on
and wait for nothing by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus

__all__ = ["Shape", "map_of"]

MOST_NODES = 3_000
MOST_EDGES = 12_000


class Shape:
    """Grows with the records that it is shown."""

    def __init__(self) -> None:
        self.version = 0  # moves when there are more nodes, or a node turns out to be a map
        self._names: list[str] = []  # of the nodes, in the order they came
        self._upstream: list[tuple[str, ...]] = []  # the ids they wait for
        self._of_id: dict[str, int] = {}
        self._of_name: dict[str, int] = {}
        self._tasks: dict[str, tuple[int, TaskStatus]] = {}  # of maps, by id: whose they are and how they stand
        self._counts: dict[int, Counter[TaskStatus]] = {}  # of the tasks of each map

    def __len__(self) -> int:
        return len(self._names)

    def take(self, tasks: Iterable[TaskSnapshot]) -> None:
        """Takes in records, as they stand now.

        Args:
            tasks: Of one run; a map's own record comes before, or together with, those of its tasks.
        """
        strangers = []
        for task in tasks:
            if (known := self._tasks.get(task.task_id)) is not None:
                self._count(task, *known)
            elif task.task_id not in self._of_id:
                strangers.append(task)
        for task in sorted(strangers, key=lambda each: map_of(_node(each)) is not None):  # maps before their tasks
            self._add(task)

    def _add(self, task: TaskSnapshot) -> None:
        name = _node(task)
        head = map_of(name)
        if head is not None and head in self._of_name and not task.depends_on:
            self._count(task, self._of_name[head], None)
            return
        number = len(self._names)
        self._names.append(name)
        self._upstream.append(task.depends_on)
        self._of_id[task.task_id] = self._of_name[name] = number
        self.version += 1

    def _count(self, task: TaskSnapshot, node: int, before: TaskStatus | None) -> None:
        if before is task.status:
            return
        counts = self._counts.get(node)
        if counts is None:
            counts = self._counts[node] = Counter()
            self.version += 1
        if before is not None:
            counts[before] -= 1
        counts[task.status] += 1
        self._tasks[task.task_id] = (node, task.status)

    def told(self, most: int = MOST_NODES) -> dict[str, Any]:
        """What a view draws: names, edges and maps by their numbers, and how many nodes, and edges between
        those that are told of, are left out.

        Args:
            most: Nodes to tell of; the first ones.
        """
        nodes = min(len(self._names), most)
        edges = [
            (above, node)
            for node, upstream in enumerate(self._upstream)
            for task_id in upstream
            if (above := self._of_id.get(task_id)) is not None  # else its record was pruned
        ]
        between = [(above, node) for above, node in edges if above < nodes and node < nodes]
        shown = between[:MOST_EDGES]
        return {
            "names": self._names[:nodes],
            "edges": [end for edge in shown for end in edge],  # from, to, from, to, ...
            "maps": sorted(node for node in self._counts if node < nodes),
            "nodes_left": len(self._names) - nodes,
            "edges_left": len(between) - len(shown),
        }

    def counts(self, most: int = MOST_NODES) -> dict[str, dict[str, int]]:
        """Of each map, how many of its tasks are in each status; statuses without any are left out.

        Args:
            most: As of ``told``.
        """
        return {
            str(node): {status.value: count for status, count in counts.items() if count}
            for node, counts in self._counts.items()
            if node < most
        }


def map_of(node: str) -> str | None:
    """The map that a task called like that would belong to: ``"load"`` for ``"load[3]"``; else None."""
    head, bracket, tail = node.rpartition("[")
    return head if bracket and tail.endswith("]") and tail[:-1].isdecimal() else None


def _node(task: TaskSnapshot) -> str:
    return task.node or task.name
