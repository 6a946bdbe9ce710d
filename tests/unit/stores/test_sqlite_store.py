"""What is particular to a store in an SQLite file."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from chongming_task import ConfigurationError, Controller, SqliteTaskStore, StoreError, StoreWarning
from chongming_task.core.ports import Write
from chongming_task.core.query import TaskQuery
from chongming_task.stores import queries as queries_module
from chongming_task.stores import sqlite_checks
from chongming_task.stores.agreement import SCHEMA_VERSION
from chongming_task.stores.queries import queries
from chongming_task.stores.sqlite_schema import schema_version
from chongming_task.testing.contract_records import AT, a_command, a_line, a_record, an_edge, born


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def store(path):
    store = SqliteTaskStore(path)
    yield store
    store.close()


@pytest.fixture
def raw(path, store):
    """A connection as any other tool opens one."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


# the file


def test_the_file_is_its_owners_only(path, store):
    """With what SQLite puts beside it; whatever the umask says."""
    before = os.umask(0)
    try:
        store.commit([born()])
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        assert set(modes.values()) == {0o600}, modes
    finally:
        os.umask(before)


def test_closing_leaves_one_file(path):
    """The log is folded in; closing twice does no harm, and a closed store says so."""
    store = SqliteTaskStore(path)
    store.commit([born()])
    store.get("t1")
    store.wait_for_change(0)
    store.close()
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]
    for call in (lambda: store.get("t1"), lambda: store.commit([born()])):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_the_file_is_a_wal_that_waits_for_others(path, store, raw):
    """As design demands: WAL, NORMAL, or FULL when asked."""
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    full = SqliteTaskStore(path, full_sync=True)
    store.commit([born("a")])
    full.commit([born("b")])
    levels = [s._database._writer.execute("PRAGMA synchronous").fetchone()[0] for s in (store, full)]
    assert levels == [1, 2]
    full.close()


@pytest.mark.parametrize("path", [":memory:", "", "file:runs.db?mode=memory", 5, None, b"runs.db"], ids=repr)
def test_what_is_no_path_is_refused(path):
    """With what to do instead."""
    with pytest.raises(ConfigurationError, match=r"path|MemoryTaskStore"):
        SqliteTaskStore(path)


def test_a_folder_that_is_not_there_is_told(tmp_path):
    """No folder is made for anybody."""
    with pytest.raises(StoreError, match="does its folder exist"):
        SqliteTaskStore(tmp_path / "no" / "runs.db")
    with pytest.raises(StoreError, match=r"nothing.db"):
        SqliteTaskStore(tmp_path / "nothing.db", read_only=True)
    assert not list(tmp_path.iterdir())


def test_somebody_elses_file_is_left_alone(path):
    """Neither a database of another program nor a text is touched."""
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name)")
    other.close()
    with pytest.raises(StoreError, match="no task store: it holds a table 'recipes'"):
        SqliteTaskStore(path)
    text = path.with_name("notes.txt")
    text.write_text("once upon a time, " * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        SqliteTaskStore(text)
    assert text.read_text().startswith("once")


def test_a_newer_schema_is_refused(path, store, raw):
    """In both ways of opening; nothing is changed."""
    raw.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    for read_only in (False, True):
        with pytest.raises(StoreError, match="newer chongming-task: its schema is 99"):
            SqliteTaskStore(path, read_only=read_only)
    assert raw.execute("SELECT version FROM migrations").fetchall() == [
        (version,) for version in range(1, SCHEMA_VERSION + 1)
    ]


def test_another_number_of_buckets_is_refused(path):
    """At the door; whoever does not ask is let in."""
    SqliteTaskStore(path, num_buckets=64).close()
    SqliteTaskStore(path, num_buckets=64).close()
    SqliteTaskStore(path).close()
    with pytest.raises(ConfigurationError, match="num_buckets is 8 here, but 64 in the store"):
        SqliteTaskStore(path, num_buckets=8)


def test_many_open_a_new_file_at_once(path):
    """One makes the tables, and all find them."""
    barrier, stores, errors = threading.Barrier(6), [], []

    def enter():
        try:
            barrier.wait(20)
            stores.append(SqliteTaskStore(path))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=enter) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not errors
    assert {s.meta()["schema_version"] for s in stores} == {str(SCHEMA_VERSION)}
    for store in stores:
        store.close()


def test_a_file_that_another_makes_meanwhile_is_no_strangers(path):
    """Its tables may come between two looks at what it holds."""

    class Slow:
        """A connection that is overtaken after its first look."""

        def __init__(self, connection: sqlite3.Connection) -> None:
            self.connection = connection
            self.overtaken = False

        def execute(self, statement: str) -> sqlite3.Cursor:
            found = self.connection.execute(statement)
            if not self.overtaken:
                self.overtaken = True
                assert found.fetchone() is None
                SqliteTaskStore(path).close()
                return self.connection.execute("SELECT 1 WHERE 0")
            return found

    with closing(sqlite3.connect(path)) as connection:
        assert schema_version(Slow(connection), path) == 0
        assert schema_version(connection, path) == SCHEMA_VERSION


def test_a_file_that_goes_is_told_and_welcomed_back(path, store):
    """SQLite itself would write on into what nobody can find again."""
    store.commit([born()])
    away = path.with_name("away")
    folder = path.parent / "elsewhere"
    path.rename(away)
    with pytest.raises(StoreError, match="put it back"):
        store.commit([born("t2")])
    away.rename(path)
    assert not store.commit([born("t2")])
    path.rename(away)
    SqliteTaskStore(path).close()
    with pytest.raises(StoreError, match="replaced"):
        store.commit([born("t3")])
    assert not store.commit([born("t3")])
    assert [task.task_id for task in store.query(TaskQuery())] == ["t3"]
    assert not folder.exists()


def test_a_store_is_not_sent_to_other_processes(store):
    """It is opened there."""
    with pytest.raises(StoreError, match="open it there"):
        pickle.dumps(store)
    assert repr(store).startswith("SqliteTaskStore('/")


# the trail


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE transitions SET actor = 'nobody'",
        "DELETE FROM transitions",
        "INSERT OR REPLACE INTO transitions SELECT * FROM transitions",
        "INSERT OR REPLACE INTO transitions VALUES (1, 'other', 1, 'pending', 'queued', 'x', 'y', NULL, 0)",
        "INSERT OR REPLACE INTO transitions VALUES (9, 't1', 1, 'pending', 'queued', 'x', 'y', NULL, 0)",
        "REPLACE INTO transitions SELECT NULL, task_id, 1, 'a', 'b', 'x', 'y', NULL, 0 FROM tasks",
        "INSERT OR IGNORE INTO transitions VALUES (1, 't1', 1, 'pending', 'queued', 'x', 'y', NULL, 0)",
        "UPDATE OR REPLACE transitions SET version = 7",
    ],
)
@pytest.mark.parametrize("recursive", ["ON", "OFF"])
def test_the_trail_is_append_only_for_every_tool(store, raw, statement, recursive):
    """The database refuses, whoever asks and however the connection is set."""
    store.commit([born()])
    raw.execute(f"PRAGMA recursive_triggers = {recursive}")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute(statement)
    assert store.transitions("t1") == [an_edge(1)]


def test_what_cannot_be_stored_leaves_nothing(store):
    """A number beyond 64 bits, half a character: told, and nothing of the transaction is there."""
    for bad in (a_record("t2", priority=2**70), a_record("t2", name="\ud800")):
        with pytest.raises(StoreError, match="cannot be stored"):
            store.commit([born(), Write(bad, None)])
    assert store.query(TaskQuery()) == []
    assert not store.commit([born()])


# read-only


def test_reading_only_works_while_others_write(path, store):
    """It sees what they commit, also in a feed, and writes nothing."""
    store.commit([born()])
    reader = SqliteTaskStore(path, read_only=True, num_buckets=None)
    mark = reader.wait_for_change(0)
    store.commit([born("t2")])
    assert reader.wait_for_change(20, mark) != mark
    assert [task.task_id for task in reader.query(TaskQuery())] == ["t1", "t2"]
    assert len(reader.changes()) == 2
    for write in (
        lambda: reader.commit([born("t3")]),
        lambda: reader.append_output([a_line(1)]),
        lambda: reader.submit_command(a_command()),
        lambda: reader.claim_buckets("a", [1], now=AT, lease_seconds=1),
        lambda: reader.prune(0),
        lambda: reader.fix_meta("a", "b"),
    ):
        with pytest.raises(StoreError, match="read-only"):
            write()
    assert reader.claim_commands("a", now=AT, lease_seconds=1) == []
    reader.close()


def test_an_empty_file_is_no_history(path):
    """Read-only opening says what is missing."""
    path.touch()
    with pytest.raises(StoreError, match="no records yet"):
        SqliteTaskStore(path, read_only=True)


# the machine


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
        ((4, 0, 0), False),
    ],
    ids=str,
)
def test_libraries_with_the_wal_reset_fault_are_known(version, affected):
    """Before 3.51.3, but for the branches that were mended."""
    assert sqlite_checks.affected_by_wal_reset(version) is affected


def test_a_library_that_is_too_old_is_told(path, monkeypatch):
    """Before anything is made."""
    monkeypatch.setattr(sqlite_checks.sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreError, match=r"3\.35\.0 or newer"):
        SqliteTaskStore(path)
    assert not path.exists()


def test_network_file_systems_are_known(tmp_path):
    """By the longest mount point above the file."""
    mounts = tmp_path / "mounts"
    home = os.path.realpath(tmp_path)
    mounts.write_text(
        "1 0 0:1 / / rw - ext4 /dev/sda rw\n"
        f"2 1 0:2 / {home}/a rw shared:1 - nfs4 server:/a rw\n"
        f"3 1 0:3 / {home}/a/local rw - tmpfs none rw\n"
        f"4 1 0:4 / {home}/with\\040blank rw - cifs //server/b rw\n"
        "broken line\n"
    )

    def kind(*parts):
        return sqlite_checks.network_file_system(tmp_path.joinpath(*parts), str(mounts))

    assert kind("runs.db") is None
    assert kind("a", "runs.db") == "nfs4"
    assert kind("a", "local", "runs.db") is None
    assert kind("ab", "runs.db") is None
    assert kind("with blank", "x", "runs.db") == "cifs"
    assert sqlite_checks.network_file_system(tmp_path, str(tmp_path / "none")) is None


def test_what_is_wrong_is_told_once(path, monkeypatch):
    """With the fix, at the line that opens the store."""
    monkeypatch.setattr(sqlite_checks, "_told", set())
    monkeypatch.setattr(sqlite_checks.sqlite3, "sqlite_version_info", (3, 51, 2))
    monkeypatch.setattr(sqlite_checks, "network_file_system", lambda path: "nfs4")
    with pytest.warns(StoreWarning) as told:
        SqliteTaskStore(path).close()
    SqliteTaskStore(path).close()  # warnings are errors here
    assert len(told) == 2
    assert "3.51.3 or newer" in str(told[0].message)
    assert "local disk" in str(told[1].message)
    assert told[0].filename == __file__


def test_neither_database_is_loaded_before_it_is_asked_for():
    """Opening a file loads sqlite3, and no psycopg."""
    code = (
        "import sys, chongming_task as c; assert not {'sqlite3', 'psycopg'} & set(sys.modules)\n"
        "c.SqliteTaskStore; assert 'sqlite3' in sys.modules; assert 'psycopg' not in sys.modules\n"
        "c.PostgresTaskStore; assert 'psycopg' not in sys.modules"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "COVERAGE_"))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, env=env)
    assert done.returncode == 0, done.stderr


# the queries


def test_both_dialects_answer_the_same_questions():
    """By name; a question that only one knows is about its own kind of database."""
    sqlite, postgres = queries("sqlite.sql"), queries("postgres.sql")
    assert sqlite.keys() - postgres.keys() == {"foreign_tables"}
    own = {"begin", "serialize", "notify", "schema_exists", "current_schema", "set_search_path"}
    own |= {"begin_reading", "plan_for_large_tables"}
    assert postgres.keys() - sqlite.keys() == own


def test_a_name_that_occurs_twice_is_told(tmp_path):
    """Else the first would be lost without a word."""
    twice = tmp_path / "twice.sql"
    twice.write_text("-- name: a\nSELECT 1\n\n-- name: a\nSELECT 2\n")
    with pytest.raises(ValueError, match="'a' twice"):
        queries(os.path.relpath(twice, Path(queries_module.__file__).parent))


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "8", 2**63])
def test_a_number_of_buckets_that_is_none_is_refused(tmp_path, number):
    """Nor is it fixed for all who come later; one that somebody has written by hand is told."""
    with pytest.raises(ConfigurationError, match="num_buckets"):
        SqliteTaskStore(tmp_path / "runs.db", num_buckets=number)
    assert not (tmp_path / "runs.db").exists()
    with closing(SqliteTaskStore(tmp_path / "runs.db")) as store:
        store.fix_meta("num_buckets", str(number) if number != "8" else "eight")
        with pytest.raises(StoreError, match="num_buckets"):
            Controller(store)
