"""Histories are read under load: no writer waits for a reader, and SQLite's write-ahead log does not grow for one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from chongming_task.core.ports import Write
from chongming_task.core.query import Scan, Table, TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.stores.open import open_store
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing.contract_records import a_record, an_edge, born

pytest.importorskip("pandas")
READERS, COMMITS, ROWS = 2, 120, 40
FILLED = 50  # commits before: one look takes a while
TEXT = "x" * 5_000
# Another process that reads histories until it is told to stop; tells how many.
READ = """
import sys, threading
from chongming_task.history import History
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
looks = 0
with History.open(sys.argv[1]) as history:
    history.tasks()
    print("ready", flush=True)
    while looks == 0 or not ended.is_set():
        assert len(history.tasks()) <= len(history.tasks())
        history.transitions(limit=50)
        looks += 1
print(looks, flush=True)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request, tmp_path):
    """A path or a DSN."""
    return str(tmp_path / "runs.db") if request.param == "sqlite" else request.getfixturevalue("postgres_dsn")


def big(number: int) -> list[Write]:
    """A commit of many rows."""
    return [born(f"t{number}-{n}", outcome=TEXT) for n in range(ROWS)]


def test_a_commit_in_the_middle_of_a_reading_does_not_wait(where):
    """And the reading goes on with what there was when it began."""
    writer, reader = open_store(where), open_store(where, read_only=True)
    try:
        writer.commit([Write(a_record(), None)])

        def look(session):
            before = len(session.all("tasks", "oldest_first"))
            began = time.monotonic()
            assert not writer.commit([Write(a_record(status_version=1), 0, (an_edge(1),)), born("t2")])
            assert time.monotonic() - began < 5
            return (
                before,
                len(session.all("tasks", "oldest_first")),
                len(session.all("scan_transitions", "oldest_first")),
            )

        assert reader._database.read_all(look) == (1, 1, 0)
        tasks, trail = reader.scan(Scan(Table.TASKS), Scan(Table.TRANSITIONS))
        assert (len(tasks), len(trail)) == (2, 2)
    finally:
        reader.close()
        writer.close()


@pytest.mark.slow
def test_writers_do_not_wait_for_readers(where):
    """With readers that never rest, every commit goes through in a moment."""
    store = open_store(where)
    try:
        store.commit(big(0))
        slowest = 0.0
        with Readers(where):
            for number in range(1, COMMITS // 3):
                began = time.monotonic()
                assert not store.commit(big(number))
                slowest = max(slowest, time.monotonic() - began)
        assert slowest < 5  # a writer that is kept out gives up after ten
        assert len(store.query(TaskQuery())) == COMMITS // 3 * ROWS
    finally:
        store.close()


@pytest.mark.slow
def test_the_log_of_sqlite_is_used_again_while_histories_are_read(tmp_path):
    """It holds a part of what is written at any time; readers in two processes do not keep it from starting over."""
    path = tmp_path / "runs.db"
    store = SqliteTaskStore(path)
    try:
        for number in range(FILLED):
            store.commit(big(number))
        written, longest = 0, 0
        with Readers(str(path)):
            for number in range(1, COMMITS):
                store.commit([Write(changed(f"t0-{n}", number + 1), number) for n in range(ROWS)])
                written += ROWS * len(TEXT)
                longest = max(longest, size_of_log(path))
        assert longest < written / 2, f"{longest} of {written} bytes"
    finally:
        store.close()
    assert size_of_log(path) == 0


def changed(task_id: str, version: int) -> TaskSnapshot:
    """All of its text is new: what is written as it was costs SQLite nothing."""
    return a_record(task_id, status_version=version, outcome=f"{version:04d}" * (len(TEXT) // 4))


def size_of_log(path: Path) -> int:
    log = Path(f"{path}-wal")
    return log.stat().st_size if log.exists() else 0


class Readers:
    """Processes that read histories all the time."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        self._readers = [
            subprocess.Popen(
                [sys.executable, "-c", READ, self._where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(READERS)
        ]
        for reader in self._readers:
            assert reader.stdout.readline() == "ready\n"

    def __exit__(self, *exc: object) -> None:
        said = [reader.communicate(timeout=50)[0] for reader in self._readers]
        assert [reader.returncode for reader in self._readers] == [0] * READERS
        assert all(int(looks) >= 1 for looks in said)
