"""The story of a kernel that dies in the middle of its work, and of the one that is started after it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from jupyter_client.connect import write_connection_file

from chongming_task import SqliteTaskStore
from chongming_task.testing import check_audit
from tests.support.kernel import KernelClient, connect

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(120)]

# What the user runs first, in every kernel.
FIRST_CELL = """
import os
from chongming_task import Controller, task

def measure(ctx, number):
    while number >= 5 and not os.path.exists("data"):
        ctx.sleep(0.02)
    print("measured", number)
    return number ** 2

square = task(measure, name="square", restartable=True)
plain = task(measure, name="plain")
controller = Controller(store="runs.db", max_parallel=8)
"""

SUBMIT = """
handles = [controller.submit(kind, number) for number in range(20) for kind in (square, plain)]
for handle in handles[:10]:
    assert handle.wait(timeout=20) == "succeeded"
for handle in handles[10:18]:
    assert handle.wait_for("running", timeout=20) == "running"
"""

TAKE_OVER = """
controller.register(square)
before = controller.history.tasks()
report = controller.reconcile(on_orphan="requeue")
open("data", "w").close()
controller.wait_all(timeout=20)
after = controller.history.tasks()
"""


@contextmanager
def kernel(folder: Path, name: str) -> Iterator[tuple[subprocess.Popen[bytes], KernelClient]]:
    """A real one, with its working directory in the folder."""
    file, _ = write_connection_file(str(folder / f"{name}.json"), key=b"only this test's")
    process = subprocess.Popen([sys.executable, "-m", "ipykernel_launcher", "-f", file], cwd=folder)
    try:
        with closing(connect(Path(file), starting=True)) as client:
            client.run(FIRST_CELL)
            yield process, client
    finally:
        process.kill()
        process.wait(20)


def by_name_and_status(client: KernelClient, frame: str) -> dict[str, int]:
    """How many rows of a frame are of each kind."""
    return client.eval(
        f"{{f'{{name}} {{status}}': int(n) for (name, status), n in {frame}[['name', 'status']].value_counts().items()"
        " if n}"
    )


def test_a_new_kernel_goes_on_where_the_old_one_died(tmp_path):
    """It sees the history, tells what is lost, and finishes what can be run again; all results can be read."""
    with kernel(tmp_path, "a") as (process, first):
        first.run(SUBMIT, timeout=60)
        ids = first.eval("[handle.id for handle in handles]")
        process.send_signal(signal.SIGKILL)
        assert process.wait(20) == -signal.SIGKILL
    with kernel(tmp_path, "b") as (_, second):
        second.run(TAKE_OVER, timeout=60)
        assert by_name_and_status(second, "before") == {
            f"{name} {status}": count
            for name in ("square", "plain")
            for status, count in (("succeeded", 5), ("running", 4), ("queued", 11))
        }
        report = second.eval("report._asdict()")
        squares, plains = ids[::2], ids[1::2]
        assert {fate: set(found) for fate, found in report.items() if found} == {
            "requeued": set(squares[5:9]),
            "adopted": set(squares[9:]),
            "lost": set(plains[5:9]),
            "cancelled": set(plains[9:]),
        }
        assert by_name_and_status(second, "after") == {
            "square succeeded": 20,
            "plain succeeded": 5,
            "plain lost": 4,
            "plain cancelled": 11,
        }
        assert second.eval("after.set_index('task_id')['attempt'].to_dict()") == {
            task_id: 2 if task_id in squares[5:9] else 0 if task_id in plains[9:] else 1 for task_id in ids
        }
        readable = [*squares, *plains[:5]]
        assert second.eval(f"[controller.result(each) for each in {readable}]") == [
            *(number**2 for number in range(20)),
            *(number**2 for number in range(5)),
        ]
        why = second.eval(f"[controller.get(each).failure.message for each in {plains[5:]}]")
        assert all(f":{process.pid}:" in message and "is gone" in message for message in why)
        second.run("controller.close()")
    with closing(SqliteTaskStore(tmp_path / "runs.db")) as store:
        assert check_audit(store, settled=True) == 40
