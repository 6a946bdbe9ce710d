"""Databases as earlier versions left them: brought up to date, nothing of them is lost."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from chongming_task import PostgresTaskStore, SqliteTaskStore, StoreError
from chongming_task.core.ports import Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import Progress
from chongming_task.core.states import TaskStatus
from chongming_task.stores.agreement import SCHEMA_VERSION
from chongming_task.testing import check_audit
from chongming_task.testing.contract_records import a_command, a_line, an_edge, an_owner
from tests.golden import history
from tests.golden.history import moment
from tests.support.sameness import assert_same

HERE = Path(__file__).parent
EARLIER = range(1, SCHEMA_VERSION)


def assert_holds_the_history(store, schema):
    """Every value that was written under that schema."""
    assert store.meta() == {"schema_version": str(SCHEMA_VERSION), "num_buckets": history.NUM_BUCKETS}
    found = store.query(TaskQuery())
    assert [task.task_id for task in found] == [tale.task.task_id for tale in history.TALES]
    for task, tale in zip(found, history.TALES, strict=True):
        assert_same(task, tale.task)
        assert_same(store.transitions(task.task_id), list(tale.trail))
        assert_same(store.attempts(task.task_id), list(tale.attempts))
        assert_same(store.output(task.task_id), [line for line in history.LINES if line.task_id == task.task_id])
        assert_same(store.commands(task.task_id), [c for c in history.COMMANDS if c.task_id == task.task_id])
    assert [c.transition for c in store.changes()] == [edge for tale in history.TALES for edge in tale.trail]
    assert_same(store.bucket_leases(), list(history.BUCKET_LEASES))
    assert_same(store.owner_leases(), list(history.OWNER_LEASES) if schema >= 2 else [])
    assert len(store.query(TaskQuery(tag=history.ODD))) == 1
    assert len(store.query(TaskQuery(pipeline_run_id="run-1"))) == 3
    assert check_audit(store) == len(history.TALES)


def assert_can_be_written_on(store):
    """Every kind of write goes on from there."""
    last = store.changes()[-1].cursor
    queued = next(tale.task for tale in history.TALES if tale.task.name == "queued")
    stopped = queued._replace(status=TaskStatus.STOPPED, status_version=2, ended_at=moment(50), owner="a")
    edge = an_edge(2, "queued", "stopped", queued.task_id)
    assert not store.commit([Write(stopped, 1, (edge,), expect_owner=history.OWNERS[0])])
    assert_same(store.get(queued.task_id), stopped)
    assert [(c.cursor > last, c.transition) for c in store.changes(last)] == [(True, edge)]
    store.touch([Touch("golden-running", Progress(4), owner=history.OWNERS[0])])
    store.append_output([a_line(7, task_id="golden-running")])
    assert [line.seq for line in store.output("golden-running", 5)] == [6, 7]
    store.submit_command(a_command("c-new", queued.task_id))
    taken = store.claim_commands("a", now=moment(60), lease_seconds=1)
    assert [command.id for command in taken] == ["c-taken", "c-open", "c-new"]
    assert store.complete_command("c-new", "a", now=moment(60))
    assert store.claim_buckets("a", [0, 1, 63], now=moment(35), lease_seconds=10) == {0, 1}
    store.renew_owner(an_owner("a"))
    assert an_owner("a") in store.owner_leases()
    assert check_audit(store) == len(history.TALES)
    assert store.prune(0) == 8
    assert len(store.query(TaskQuery())) == len(history.TALES) - 8


def test_every_earlier_schema_has_its_golden_databases():
    """Whoever raises the schema's version makes them first, with the code of the last commit."""
    names = {f"schema-{schema}{ending}" for schema in EARLIER for ending in (".db", ".postgres.sql")}
    assert names <= {path.name for path in HERE.iterdir()}


@pytest.fixture(params=EARLIER)
def schema(request):
    return request.param


# SQLite


@pytest.fixture
def path(schema, tmp_path):
    """A copy of the golden file."""
    return shutil.copy(HERE / f"schema-{schema}.db", tmp_path / "runs.db")


def test_an_earlier_file_is_brought_up_to_date(path, schema):
    """Once, and for good: the next to open it, for reading or writing, finds everything and changes nothing."""
    store = SqliteTaskStore(path)
    assert_holds_the_history(store, schema)
    store.close()
    kept = path.read_bytes()
    for read_only in (True, False):
        again = SqliteTaskStore(path, read_only=read_only)
        assert_holds_the_history(again, schema)
        again.close()
    assert path.read_bytes() == kept
    assert_can_be_written_on(store := SqliteTaskStore(path))
    store.close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        applied = raw.execute("SELECT version FROM migrations ORDER BY version").fetchall()
    raw.close()
    assert applied == [(version,) for version in range(1, SCHEMA_VERSION + 1)]


def test_an_earlier_file_and_a_new_one_have_the_same_tables(path, tmp_path):
    """Whichever way they came."""
    SqliteTaskStore(path).close()
    SqliteTaskStore(tmp_path / "new.db").close()
    assert sqlite_tables(path) == sqlite_tables(tmp_path / "new.db")


def sqlite_tables(path):
    with sqlite3.connect(path) as raw:
        rows = raw.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
    raw.close()
    return rows


def test_an_earlier_file_is_not_read_as_it_is(path):
    """Read-only opening says what to do, and leaves it as it is."""
    kept = path.read_bytes()
    with pytest.raises(StoreError, match=r"has the schema \d+, older than \d+; open it once for writing"):
        SqliteTaskStore(path, read_only=True)
    assert path.read_bytes() == kept


def test_a_file_that_cannot_be_brought_up_to_date_stays_as_it_was(path, schema):
    """A step that fails takes all steps back."""
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE owners (mine)")
        before = sqlite_tables(path)
    raw.close()
    with pytest.raises(StoreError, match="already exists"):
        SqliteTaskStore(path)
    assert sqlite_tables(path) == before


# PostgreSQL


@pytest.fixture
def dsn(schema, postgres_dsn):
    """A schema that the golden statements have filled."""
    import psycopg

    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute((HERE / f"schema-{schema}.postgres.sql").read_text(encoding="utf-8"))
    return postgres_dsn


@pytest.mark.postgres
def test_earlier_tables_are_brought_up_to_date(dsn, schema):
    """Once, and for good."""
    for read_only in (False, True, False):
        store = PostgresTaskStore(dsn, read_only=read_only)
        assert_holds_the_history(store, schema)
        store.close()
    assert_can_be_written_on(store := PostgresTaskStore(dsn))
    store.close()


@pytest.mark.postgres
def test_earlier_tables_and_new_ones_are_the_same(dsn, postgres_server):
    """Whichever way they came."""
    from tests.support import postgres

    PostgresTaskStore(dsn).close()
    with postgres.schema(postgres_server) as fresh:
        PostgresTaskStore(fresh).close()
        assert postgres_tables(dsn) == postgres_tables(fresh)


def postgres_tables(dsn):
    import psycopg

    with psycopg.connect(dsn) as raw:
        columns = raw.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
            " WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position"
        ).fetchall()
        indexes = raw.execute(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
        ).fetchall()
    return columns, [re.sub(r"test_\w+\.", "", text) for (text,) in indexes]


@pytest.mark.postgres
def test_earlier_tables_are_not_read_as_they_are(dsn, schema):
    """Read-only opening says what to do."""
    with pytest.raises(StoreError, match=rf"have the schema {schema}, older than \d+; open them once for writing"):
        PostgresTaskStore(dsn, read_only=True)
