"""The history read as whole columns: the same frames, and only where no lock of ours can be lost for it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from chongming_task import Controller, PostgresTaskStore, SqliteTaskStore
from chongming_task.core.query import Scan, Table, TaskQuery
from chongming_task.core.states import TaskStatus
from chongming_task.history import History
from chongming_task.stores.sqlite_arrow import arrow_tables
from chongming_task.testing.simulation import Simulation
from tests.golden import history as golden
from tests.support.histories import copy

pytestmark = pytest.mark.arrow


@pytest.fixture
def path(tmp_path):
    """A file with a history, that nobody has open."""
    path = tmp_path / "runs.db"
    with closing(SqliteTaskStore(path)) as store:
        golden.write(store)
        world = Simulation(seed=3)
        world.run(200)
    with closing(SqliteTaskStore(tmp_path / "simulated.db")) as store:
        copy(world.store, store)
    return path


def frames(history: History) -> dict[str, pd.DataFrame]:
    """All kinds, with all kinds of filters."""
    return {
        "tasks": history.tasks(),
        "newest": history.tasks(limit=3),
        "none": history.tasks(name="none"),
        "failed": history.tasks(status=["failed", "lost"], name_prefix="", since=golden.AT),
        "tagged": history.tasks(tag="tag", bucket=[0, 1, 2, 3], limit=5),
        "attempts": history.attempts(),
        "last attempts": history.attempts(limit=4, status=list(TaskStatus)),
        "transitions": history.transitions(until=golden.moment(3)),
        "output": history.output(),
        "durations": history.durations("status"),
    }


@pytest.mark.parametrize("name", ["runs.db", "simulated.db"])
def test_both_ways_give_the_same_frames(path, name):
    """Of records in every status, with every filter, and of nothing."""
    with History.open(path.with_name(name)) as history:
        scan, used = history._store.scan_arrow, []
        history._store.scan_arrow = lambda *wanted: used.append(scan(*wanted)) or used[-1]
        by_columns = frames(history)
        assert len(used) == len(by_columns)
        assert None not in used
        history._store.scan_arrow = lambda *wanted: None
        by_rows = frames(history)
    for kind, frame in by_rows.items():
        pd.testing.assert_frame_equal(by_columns[kind], frame, obj=kind)


@pytest.mark.postgres
@pytest.mark.parametrize("schema", [None, "odd name"])
def test_a_server_gives_the_same_frames_either_way(postgres_dsn, schema):
    """With every filter, in whichever schema; and when it is gone, psycopg says so, without secrets."""
    with closing(PostgresTaskStore(postgres_dsn, schema=schema)) as store:
        golden.write(store)
    with closing(PostgresTaskStore(postgres_dsn, schema=schema, read_only=True)) as store:
        history = History(store)
        scan, used = store.scan_arrow, []
        store.scan_arrow = lambda *wanted: used.append(scan(*wanted)) or used[-1]
        by_columns = frames(history) | {"no ids": history.tasks(task_id=[], bucket=[])}
        assert None not in used
        store.scan_arrow = lambda *wanted: None
        by_rows = frames(history) | {"no ids": history.tasks(task_id=[], bucket=[])}
    for kind, frame in by_rows.items():
        pd.testing.assert_frame_equal(by_columns[kind], frame, obj=kind)
    assert scan(Scan(Table.TASKS)) is None  # closed


def test_a_file_that_is_open_here_is_read_by_the_library_that_has_it_open(path):
    """A second copy of SQLite would give up the first one's locks when it closes the file."""
    wanted = Scan(Table.TASKS, TaskQuery())
    with closing(SqliteTaskStore(path, read_only=True)) as alone:
        assert alone.scan_arrow(wanted) is not None
        with closing(sqlite3.connect(path)) as by_hand:
            by_hand.execute("SELECT 1 FROM tasks").fetchone()
            assert alone.scan_arrow(wanted) is None
        assert alone.scan_arrow(wanted) is not None
        with Controller(path) as controller:
            controller.submit(pow, 2, 3).wait(timeout=20)
            assert alone.scan_arrow(wanted) is None
            assert len(History(alone).tasks()) == len(controller.history.tasks())
        assert alone.scan_arrow(wanted) is not None
    assert alone.scan_arrow(wanted) is None  # closed


def test_nobody_opens_the_file_meanwhile(path):
    """A store that is opened during the reading waits for its end."""
    with closing(SqliteTaskStore(path, read_only=True)) as store:
        opened = threading.Event()

        def open_another() -> None:
            with closing(SqliteTaskStore(path)):
                opened.set()

        with store._database._connections.shut_out():
            thread = threading.Thread(target=open_another)
            thread.start()
            assert not opened.wait(0.2)
        assert opened.wait(20)
        thread.join(20)


def test_without_the_driver_it_is_read_row_by_row(path, monkeypatch):
    """The extra is no need."""
    monkeypatch.setattr("chongming_task.stores.sqlite_arrow.has_drivers", lambda *modules: False)
    with History.open(path) as history:
        assert history._store.scan_arrow(Scan(Table.TASKS)) is None
        assert len(history.tasks()) == len(golden.TALES)


def test_what_the_driver_cannot_do_is_told_by_the_other(path):
    """A statement that fails is tried again row by row."""
    with closing(SqliteTaskStore(path, read_only=True)) as store:
        assert arrow_tables(store._database._connections, [("SELECT no_such FROM tasks", {})]) is None
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            assert store.scan_arrow(Scan(Table.OUTPUT))[0].num_rows == len(golden.LINES)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_history_is_read_while_another_process_writes(path):
    """By columns, from the write-ahead log that is not in the file yet."""
    code = (
        "import sys\n"
        "from chongming_task import Controller\n"
        "controller = Controller(sys.argv[1])\n"
        "controller.submit(pow, 2, 5, name='elsewhere').wait(timeout=20)\n"
        "print('there', flush=True)\n"
        "sys.stdin.read()\n"
        "controller.close()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout.readline() == "there\n"
        with History.open(path) as history:
            assert history._store.scan_arrow(Scan(Table.TASKS)) is not None
            assert history.tasks(name="elsewhere")["outcome"].tolist() == ["32"]
        writer.communicate(timeout=20)
    assert writer.returncode == 0
