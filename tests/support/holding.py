"""A task that holds its slot, in whichever controller takes it over."""

from __future__ import annotations

from chongming_task import TaskContext, task


@task(restartable=True)
def hold(ctx: TaskContext) -> None:
    """Runs until it is stopped."""
    while True:
        ctx.sleep(60)
