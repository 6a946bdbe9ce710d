"""What the types promise to who listens, hooks and awaits; must type-check under mypy --strict, never run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

from chongming_task import (
    Controller,
    Event,
    Hooks,
    Pipeline,
    PipelineRun,
    PipelineRunStatus,
    ProgressUpdated,
    TaskHandle,
    TaskSnapshot,
    TaskStatus,
    TaskStatusChanged,
    task,
)


def of_task(snapshot: TaskSnapshot) -> None:
    """A hook of a task."""


def of_run(run: PipelineRun) -> None:
    """A hook of a run."""


@task(hooks=Hooks(on_failure=of_task, on_start=lambda snapshot: print(snapshot.attempt)))
def hooked(a: int) -> float:
    return a / 2


def hooks() -> None:
    Pipeline("one", hooks=Hooks(on_failure=of_run), node_hooks=Hooks(on_success=of_task))
    Controller(hooks=Hooks(on_cancel=of_task))
    hooked.with_options(hooks=Hooks(on_retry=of_task))
    Controller(hooks=Hooks(on_cancel=of_run))  # type: ignore[arg-type]
    Pipeline("one", hooks=Hooks(on_failure=of_task))  # type: ignore[arg-type]
    task(hooks=of_task)  # type: ignore[call-overload]


async def follow(event: Event) -> None:
    """No callback."""


def listening(controller: Controller, handle: TaskHandle[float], run: PipelineRun) -> None:
    controller.watch(print, task_id=handle, types=[TaskStatusChanged])
    controller.watch(print, pipeline_run_id=run, tag="etl", types=[TaskStatusChanged, ProgressUpdated])
    assert_type(controller.events(handle, types=[ProgressUpdated]), Iterator[Event])
    controller.watch(print, types=TaskStatusChanged)
    controller.watch("print")  # type: ignore[arg-type]
    controller.watch(follow)  # type: ignore[arg-type]  # nobody would await it
    controller.watch(print, types=[int])  # type: ignore[list-item]


async def coroutines(controller: Controller, handle: TaskHandle[float], run: PipelineRun) -> None:
    assert_type(await handle, float)
    assert_type(await run, PipelineRunStatus)
    assert_type(await controller.aio.stop(handle, graceful=False, timeout=3), bool)
    assert_type(await controller.aio.retry("id", force=True), bool)
    assert_type(await controller.aio.wait(handle, timeout=3), TaskStatus)
    assert_type(await controller.aio.list_tasks(tag="etl"), list[TaskSnapshot])
    assert_type(await controller.aio.counts(), dict[TaskStatus, int])
    assert_type(await run.aio.cancel("enough"), bool)
    async for event in controller.stream(types=[ProgressUpdated]):
        assert_type(event, Event)
    async with Controller() as other:
        assert_type(other, Controller)
    await controller.aio.stop(handle, patience=3)  # type: ignore[call-arg]
    await controller.aio.list_tasks(tags="etl")  # type: ignore[call-arg]
