"""Histories are read under load: no writer waits for a reader, and SQLite's write-ahead log does not grow for one."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chongming_task.core.ports import Write
from chongming_task.core.query import Scan, Table, TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.stores.open import open_store
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing.contract_records import a_record, an_edge, born

READERS, COMMITS, ROWS = 2, 120, 40
LOOKS = 3  # of each reader, at least: one may have begun before the first commit, the others fall among commits
FILLED = 50  # commits before: one look takes a while
TEXT = "x" * 5_000
PATIENCE_SECONDS = 30
# Another process that reads histories until it is told to stop, and tells of each look.
READ = """
import sys, threading
from chongming_task.history import History
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
with History.open(sys.argv[1]) as history:
    history.tasks()
    print("ready", flush=True)
    while not ended.is_set():
        assert len(history.tasks()) <= len(history.tasks())
        history.transitions(limit=50)
        print("looked", flush=True)
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
        slowest, commits = 0.0, 1
        with Readers(where) as readers:
            while commits < COMMITS // 3 or not readers.have_looked():
                began = time.monotonic()
                assert not store.commit(big(commits))
                slowest = max(slowest, time.monotonic() - began)
                commits += 1
        assert slowest < 5  # a writer that is kept out gives up after ten
        assert len(store.query(TaskQuery())) == commits * ROWS
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
        commits, longest = 1, 0
        with Readers(str(path)) as readers:
            while commits < COMMITS or not readers.have_looked():
                store.commit([Write(changed(f"t0-{n}", commits + 1), commits) for n in range(ROWS)])
                longest = max(longest, size_of_log(path))
                commits += 1
        written = (COMMITS - 1) * ROWS * len(TEXT)  # and more, while readers were slow
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

    def __enter__(self) -> Readers:
        self._readers = [
            subprocess.Popen(
                [sys.executable, "-c", READ, self._where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(READERS)
        ]
        for reader in self._readers:
            assert reader.stdout.readline() == "ready\n"
        self._deadline = time.monotonic() + PATIENCE_SECONDS
        self._looks = [0] * READERS
        self._listeners = [threading.Thread(target=self._listen, args=(number,)) for number in range(READERS)]
        for listener in self._listeners:
            listener.start()
        return self

    def _listen(self, number: int) -> None:
        for line in self._readers[number].stdout:
            assert line == "looked\n"
            self._looks[number] += 1

    def have_looked(self) -> bool:
        """Whether each has looked several times by now; one that is gone is not waited for."""
        assert [reader.poll() for reader in self._readers] == [None] * READERS
        assert time.monotonic() < self._deadline, f"while there were commits they looked {self._looks} times"
        return min(self._looks) >= LOOKS

    def __exit__(self, *exc: object) -> None:
        for reader in self._readers:
            reader.stdin.close()
        for reader, listener in zip(self._readers, self._listeners, strict=True):
            listener.join(50)
            assert reader.wait(50) == 0
            reader.stdout.close()
