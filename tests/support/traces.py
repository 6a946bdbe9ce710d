"""Workflows as they ran elsewhere, read from WfFormat files, and how fast they could run on so many slots."""

from __future__ import annotations

import heapq
import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER_VARIABLE = "CHONGMING_TRACES"
BESIDE = Path(__file__).parents[3] / "shared" / "data" / "workflows"


def folder() -> Path:
    """Where the files are: as the environment says, or beside the project."""
    return Path(os.environ.get(FOLDER_VARIABLE) or BESIDE)


@dataclass(frozen=True, slots=True)
class Trace:
    """One workflow."""

    name: str
    parents: Mapping[str, tuple[str, ...]]  # parents before their children
    seconds: Mapping[str, float]  # how long each task took, scaled

    def children(self) -> dict[str, list[str]]:
        """Who waits for each task."""
        found: dict[str, list[str]] = {name: [] for name in self.parents}
        for name, above in self.parents.items():
            for each in above:
                found[each].append(name)
        return found

    def below(self, name: str) -> set[str]:
        """Every task that cannot run without this one."""
        children, found, ways = self.children(), set[str](), [name]
        while ways:
            new = set(children[ways.pop()]) - found
            found |= new
            ways += new
        return found

    def longest(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Of each task, the heaviest way from it down, itself included."""
        children = self.children()
        found: dict[str, float] = {}
        for name in reversed(self.parents):
            found[name] = weights[name] + max((found[each] for each in children[name]), default=0.0)
        return found

    def hops(self) -> dict[str, float]:
        """The same, counted in tasks."""
        return self.longest(dict.fromkeys(self.parents, 1.0))


def read(name: str, total_seconds: float) -> Trace:
    """A trace whose makespan on endless slots would be ``total_seconds``."""
    workflow = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))["workflow"]
    parents = {task["id"]: tuple(task["parents"]) for task in workflow["specification"]["tasks"]}
    seconds = {task["id"]: float(task["runtimeInSeconds"]) for task in workflow["execution"]["tasks"]}
    trace = Trace(name, _in_order(parents), seconds)
    scale = total_seconds / max(trace.longest(seconds).values())
    return Trace(name, trace.parents, {task: took * scale for task, took in seconds.items()})


def _in_order(parents: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    while len(found) < len(parents):
        found |= {n: above for n, above in parents.items() if n not in found and all(each in found for each in above)}
    return found


def list_schedule(trace: Trace, priorities: Mapping[str, float], slots: int) -> float:
    """The makespan when a free slot always takes the ready task of the highest priority, in no time."""
    children = trace.children()
    missing = {name: len(above) for name, above in trace.parents.items()}
    order = {name: (-priorities[name], number) for number, name in enumerate(trace.parents)}
    ready = [(order[name], name) for name, count in missing.items() if not count]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < slots:
            _, name = heapq.heappop(ready)
            heapq.heappush(running, (now + trace.seconds[name], name))
        now = running[0][0]
        while running and running[0][0] <= now:
            for each in children[heapq.heappop(running)[1]]:
                missing[each] -= 1
                if not missing[each]:
                    heapq.heappush(ready, (order[each], each))
    return now


def best_schedule(trace: Trace, priorities: Mapping[str, float], slots: int, orders: int = 50) -> float:
    """The shortest of the list schedules that these priorities allow, as far as tries of that many orders tell."""
    dice = random.Random(0)
    found = [list_schedule(trace, priorities, slots)]
    for _ in range(orders):
        shuffled = sorted(trace.parents, key=lambda _: dice.random())
        parents = _in_order({name: trace.parents[name] for name in shuffled})
        found.append(list_schedule(replace(trace, parents=parents), priorities, slots))
    return min(found)
