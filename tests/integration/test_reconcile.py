"""A process that is gone leaves no record that says it runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from chongming_task import Controller, MemoryTaskStore, SqliteTaskStore, TaskSnapshot, TaskStatus
from chongming_task.runtime.ownership import is_orphan, this_process
from chongming_task.testing import check_audit

VICTIM = """
import sys, threading
from chongming_task import Controller

def spin(ctx):
    while True:
        ctx.sleep(60)

controller = Controller(store=sys.argv[1], max_parallel=2)
running = [controller.submit(spin, args=(), name=f"running {n}") for n in range(2)]
queued = controller.submit(spin, args=(), name="queued")
held = running[1]
for handle in running:
    handle.wait_for("running", timeout=30)
assert held.pause(timeout=30)
controller.submit(len, args=("abc",), name="kept back", start=False)
controller.counts()
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.fixture
def left_behind(tmp_path):
    """The file of a process that was killed with two tasks running, one of them paused, one queued and one pending."""
    path = tmp_path / "runs.db"
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(path)], stdout=subprocess.PIPE, text=True)
    assert victim.stdout.readline() == "ready\n"
    yield path, victim
    victim.kill()
    victim.wait()
    victim.stdout.close()


def by_name(controller):
    """The records of a store."""
    return {task.name: task for task in controller.list_tasks()}


def test_after_a_kill_every_record_says_what_is_known(left_behind):
    """What held a worker is lost, what never ran is cancelled, and both say which process is gone."""
    path, victim = left_behind
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    with Controller(store=path) as controller:
        foretold = controller.reconcile(dry_run=True)
        assert by_name(controller)["running 0"].status == "running"  # a dry run changes nothing
        report = controller.reconcile()
        assert report == foretold
        tasks = by_name(controller)
        assert {name: str(task.status) for name, task in tasks.items()} == {
            "running 0": "lost",
            "running 1": "lost",
            "queued": "cancelled",
            "kept back": "cancelled",
        }
        assert set(report.lost) == {tasks["running 0"].task_id, tasks["running 1"].task_id}
        edge = controller.transitions(tasks["queued"].task_id)[-1]
        assert (edge.trigger, edge.actor) == ("reconcile:orphan", controller.owner)
        assert f":{victim.pid}:" in edge.reason
        assert not tasks["running 0"].abandoned  # its threads died with it
        assert controller.reconcile().lost == ()
    with closing(SqliteTaskStore(path)) as store:
        check_audit(store, settled=True)


def test_what_a_living_process_watches_is_left_alone(left_behind):
    """However long it says nothing: it is there."""
    path, _ = left_behind
    with Controller(store=path) as controller:
        report = controller.reconcile()
        assert (report.lost, report.cancelled) == ((), ())
        assert len(report.untouched) == 4
        assert by_name(controller)["running 0"].status == "running"


def test_a_controller_leaves_its_own_records_alone():
    """They are watched, whatever their owner is called."""
    with Controller(owner="node-7") as controller:
        handle = controller.submit(len, args=("abc",), start=False)
        assert controller.reconcile().untouched == (handle.id,)


def test_other_buckets_are_others_business():
    """A controller reconciles the buckets it owns."""
    store = MemoryTaskStore()
    with Controller(store, owner=f"{this_process().rpartition(':')[0]}:1") as gone:
        gone.submit(len, args=("abc",), bucket_key="tenant", start=False)
        (task,) = gone.list_tasks()
        others = [bucket for bucket in range(64) if bucket != task.bucket]
        with Controller(store, owned_buckets=others) as controller:
            assert controller.reconcile(dry_run=True).cancelled == ()
        with Controller(store, owned_buckets=[task.bucket]) as controller:
            assert controller.reconcile(dry_run=True).cancelled == (task.task_id,)


@pytest.mark.parametrize(
    ("owner", "lease", "orphan"),
    [
        ("this", None, False),
        ("this", -1, False),  # a lease that is over proves nothing where the process can be seen
        ("reused", None, True),  # the pid was given to another process
        ("elsewhere:1:1", None, False),
        ("elsewhere:1:1", -1, True),
        ("elsewhere:1:1", 30, False),
        ("node-7", None, False),
        (None, None, False),
    ],
)
def test_who_counts_as_gone(owner, lease, orphan):
    """The process table where it can be asked, a lease where there is one, and otherwise the benefit of the doubt."""
    here = this_process()
    owner = {"this": here, "reused": f"{here.rpartition(':')[0]}:1"}.get(owner, owner)
    now = datetime.now(UTC)
    until = None if lease is None else now + timedelta(seconds=lease)
    task = TaskSnapshot("t", "t", now, status=TaskStatus.RUNNING, owner=owner, lease_until=until)
    assert is_orphan(task, now) is orphan


def test_buckets_are_counted():
    """Open records by bucket."""
    with Controller() as controller:
        for _ in range(3):
            controller.submit(len, args=("abc",), bucket_key="tenant", start=False)
        assert list(controller.bucket_counts().values()) == [3]


def test_the_store_is_pruned():
    """The oldest ended records go; how many is told."""
    with Controller() as controller:
        handles = [controller.submit(len, args=("abc",)) for _ in range(5)]
        controller.wait_all(timeout=20)
        assert controller.prune(keep_terminal=2) == 3
        assert [task.task_id for task in controller.list_tasks()] == [handle.id for handle in handles[3:]]
