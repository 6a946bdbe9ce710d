"""How a pipeline run stands, in a few words: its counts, and the first failure with what it has blocked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from chongming_task.core.runs import PipelineRunStatus, is_blocked
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.live_run import LiveRun

__all__ = ["RunSummary", "summary_of"]


class RunSummary(NamedTuple):
    """How a run stands, in a few words.

    Example:
        >>> from chongming_task import Controller, Pipeline
        >>> pipeline = Pipeline("numbers")
        >>> _ = pipeline.add(abs, pipeline.add(int, "ten"))
        >>> with Controller() as controller:
        ...     run = pipeline.submit(controller)
        ...     _ = run.wait(timeout=10)
        ...     print(run.summary().first_failure)
        ('int', 'abs')
    """

    status: PipelineRunStatus
    counts: Mapping[TaskStatus, int]  # of nodes and tasks of maps; statuses without any are left out
    first_failure: tuple[str, ...] = ()  # the first node that failed or was lost, then those it has blocked, downwards
    why: str | None = None  # what that node's failure says

    def __str__(self) -> str:
        counted = ", ".join(f"{count} {status}" for status, count in self.counts.items()) or "no nodes"
        if not self.first_failure:
            return f"{self.status}: {counted}"
        return f"{self.status}: {counted}; first failure: {' → '.join(self.first_failure)}: {self.why}"


def summary_of(run: LiveRun) -> RunSummary:
    """The summary of a run, as it is published. From any thread."""
    first = run.first_failure()
    if first is None:
        return RunSummary(run.status, run.counts())
    task, node = first.snapshot, run.number_of(first)
    of_map = [run.plans[node].name] if first is not run.nodes[node] and is_blocked(run.nodes[node].snapshot) else []
    chain = (task.node or task.name, *of_map, *_blocked_below(run, node))
    return RunSummary(run.status, run.counts(), chain, None if task.failure is None else task.failure.message)


def _blocked_below(run: LiveRun, node: int) -> list[str]:
    """The nodes that a failed one has blocked, along one path down."""
    found: list[str] = []
    while True:
        below = [each for each in run.graph.downstream[node] if is_blocked(run.nodes[each].snapshot)]
        if not below:
            return found
        node = below[0]
        found.append(run.plans[node].name)
