"""A store in a real file, while processes are killed, disks are full and files cannot be written."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from chongming_task import Controller, SqliteTaskStore, StoreError, task
from chongming_task.core.query import TaskQuery
from chongming_task.testing import check_audit
from chongming_task.testing.contract_records import AT, a_command, born

WRITER = Path(__file__).with_name("store_writer.py")
PATIENCE = 30
KILLS = int(os.environ.get("CHONGMING_KILLS", "30"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, WRITER, path, name], stdout=subprocess.PIPE, text=True)


def run(code: str, *args: object, **options: object) -> str:
    """What a Python process prints; it must end well."""
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        connection.close()


# killed


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_writer_killed_at_any_moment_leaves_a_sound_file(path):
    """Everything that was acknowledged is there, every record is whole, and no step is lost or doubled.

    CHONGMING_KILLS says how many writers are killed.
    """
    dice = random.Random(7)
    acknowledged: set[str] = set()
    for number in range(KILLS):
        process = writer(path, f"w{number}")
        assert process.stdout is not None
        with process.stdout:
            for _ in range(dice.randrange(0, 12)):
                acknowledged.add(process.stdout.readline().strip())
            process.send_signal(signal.SIGKILL)
            # The last line may be half of one.
            acknowledged.update(line.strip() for line in process.stdout.read().split("\n")[:-1])
        process.wait(PATIENCE)
        assert process.returncode == -signal.SIGKILL
        if path.exists():
            assert integrity(path) == "ok"
    store = SqliteTaskStore(path)
    assert check_audit(store) >= len(acknowledged) > KILLS
    told = [(c.transition.task_id, c.transition.version) for c in store.changes(limit=1_000_000)]
    assert len(told) == len(set(told)) == sum(task.status_version for task in store.query(TaskQuery()))
    ended = {task.task_id for task in store.query(TaskQuery.of(status="succeeded"))}
    assert acknowledged <= ended
    assert all(len(store.output(task_id)) == 3 for task_id in random.Random(3).sample(sorted(ended), 20))
    store.close()


# together


def test_two_processes_write_one_file(path):
    """Each finds what the other wrote, and neither is told that the file is locked."""
    SqliteTaskStore(path).close()
    both = [writer(path, name) for name in ("a", "b")]
    counts: dict[str, int] = {}
    for process, name in zip(both, "ab", strict=True):
        assert process.stdout is not None
        counts[name] = sum(1 for _ in zip(range(100), process.stdout, strict=False))
    store = SqliteTaskStore(path, read_only=True)
    for process in both:
        process.kill()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL  # nothing else had ended it
    check_audit(store)
    assert counts == {"a": 100, "b": 100}
    assert all(len(store.query(TaskQuery.of(tag=name, status="succeeded"))) >= 100 for name in "ab")
    store.close()
    assert integrity(path) == "ok"


def test_two_controllers_share_a_file(path):
    """In two processes, with tasks of their own: one history."""
    code = (
        "import sys\nfrom chongming_task import Controller\n"
        "with Controller(store=sys.argv[1], max_parallel=4) as c:\n"
        "    handles = [c.submit(pow, 2, n) for n in range(100)]\n"
        "    c.wait_all(timeout=30)\n"
        "    print(sum(h.status == 'succeeded' for h in handles))"
    )
    outputs: list[str] = []
    threads = [threading.Thread(target=lambda: outputs.append(run(code, path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [output.strip() for output in outputs] == ["100", "100"]
    store = SqliteTaskStore(path, read_only=True)
    assert check_audit(store, settled=True) == 200
    assert store.counts() == {"succeeded": 200}
    store.close()


def test_a_command_from_another_process_is_noticed_soon(path):
    """By whoever waits, in well under half a second; measured, and printed."""
    store = SqliteTaskStore(path)
    code = (
        "import sys, time\nfrom datetime import UTC, datetime\nfrom chongming_task import SqliteTaskStore\n"
        "from chongming_task.core.records import Command\nstore = SqliteTaskStore(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    store.submit_command(Command(line.strip(), 't', 'stop', {}, 'user', datetime.now(UTC)))\n"
        "    print(time.time(), flush=True)\n"
    )
    sender = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert sender.stdin is not None
    assert sender.stdout is not None
    assert sender.stdout.readline() == "ready\n"
    took = []
    for number in range(20):
        mark = store.wait_for_change(0)
        sender.stdin.write(f"c{number}\n")
        sender.stdin.flush()
        while not store.claim_commands("a", now=AT, lease_seconds=60):
            mark = store.wait_for_change(PATIENCE, mark)
        took.append(time.time() - float(sender.stdout.readline()))
    sender.communicate(timeout=PATIENCE)
    store.close()
    print(f"command latency: median {sorted(took)[10] * 1e3:.0f} ms, longest {max(took) * 1e3:.0f} ms")
    assert sorted(took)[17] < 0.5


# no room, no rights


DISK_FULL = """
import resource, signal, sys
from chongming_task import SqliteTaskStore, StoreError
from chongming_task.testing import check_audit
from chongming_task.testing.contract_records import born
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteTaskStore(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
stored = 0
try:
    while stored < 10_000:
        store.commit([born(f"t{stored}", outcome="x" * 2_000)])
        stored += 1
except StoreError as error:
    print(error)
assert 0 < stored < 10_000
failing = [born(f"t{stored}", outcome="x" * 2_000)]
for _ in range(3):
    try:
        store.commit(failing)
    except StoreError:
        continue
    sys.exit("there was room after all")
assert store.get("t0") is not None
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert not store.commit(failing)
ids = [change.transition.task_id for change in store.changes(limit=100_000)]
assert ids == [f"t{n}" for n in range(stored + 1)], (len(ids), stored)
store.close()
"""


def test_a_full_disk_is_told_and_survived(path):
    """Commits fail whole and say why; with room again the same commit is stored."""
    told = run(DISK_FULL, path)
    assert "full" in told or "disk I/O" in told
    assert integrity(path) == "ok"
    store = SqliteTaskStore(path)
    check_audit(store)
    store.close()


AS_NOBODY = """
import os, sys
from pathlib import Path
Path("/").as_uri()  # loads what a user without rights may not be able to read later
from chongming_task import SqliteTaskStore, StoreError
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    SqliteTaskStore(sys.argv[1])
except StoreError as error:
    print("told:", error)
store = SqliteTaskStore(sys.argv[1], read_only=True)
print("read:", store.counts(), store.get("t1").status)
store.close()
"""


def test_a_file_that_may_only_be_read():
    """Opening it to write says so; its history can be read, though nothing can be made beside it."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder, path = Path(name), Path(name, "runs.db")
        store = SqliteTaskStore(path)
        store.commit([born()])
        store.close()
        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            told = run(AS_NOBODY, path)
        finally:
            folder.chmod(0o700)
    assert "told: " in told
    assert "may this user" in told
    assert "read: {<TaskStatus.QUEUED" in told


def test_tasks_outlive_their_store(path):
    """A file that is gone for a while fails no task; what waited is stored when it is back."""
    gone = threading.Event()

    @task
    def patient() -> str:
        gone.wait(PATIENCE)
        return "done"

    away = path.with_name("away")
    with Controller(store=path) as controller:
        handles = [controller.submit(patient) for _ in range(5)]
        path.rename(away)
        gone.set()
        assert [handle.result(timeout=PATIENCE) for handle in handles] == ["done"] * 5
        assert controller._link.engine.journal.failures
        away.rename(path)
    store = SqliteTaskStore(path)
    assert check_audit(store, settled=True) == 5
    assert store.counts() == {"succeeded": 5}
    store.close()


def test_a_locked_file_is_told_with_its_reason(path, monkeypatch):
    """When another program holds it for longer than anybody waits."""
    monkeypatch.setattr("chongming_task.stores.sqlite_connections._BUSY_SECONDS", 0.05)
    store = SqliteTaskStore(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="database is locked; another process"):
        store.commit([born()])
    other.execute("ROLLBACK")
    other.close()
    assert not store.commit([born()])
    store.submit_command(a_command())
    store.close()
