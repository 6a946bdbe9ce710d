"""A process that is gone leaves no record that says it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from chongming_task import (
    AttemptsExhausted,
    ConfigurationError,
    Controller,
    InvalidTransition,
    NotRestartable,
    SqliteTaskStore,
    TaskSnapshot,
    TaskStatus,
    task,
)
from chongming_task.api.recovery import fate_of
from chongming_task.core.records import OwnerLease
from chongming_task.core.states import RequestedAction
from chongming_task.runtime.ownership import Watchers, this_process
from chongming_task.testing import check_audit
from tests.support.holding import hold
from tests.support.waiting import until

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


def vanish(controller):
    """As if its process were gone, once all it has said is stored: it is not heard of any more."""
    controller.counts()
    controller._link.depart()


@task(restartable=True)
def add(left: int, right: int) -> int:
    """Can be run anywhere."""
    return left + right


@pytest.fixture
def controller_on(controller_on):
    """One without a lease is taken for dead at once."""
    return partial(controller_on, lease_ttl=1e-6)


def test_other_buckets_are_others_business(controller_on):
    """A controller reconciles the buckets it owns."""
    gone = controller_on()
    handle = gone.submit(len, args=("abc",), bucket_key="tenant", start=False)
    vanish(gone)
    bucket = handle.snapshot.bucket
    other = controller_on(owned_buckets=[each for each in range(64) if each != bucket])
    assert other.reconcile().cancelled == ()
    assert controller_on(owned_buckets=[bucket]).reconcile().cancelled == (handle.id,)


def test_what_never_ran_runs_where_its_task_is_known(controller_on):
    """Queued, waiting for its next attempt, paused or held back: each goes on from where it stood."""
    gone = controller_on(max_parallel=1)
    busy = gone.submit(hold)
    busy.wait_for("running", timeout=10)
    queued = gone.submit(add, 1, 2)
    paused = gone.submit(add, 3, 4)
    paused.pause()
    kept = gone.submit(add, 5, 6, start=False)
    plain = gone.submit(len, args=("abc",))
    vanish(gone)
    heir = controller_on()
    heir.register_all(add, hold)
    foretold = heir.reconcile(dry_run=True)
    report = heir.reconcile()
    assert report == foretold
    assert report.lost == (busy.id,)
    assert set(report.adopted) == {queued.id, paused.id, kept.id}
    assert report.cancelled == (plain.id,)
    assert heir.result(queued.id, timeout=10) == 3
    assert heir.get(paused.id).status == "paused"
    assert heir.get(kept.id).status == "pending"
    heir.resume(paused.id)
    heir.start(kept.id)
    assert (heir.result(paused.id, timeout=10), heir.result(kept.id, timeout=10)) == (7, 11)
    assert heir.get(queued.id).owner == heir.owner


def test_lost_ones_run_again_when_that_is_asked_for(controller_on):
    """With one more attempt; their history tells who lost them."""
    gone = controller_on()
    running, stopping = gone.submit(hold), gone.submit(hold)
    for handle in (running, stopping):
        handle.wait_for("running", timeout=10)
    vanish(gone)
    heir = controller_on()
    heir.register(hold)
    assert heir.reconcile(on_orphan="requeue").requeued == (running.id, stopping.id)
    heir.handle(running.id).wait_for("running", timeout=10)
    first, second = heir.attempts(running.id)
    assert (first.status, first.owner, second.owner) == ("lost", gone.owner, heir.owner)
    assert heir.stop(running.id)
    assert heir.stop(stopping.id)
    told = [edge.trigger for edge in heir.transitions(running.id)]
    assert told[-6:] == [
        "reconcile:orphan",
        "user:retry",
        "scheduler:dispatch",
        "worker:started",
        "user:stop",
        "worker:obeyed",
    ]


def test_who_was_taken_for_dead_and_lives_lets_go(controller_on):
    """Its worker is told to stop, its handle shows what is true now, and nothing it writes counts."""
    slow = controller_on()
    handle = slow.submit(hold)
    handle.wait_for("running", timeout=10)
    vanish(slow)
    heir = controller_on()
    heir.reconcile()
    assert heir.get(handle.id).status == "lost"
    with pytest.raises(InvalidTransition, match="it was lost"):
        slow.pause(handle.id, timeout=5)
    assert handle.wait(timeout=10) == "lost"
    assert slow.get(handle.id).status == "lost"
    assert slow.desynced_tasks == [handle.id]
    until(lambda: not handle.running, "its worker has let go", seconds=10)


def test_only_one_heir_takes_each_record(controller_on):
    """However many reconcile at once: each orphan is run by one of them, once."""
    gone = controller_on(max_parallel=1)
    busy = gone.submit(hold)
    busy.wait_for("running", timeout=10)
    queued = [gone.submit(add, n, n) for n in range(40)]
    vanish(gone)
    heirs = [controller_on() for _ in range(4)]
    for heir in heirs:
        heir.register_all(add, hold)
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda heir: heir.reconcile(), heirs))
    adopted = [task_id for report in reports for task_id in report.adopted]
    assert sorted(adopted) == sorted(handle.id for handle in queued)
    for heir in heirs:
        heir.wait_all(timeout=20)
    assert {task.status for task in heirs[0].list_tasks()} == {"lost", "succeeded"}
    assert all(len(heirs[0].attempts(handle.id)) == 1 for handle in queued)


def test_a_retry_in_a_new_process_takes_the_record_along(controller_on):
    """No reconciliation is needed for one that had ended; without its task, or its inputs, it says what to do."""
    gone = controller_on()
    handle, plain = gone.submit(hold), gone.submit(hold.with_options(restartable=False))
    handle.wait_for("running", timeout=10)
    assert handle.stop()
    assert plain.stop()
    gone.close(close_store=False)
    heir = controller_on()
    with pytest.raises(NotRestartable, match=r"register\(hold\)"):
        heir.retry(handle.id, force=True)
    heir.register(hold)
    with pytest.raises(NotRestartable, match="restartable=True"):
        heir.retry(plain.id, force=True)
    assert heir.retry(handle.id, force=True)
    heir.handle(handle.id).wait_for("running", timeout=10)
    assert heir.stop(handle.id)
    assert heir.get(handle.id).attempt == 2


def test_a_retry_of_what_only_seems_to_run_needs_no_reconciliation(controller_on):
    """Its process is gone: nothing is refused on the word of the dead."""
    gone = controller_on()
    running, other = gone.submit(hold), gone.submit(hold)
    for handle in (running, other):
        handle.wait_for("running", timeout=10)
    vanish(gone)
    heir = controller_on()
    heir.register(hold)
    with pytest.raises(AttemptsExhausted):  # it had one attempt, and that is lost
        heir.retry(running.id)
    assert heir.get(running.id).status == "lost"
    assert heir.retry(running.id, force=True)
    heir.handle(running.id).wait_for("running", timeout=10)
    assert heir.stop(running.id)
    assert heir.reset(other.id, confirm=True)
    assert heir.get(other.id).status == "pending"


def test_a_word_that_is_no_choice_is_refused(controller_on):
    """Before anything is touched."""
    with pytest.raises(ConfigurationError, match='"mark" or "requeue"'):
        controller_on().reconcile(on_orphan="rerun")


def lease(owner, process, seconds):
    """A lease that runs out in some seconds."""
    return OwnerLease(owner, process, NOW + timedelta(seconds=seconds))


NOW = datetime.now(UTC)
HERE = this_process()
REUSED = f"{HERE.rpartition(':')[0]}:1"  # the pid was given to another process


@pytest.mark.parametrize(
    ("known", "age", "watched"),
    [
        (lease("it", HERE, 30), 0, True),
        (lease("it", HERE, -1), 999, True),  # a lease that is over proves nothing where the process can be seen
        (lease("it", REUSED, 30), 0, False),  # nor does one that is not
        (lease("it", "elsewhere:7:1:1", 30), 999, True),
        (lease("it", "elsewhere:7:1:1", -1), 0, False),
        (lease("it", HERE.replace(":", ":9", 1), -1), 0, False),  # a container beside us, with our name
        (lease("it", None, 30), 0, True),
        (lease("it", None, -1), 0, False),
        (lease("other", HERE, 30), 0, True),  # it has no lease yet, and the time to get one
        (lease("other", HERE, 30), 31, False),
    ],
)
def test_who_counts_as_gone(known, age, watched):
    """The process table where it can be asked, else the lease; and never the age of a record whose owner has one."""
    record = TaskSnapshot("t", "t", NOW - timedelta(seconds=age), status=TaskStatus.RUNNING, owner="it")
    assert Watchers([known], NOW, 30.0).watch(record) is watched


def test_a_process_that_nobody_has_waited_for_is_gone():
    """It is listed, and does nothing any more."""
    with subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE) as victim:
        victim.stdout.read()
        os.waitid(os.P_PID, victim.pid, os.WEXITED | os.WNOWAIT)
        began = Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()[19]
        zombie = f"{HERE.rsplit(':', 2)[0]}:{victim.pid}:{began}"
        record = TaskSnapshot("t", "t", NOW, status=TaskStatus.RUNNING, owner="it")
        assert not Watchers([lease("it", zombie, 30)], NOW).watch(record)


@pytest.mark.parametrize(
    ("status", "live", "runnable", "asked", "expected"),
    [
        ("running", True, True, None, ("lost", "requeued")),
        ("running", True, False, None, ("lost", "lost")),
        ("paused", True, True, None, ("lost", "requeued")),
        ("stopping", True, True, "stop", ("lost", "lost")),
        ("stopping", True, True, "cancel", ("lost", "lost")),
        ("running", False, True, None, ("lost", "requeued")),  # set by hand
        ("queued", False, True, None, ("adopted", "adopted")),
        ("queued", False, False, None, ("cancelled", "cancelled")),
        ("retry_wait", False, True, None, ("adopted", "adopted")),
        ("paused", False, True, None, ("adopted", "adopted")),
    ],
)
def test_what_becomes_of_an_orphan(status, live, runnable, asked, expected):
    """Without and with on_orphan="requeue"."""
    asked = None if asked is None else RequestedAction(asked)
    record = TaskSnapshot("t", "t", NOW, status=TaskStatus(status), live=live, requested_action=asked)
    assert tuple(fate_of(record, runnable=runnable, requeue=requeue) for requeue in (False, True)) == expected


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
