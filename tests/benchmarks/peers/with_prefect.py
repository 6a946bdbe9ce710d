"""Prefect with the server that it starts for itself, on SQLite: tasks submitted within a flow, to threads."""

from __future__ import annotations

import os
from pathlib import Path

os.environ |= {
    "PREFECT_HOME": str(Path.cwd() / "prefect"),  # where it is started is a new folder
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "DO_NOT_TRACK": "1",
}

from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner
from work import SLOTS, diamonds, no_op, per_task, tell

nothing = task(no_op, name="nothing")
in_threads = flow(task_runner=ThreadPoolTaskRunner(max_workers=SLOTS))
FEW_DIAMONDS = 22  # 199 nodes: a node costs the same in a larger graph, which would take a minute


@in_threads
def together(times: int) -> None:
    """Submit all, then wait for all."""
    for future in [nothing.submit() for _ in range(times)]:
        future.result()


@in_threads
def one_by_one(times: int) -> None:
    """Submit one, wait for it, submit the next."""
    for _ in range(times):
        nothing.submit().result()


@in_threads
def graph(count: int) -> None:
    """Futures as arguments."""
    steps = []
    for _node, upstream in diamonds(count // (SLOTS + 1)):
        steps.append(nothing.submit(*[steps[each] for each in upstream]))
    steps[-1].result()


if __name__ == "__main__":
    tell(
        {
            "together": per_task(60, together),
            "one by one": per_task(20, one_by_one),
            "node": per_task(1 + (SLOTS + 1) * FEW_DIAMONDS, graph, repeat=1),
        }
    )
