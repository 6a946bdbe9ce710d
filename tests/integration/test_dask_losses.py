"""Workers, schedulers and controllers that die: no attempt runs twice, none is shown as what it is not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from chongming_task import Controller, DaskExecutor, FailureKind, MemoryTaskStore
from chongming_task.testing import check_audit
from tests.support import dask_tasks as tasks
from tests.support.dask_cluster import cluster
from tests.support.waiting import until

pytestmark = [pytest.mark.dask, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
SOON = 5.0  # seconds, within which a loss is told


@contextmanager
def controlled(target):
    """A controller; its records are audited at the end."""
    store = MemoryTaskStore()
    with Controller(store, executor=DaskExecutor(target), echo=False) as controller:
        yield controller
        check_audit(store)


def killed(pid: int) -> float:
    """End a process by force; when that was."""
    os.kill(pid, signal.SIGKILL)
    return time.monotonic()


def test_a_task_of_a_killed_worker_is_retried_by_its_policy_alone(tmp_path):
    """Within seconds, once for each attempt of the audit: Dask itself would have run it again as well."""
    notes = tmp_path / "notes"
    with cluster(threads=2) as made, controlled(made) as controller:
        handle = controller.submit(tasks.second_time_lucky, str(notes))
        handle.wait_for("running", timeout=60)
        until(lambda: tasks.noted(notes), "it runs")
        at = killed(int(tasks.noted(notes)[0].partition(":")[2]))
        assert handle.result(timeout=30) == 2
        first, second = handle.attempts
        assert first.failure.kind is FailureKind.NONZERO_EXIT
        assert "the process of the Dask worker tcp://" in first.failure.message
        assert time.monotonic() - at < SOON
        assert first.ended_at <= second.started_at
        assert [each.partition(":")[0] for each in tasks.noted(notes)] == ["1", "2"]
        assert [edge.trigger for edge in handle.transitions if edge.from_status == "running"] == [
            "worker:exited",
            "worker:returned",
        ]


def test_a_task_that_is_not_to_be_retried_ends_with_its_worker(tmp_path):
    """Told as the end of a process, also by the only worker there is."""
    with cluster(workers=1, threads=2) as made, controlled(made) as controller:
        handle = controller.submit(tasks.stay, str(tmp_path / "notes"))
        handle.wait_for("running", timeout=60)
        until(lambda: tasks.noted(tmp_path / "notes"), "it runs")
        at = killed(int(tasks.noted(tmp_path / "notes")[0]))
        handle.wait(30)
        assert time.monotonic() - at < SOON
        assert (handle.status, handle.failure.kind) == ("failed", FailureKind.NONZERO_EXIT)
        assert "side effects are possible" in handle.failure.message
        assert controller.submit(tasks.where).result(timeout=30)  # on the worker that the nanny has made instead
        assert len(tasks.noted(tmp_path / "notes")) == 1


def test_tasks_that_others_take_from_dask_are_stopped_or_lost(tmp_path):
    """Nobody wants them, so they are told to stop; of one that does not, nobody knows what becomes of it."""
    from distributed import Client, Future

    with cluster(workers=1, threads=2) as made, controlled(made) as controller:
        obeys = controller.submit(tasks.stay, str(tmp_path / "notes"))
        deaf = controller.submit(tasks.deaf, str(tmp_path / "there"))
        until(lambda: tasks.noted(tmp_path / "notes") and (tmp_path / "there").exists(), "both run")
        with Client(made, set_as_default=False) as other:
            keys = [key for key in made.scheduler.tasks if key.startswith("chongming-")]
            other.cancel([Future(key, other) for key in keys], force=True)
            at = time.monotonic()
            obeys.wait(30)
            deaf.wait(30)
            assert time.monotonic() - at < SOON
        assert (obeys.status, obeys.failure.kind) == ("failed", FailureKind.CANCELLED)
        assert obeys.failure.message.startswith("Dask gave the task up")
        assert tasks.noted(tmp_path / "notes")[1:] == ["stopped"]
        assert (deaf.status, deaf.failure.kind) == ("lost", FailureKind.LOST)
        assert "whether that worker still runs it is not known" in deaf.failure.message
        (tmp_path / "there").unlink()


CONTROLLER = """
import sys, time
from chongming_task import Controller, DaskExecutor
from tests.support import dask_tasks as tasks
controller = Controller(executor=DaskExecutor(sys.argv[1]))
controller.submit(tasks.stay, sys.argv[2])
time.sleep(600)
"""


def test_tasks_of_a_killed_controller_are_stopped(tmp_path):
    """At their next checkpoint: nobody is there to take what they bring."""
    notes = tmp_path / "notes"
    with cluster(workers=1, threads=2) as made:
        command = [sys.executable, "-c", CONTROLLER, made.scheduler_address, str(notes)]
        with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
            until(lambda: tasks.noted(notes), "it runs", 60)
            process.kill()
        until(lambda: tasks.noted(notes)[1:] == ["stopped"], "it is stopped")
        until(lambda: not [name for name in made.scheduler.plugins if name.startswith("chongming-")], "all is gone")


# the scheduler


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def processes(port: int):
    """A scheduler and a worker, as they are started by hand; gives the scheduler."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = []

    def start(*words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        return started[-1]

    try:
        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        start("worker", f"tcp://127.0.0.1:{port}", "--nthreads", "4", "--no-dashboard", "--no-nanny")
        yield scheduler
    finally:
        for each in started:
            each.kill()
            each.wait()


def test_a_scheduler_that_dies_takes_its_tasks_and_nothing_else(tmp_path):
    """What ran is lost and says so; what is submitted waits and says why; with a new one all goes on."""
    port, notes = free_port(), tmp_path / "notes"
    address = f"tcp://127.0.0.1:{port}"
    with processes(port) as scheduler:
        until(lambda: answers(port), "the scheduler answers", 60)
        with controlled(address) as controller:
            held = controller.submit(tasks.stay, str(notes))
            until(lambda: tasks.noted(notes), "it runs", 60)
            at = killed(scheduler.pid)
            held.wait(30)
            assert time.monotonic() - at < SOON
            assert (held.status, held.failure.kind) == ("lost", FailureKind.LOST)
            assert f"the connection to the Dask scheduler at {address} broke" in held.failure.message
            worker = int(tasks.noted(notes)[0])
            new = [controller.submit(tasks.where) for _ in range(3)]
            controller.counts()
            assert {each.status for each in new} == {"queued"}
            (why,) = controller.waiting_for(new[0])
            assert why.startswith(f"the Dask scheduler at {address}, out of reach since ")
            assert new[2].stop(timeout=10)
            held_now = psutil.Process().num_fds()
            until(lambda: "refused" in controller.waiting_for(new[0])[0], "it has been looked for again", 30)
            until(lambda: psutil.Process().num_fds() <= held_now, "looking for it costs nothing", 30)
            until(lambda: not psutil.pid_exists(worker) or is_stopped(notes), "the task that was lost has ended", 60)
            with processes(port):
                pids = {each.result(timeout=90) for each in new[:2]}
                assert len(pids) == 1
                assert controller.waiting_for(new[0]) == []


def is_stopped(notes: Path) -> bool:
    """Whether the task was told to stop before its worker went."""
    return tasks.noted(notes)[1:] == ["stopped"]


def answers(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def test_a_cluster_that_is_closed_in_good_order_is_told_as_well(tmp_path):
    """The controller lives on without it, and can be closed."""
    with cluster(workers=1, threads=2) as made:
        executor = DaskExecutor(made)
        controller = Controller(executor=executor, echo=False)
        held = controller.submit(tasks.stay, str(tmp_path / "notes"))
        until(lambda: tasks.noted(tmp_path / "notes"), "it runs")
    held.wait(30)
    assert held.status in ("lost", "failed")
    until(lambda: executor.obstacle, "it is noticed")
    waits = controller.submit(tasks.where)
    assert controller.waiting_for(waits) == [executor.obstacle]
    controller.close(timeout=2)
    assert waits.status == "stopped"
