"""A controller on a real file while the store refuses a record, or is away: tasks go on, and what can be is stored."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from chongming_task import Controller, SqliteTaskStore, StoreError, task
from chongming_task.runtime.journal import Journal
from chongming_task.testing import check_audit
from chongming_task.testing.contract_records import born
from tests.support.waiting import until

PATIENCE = 30
REFUSE = """
CREATE TRIGGER refuse BEFORE UPDATE ON tasks WHEN NEW.name = 'poison' AND NEW.status = 'succeeded'
BEGIN SELECT RAISE(ABORT, 'this record is refused'); END
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@task
def step(number: int) -> int:
    return number


def test_a_value_that_no_file_holds_does_not_hold_up_the_others(path):
    """One record of a hundred: the rest are stored, and the file is sound."""
    store = SqliteTaskStore(path)
    journal = Journal(store)
    journal.add([born(f"t{n}", priority=2**70 if n == 42 else 0) for n in range(100)])
    now = 0.0
    for _ in range(3):
        now = journal.flush(now) or now
    assert check_audit(store) == 99
    assert list(journal.set_aside.writes) == ["t42"]
    assert "a value cannot be stored" in journal.failures[-1]
    store.close()


def test_a_record_that_is_refused_at_its_end(path):
    """Its task ends well all the same, the others are stored, and health names it; when it is let in, it is whole."""
    SqliteTaskStore(path).close()
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute(REFUSE)
    with Controller(store=path, max_parallel=4) as controller:
        handles = [controller.submit(step, n, name="poison" if n == 50 else "good") for n in range(100)]
        assert [handle.result(timeout=PATIENCE) for handle in handles] == list(range(100))
        controller.submit(step, 100).result(timeout=PATIENCE)  # a lone record that is refused waits for others
        until(lambda: controller.health.behind == 0, "nothing waits to be stored")
        health = controller.health
        assert health.desynced == (handles[50].id,)
        assert not health.ok
        assert handles[50].id in str(health)
        assert any("this record is refused" in failure for failure in controller.persist_failures)
        assert controller.counts()["succeeded"] == 100
        raw.execute("DROP TRIGGER refuse")
        engine = controller._link.engine
        controller._link.call(lambda: setattr(engine.journal.set_aside, "again", 0.0))  # the minute is over
        controller.submit(step, 101).result(timeout=PATIENCE)
        until(lambda: controller.health.ok, "the store takes everything")
    raw.close()
    store = SqliteTaskStore(path, read_only=True)
    assert check_audit(store, settled=True) == 102
    assert store.counts() == {"succeeded": 102}
    store.close()


def test_health_tells_of_a_file_that_is_away(path, caplog):
    """Since when, why and what waits; and in the log a line or two, with the end of it."""
    caplog.set_level(logging.INFO, "chongming_task.store")
    release = threading.Event()

    @task
    def patient() -> str:
        release.wait(PATIENCE)
        return "done"

    away = path.with_name("away")
    with Controller(store=path) as controller:
        handles = [controller.submit(patient) for _ in range(5)]
        assert {handle.wait_for("running", timeout=PATIENCE) for handle in handles} == {"running"}
        path.rename(away)
        release.set()
        assert [handle.result(timeout=PATIENCE) for handle in handles] == ["done"] * 5
        until(lambda: controller.health.failing_since is not None, "the store is seen to fail")
        health = controller.health
        assert (health.ok, health.behind > 0) == (False, True)
        assert "cannot be reached" in str(health)
        assert "the store has failed since" in str(health)
        away.rename(path)
        until(lambda: controller.health.ok, "the store takes everything")
        assert str(controller.health) == "the store takes everything"
        until(lambda: "works again" in caplog.text, "the log tells of it")
    lines = [record for record in caplog.records if record.name == "chongming_task.store"]
    assert [record.levelname for record in lines] == ["ERROR", "INFO"]
    store = SqliteTaskStore(path, read_only=True)
    assert store.counts() == {"succeeded": 5}
    store.close()


def test_a_store_that_comes_back_as_the_controller_closes_loses_nothing(tmp_path, monkeypatch):
    """What waits is tried again for a moment, however soon the block ends."""
    store = SqliteTaskStore(tmp_path / "runs.db")
    commit, down = store.commit, [True]

    def shaky(writes):
        if down[0]:
            raise StoreError("simulated")
        return commit(writes)

    with Controller(store, echo=False) as controller:
        controller.submit(len, args=("abc",)).wait(timeout=20)
        controller.counts()
        monkeypatch.setattr(store, "commit", shaky)
        handle = controller.submit(len, args=("abcd",))
        assert handle.result(timeout=20) == 4
        down[0] = False  # its back-off has not run out
    with closing(SqliteTaskStore(tmp_path / "runs.db")) as again:
        assert again.get(handle.id).status == "succeeded"
        check_audit(again, settled=True)


DISK_FULL = """
import resource, signal, sys, time, warnings
from chongming_task import Controller, StoreWarning
from chongming_task.testing import check_audit

warnings.simplefilter("ignore", StoreWarning)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
controller = Controller(store=sys.argv[1], max_parallel=4, echo=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))


def talk(number):
    print("y" * 3_000)
    return [number] * 500


handles = [controller.submit(talk, number) for number in range(300)]
controller.wait_all(timeout=60)
assert [handle.result()[0] for handle in handles] == list(range(300))
health = controller.health
assert not health.ok, health
assert health.behind > 0, health
assert controller.persist_failures
began = time.process_time()
time.sleep(1)
assert time.process_time() - began < 0.3, "it spins"
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
until = time.monotonic() + 30
while not controller.health.ok and time.monotonic() < until:
    time.sleep(0.05)
assert controller.health.ok, controller.health
assert len(controller.list_tasks(status="succeeded")) == 300
assert all(len(handle.output()) == 1 for handle in handles)
assert check_audit(controller._link.store, settled=True) == 300
controller.close()
"""


@pytest.mark.skipif(os.name != "posix", reason="no limits on the size of files here")
def test_tasks_end_while_the_disk_is_full(path):
    """What they did waits, without spinning, and is stored when there is room."""
    done = subprocess.run(
        [sys.executable, "-c", DISK_FULL, path], capture_output=True, text=True, timeout=55, check=False
    )
    assert done.returncode == 0, done.stderr
    assert integrity(path) == "ok"


def integrity(path):
    """What SQLite says of the file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]
