"""Coroutines in a notebook: the kernel's own loop runs already, and goes on running while a cell awaits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(120)]

CELLS = [
    """
import asyncio, threading
from chongming_task import Controller, Pipeline, ProgressUpdated, TaskStatusChanged, task
controller = Controller()

@task
def count(ctx, number: int) -> int:
    for done in range(number):
        ctx.progress(done + 1, number)
        ctx.checkpoint()
    assert turned.wait(20)  # the loop goes on while a cell awaits this
    return number

turned = threading.Event()

gate = threading.Event()

@task
def gated(ctx) -> str:
    while not gate.is_set():
        ctx.sleep(0.01)
    return "open"
""",
    """
async def beside():
    while True:
        turned.set()
        await asyncio.sleep(0)
other = asyncio.ensure_future(beside())
print(await controller.submit(count, 1000), turned.is_set())
""",
    """
seen = []
async def follow():
    async for event in controller.stream(types=[TaskStatusChanged]):
        seen.append(str(event.to_status))
follower = asyncio.ensure_future(follow())
await asyncio.sleep(0)
handle = controller.submit(gated)
await controller.aio.wait_for(handle, "running")
print(handle.status)
""",
    """
waiting = asyncio.ensure_future(controller.aio.result(handle))
await asyncio.sleep(0)
waiting.cancel()
print(handle.status, await controller.aio.pause(handle), await controller.aio.resume(handle))
""",
    """
gate.set()
pipeline = Pipeline("sums")
pipeline.add(sum, pipeline.add(sorted, [3, 1]), name="total")
print(await handle, str(await pipeline.submit(controller)))
""",
    """
await controller.aio.close()
await asyncio.wait_for(follower, 20)
other.cancel()
print(seen[:7], seen.count("succeeded"))
""",
]


def said(cell: Any) -> str:
    """What a cell printed; anything else it shows is told."""
    assert [output.output_type for output in cell.outputs] in ([], ["stream"]), cell.outputs
    return "".join(output.text for output in cell.outputs).strip()


def test_cells_await_tasks_streams_and_verbs(tmp_path: Path) -> None:
    """A value, events beside other cells, a cancelled wait that harms nothing, verbs, runs, and a stream to its end."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(
        notebook, timeout=50, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert [said(cell) for cell in notebook.cells] == [
        "",
        "1000 True",
        "running",
        "running True True",
        "open succeeded",
        "['queued', 'starting', 'running', 'pausing', 'paused', 'running', 'succeeded'] 3",
    ]
