"""A store on a real PostgreSQL server, while it restarts, refuses and is only to be read."""

from __future__ import annotations

import io
import logging
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chongming_task import ConfigurationError, Controller, PostgresTaskStore, StoreError, task
from chongming_task.core.commands import command_of
from chongming_task.core.ports import Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.states import Verb
from chongming_task.core.triggers import Asked
from chongming_task.stores.agreement import SCHEMA_VERSION
from chongming_task.stores.postgres_dsn import Dsn
from chongming_task.testing import check_audit
from chongming_task.testing.contract_records import AT, a_command, a_record, an_edge, an_owner, born
from tests.support import postgres

pytestmark = pytest.mark.postgres
PATIENCE = 30
GOLDEN = Path(__file__).parents[1] / "golden"
SECRET = "tr0ub4dor&3/@"


@pytest.fixture
def raw(postgres_dsn):
    """A connection as any other tool opens one."""
    import psycopg

    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection


# the tables


OVERWRITE = """
INSERT INTO chongming_transitions OVERRIDING USER VALUE SELECT * FROM chongming_transitions
ON CONFLICT (task_id, version) DO UPDATE SET actor = 'nobody'
"""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chongming_transitions SET actor = 'nobody'",
        "DELETE FROM chongming_transitions",
        "TRUNCATE chongming_transitions",
        OVERWRITE,
    ],
    ids=lambda statement: statement.split()[0],
)
def test_the_trail_is_append_only_for_every_tool(store, raw, statement):
    """The database refuses, whoever asks."""
    import psycopg

    store.commit([born()])
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        raw.execute(statement)
    assert store.transitions("t1") == [an_edge(1)]


def test_a_schema_of_its_own(postgres_dsn, store, raw):
    """Made when it is not there, whatever its name; records of two schemas do not meet, nor their news."""
    store.commit([born()])
    name = f'Odd "name" {time.time_ns()}'
    other = PostgresTaskStore(postgres_dsn, schema=name)
    try:
        mark = other.wait_for_change(0)
        assert other.query(TaskQuery()) == []
        store.commit([born("t2")])
        assert other.wait_for_change(0.05, mark) == mark
        other.commit([born("t9")])
        again = PostgresTaskStore(postgres_dsn, schema=name, num_buckets=8)
        assert [task.task_id for task in again.query(TaskQuery())] == ["t9"]
        again.close()
        with pytest.raises(ConfigurationError, match="num_buckets is 9 here, but 8"):
            PostgresTaskStore(postgres_dsn, schema=name, num_buckets=9)
        assert [task.task_id for task in store.query(TaskQuery())] == ["t1", "t2"]
    finally:
        other.close()
        raw.execute('DROP SCHEMA "{}" CASCADE'.format(name.replace('"', '""')))


def test_a_newer_schema_is_refused(postgres_dsn, store, raw):
    """Nothing is changed."""
    raw.execute("UPDATE chongming_meta SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(StoreError, match="newer chongming-task: their schema is 99"):
        PostgresTaskStore(postgres_dsn)


@pytest.mark.parametrize("name", [None, "chongming_many"])
def test_many_open_an_empty_schema_at_once(postgres_dsn, raw, name):
    """One makes the tables, and the schema when it is not there, and all find them."""
    barrier, stores, errors = threading.Barrier(5), [], []

    def enter():
        try:
            barrier.wait(PATIENCE)
            stores.append(PostgresTaskStore(postgres_dsn, schema=name))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=enter) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not errors
    assert {s.meta()["schema_version"] for s in stores} == {str(SCHEMA_VERSION)}
    for store in stores:
        store.close()
    if name is not None:
        raw.execute(f"DROP SCHEMA {name} CASCADE")


def test_text_that_the_server_refuses_is_told(store):
    """It is cleaned above the stores; what comes uncleaned stores nothing, and blocks nothing."""
    for bad in ("NUL \x00", "half \ud800"):
        with pytest.raises(StoreError):
            store.commit([born(), born("t2", name=bad)])
    assert store.query(TaskQuery()) == []
    assert not store.commit([born()])


# rights


@pytest.fixture
def role(postgres_dsn, raw):
    """Makes roles with rights of the test's choice; gives their DSN."""
    made = []

    def make(*rights: str) -> str:
        name = f"role_{time.time_ns()}"
        schema = raw.execute("SELECT current_schema()").fetchone()[0]
        raw.execute(f"CREATE ROLE {name} LOGIN")
        made.append(name)
        raw.execute(f"GRANT USAGE ON SCHEMA {schema} TO {name}")
        for right in rights:
            raw.execute(f"GRANT {right} ON ALL TABLES IN SCHEMA {schema} TO {name}")
        return postgres_dsn.replace("//postgres@", f"//{name}@")

    yield make
    for name in made:
        raw.execute(f"DROP OWNED BY {name}")
        raw.execute(f"DROP ROLE {name}")


def test_it_works_without_the_right_to_make_tables(store, role):
    """Where they exist; and where they do not, it says what is missing."""
    worker = PostgresTaskStore(role("SELECT, INSERT, UPDATE, DELETE"))
    assert not worker.commit([born()])
    worker.submit_command(a_command())
    assert [c.id for c in worker.claim_commands("a", now=AT, lease_seconds=1)] == ["c1"]
    assert store.get("t1") == born().snapshot
    worker.close()


def test_without_tables_and_rights_it_says_so(role):
    """No table, no right to make one."""
    with pytest.raises(StoreError, match="permission denied"):
        PostgresTaskStore(role())
    with pytest.raises(StoreError, match="not there; open them once for writing"):
        PostgresTaskStore(role(), read_only=True)


@pytest.mark.parametrize("schema", range(1, SCHEMA_VERSION))
def test_bringing_tables_up_to_date_takes_their_owner(postgres_dsn, raw, role, schema):
    """Others are told so, and change nothing; once it is done they can do what they could before."""
    raw.execute((GOLDEN / f"schema-{schema}.postgres.sql").read_text(encoding="utf-8"))
    dsn, readers = role("SELECT, INSERT, UPDATE, DELETE"), role("SELECT")
    with pytest.raises(StoreError, match=rf"Privilege: .* have the schema {schema}, older than \d+; .* as their owner"):
        PostgresTaskStore(dsn)
    with pytest.raises(StoreError, match=rf"have the schema {schema}, older than \d+; open them once for writing"):
        PostgresTaskStore(readers, read_only=True)
    assert raw.execute("SELECT value FROM chongming_meta WHERE name = 'schema_version'").fetchone() == (str(schema),)
    PostgresTaskStore(postgres_dsn).close()
    worker, reader = PostgresTaskStore(dsn), PostgresTaskStore(readers, read_only=True)
    worker.renew_owner(an_owner("a"))
    assert an_owner("a") in reader.owner_leases()
    assert worker.release_owner("a")
    assert not worker.commit([born()])
    assert reader.get("t1") == born().snapshot
    worker.close()
    reader.close()


def test_a_lease_that_is_renewed_wakes_nobody(store, postgres_dsn):
    """It happens all the time, and nothing a reader shows has moved; one that is gone is told."""
    other = PostgresTaskStore(postgres_dsn)
    mark = other.wait_for_change(0)
    store.renew_owner(an_owner("a"))
    store.renew_buckets("a", now=AT, lease_seconds=1)
    assert not store.release_owner("b")
    assert other.wait_for_change(0.05, mark) == mark
    store.release_owner("a")
    assert other.wait_for_change(1.0, mark) != mark  # sooner than the look that is taken anyway
    other.close()


def test_history_needs_the_right_to_read_only(store, role):
    """Records, trails, feed and news; whoever writes is told."""
    store.commit([born()])
    dsn = role("SELECT")
    for reader in (PostgresTaskStore(dsn, read_only=True), PostgresTaskStore(dsn)):
        assert reader.get("t1") == born().snapshot
        assert reader.changes()[0].transition == an_edge(1)
        mark = reader.wait_for_change(0)
        store.commit([born(f"t{time.time_ns()}")])
        assert reader.wait_for_change(PATIENCE, mark) != mark
        with pytest.raises(StoreError, match=r"read-only|permission denied"):
            reader.commit([born("t3")])
        reader.close()


def test_a_network_that_swallows_everything_is_noticed(postgres_dsn):
    """Within a minute, not within the quarter of an hour or more that the system would wait; who says so himself
    decides."""
    with closing(Dsn(postgres_dsn).connect()) as connection:
        used = connection.info.get_parameters()
    assert (used["keepalives_idle"], used["tcp_user_timeout"]) == ("20", "40000")
    mark = "&" if "?" in postgres_dsn else "?"
    with closing(Dsn(f"{postgres_dsn}{mark}keepalives_idle=7").connect()) as connection:
        assert connection.info.get_parameters()["keepalives_idle"] == "7"


# secrets


def test_the_password_is_nowhere_to_be_read(postgres_dsn, caplog):
    """Not in a repr, an error, a traceback with its locals, a log line or a pickle."""
    from urllib.parse import quote

    hidden = postgres_dsn.replace("//postgres@", f"//postgres:{quote(SECRET, safe='')}@")
    dead = f"postgresql://me:{quote(SECRET, safe='')}@127.0.0.1:1/db?connect_timeout=1"
    texts = []
    store = PostgresTaskStore(hidden)
    texts += [repr(store), str(store), repr(vars(store)), repr(store._connections), repr(Dsn(hidden))]
    with pytest.raises(StoreError):
        store.commit([born("t1", name="NUL \x00")])
    store.close()
    nonsense = f"postgresql://me:{SECRET}@host:port:/?x"
    for dsn, kind in (
        (dead, StoreError),
        (nonsense, ConfigurationError),
        (f"password={SECRET} hots=x", ConfigurationError),
    ):
        with pytest.raises(kind) as raised:
            PostgresTaskStore(dsn)
        seen, error = set(), raised.value
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            texts += [str(error), repr(error)]
            error = error.__cause__ or error.__context__
        shown = io.StringIO()
        traceback.print_exception(raised.value, file=shown)
        texts.append(shown.getvalue())
    for call in (lambda: pickle.dumps(Dsn(hidden)), lambda: pickle.dumps(store)):
        with pytest.raises((TypeError, StoreError)):
            call()
    texts.append(caplog.text)
    for text in texts:
        assert SECRET not in text
        assert quote(SECRET, safe="") not in text


def test_without_psycopg_it_says_what_to_install():
    """And whoever needs no server does not notice."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import chongming_task as c\n"
        "try: c.Controller(store='postgresql://me@host/db')\n"
        "except c.ConfigurationError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert "pip install 'chongming-task[postgres]'" in done.stdout, done.stderr


# a server that goes away


@pytest.fixture
def own_server():
    """One that may be stopped and started."""
    with postgres.restartable() as server:
        yield server


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_restart_in_the_middle_of_a_run(own_server, caplog):
    """All tasks end right, everything is stored, commands are answered, waiters hear again, the log stays short."""
    caplog.set_level(logging.WARNING)
    release = threading.Event()

    @task
    def step(number: int) -> int:
        if number >= 500:
            release.wait(PATIENCE)
        return number

    watcher = PostgresTaskStore(own_server.dsn)
    mark = watcher.wait_for_change(0)
    began = time.monotonic()
    with Controller(store=own_server.dsn, max_parallel=8) as controller:
        handles = [controller.submit(step, n) for n in range(1_000)]
        handles[499].result(timeout=PATIENCE)
        steered = handles[-20:]
        for handle in steered:  # as a controller in another process asks
            watcher.submit_command(command_of(f"stop {handle.id}", handle.id, Asked(Verb.STOP), datetime.now(UTC)))
        own_server.stop()
        release.set()
        assert [handle.result(timeout=PATIENCE) for handle in handles[:-20]] == list(range(980))
        assert {handle.wait(timeout=PATIENCE) for handle in steered} <= {"succeeded", "stopped"}
        with pytest.raises(StoreError):
            watcher.commit([born()])
        mark = watcher.wait_for_change(0.1, mark)
        own_server.start()
        controller.submit(step, 1).result(timeout=PATIENCE)
        commands = [answered(watcher, handle.id) for handle in steered]
    took = time.monotonic() - began
    seen = watcher.wait_for_change(PATIENCE, mark)
    assert seen != mark
    stopped = sum(command.outcome.get("acted", False) for command in commands)
    assert watcher.counts() == Counter(succeeded=1_001 - stopped, stopped=stopped) + Counter()
    assert check_audit(watcher, settled=True) == 1_001
    for handle, command in zip(steered, commands, strict=True):  # in the trail if it was done, else told why not
        times = sum(edge.trigger == "user:stop" for edge in watcher.transitions(handle.id))
        assert times == command.outcome.get("acted", 0), command
        assert times or command.outcome["error"] == "InvalidTransition"
    assert not watcher.commit([born()])
    watcher.close()
    lines = [record for record in caplog.records if record.name.startswith("chongming_task")]
    assert len(lines) <= took + 1, [record.getMessage() for record in lines]
    print(f"\n{took:.1f} s, {len(lines)} log lines; {stopped} of {len(steered)} tasks were stopped before their end")


def answered(store, task_id):
    """The only command of a record, once it is answered."""
    until, mark = time.monotonic() + PATIENCE, None
    while time.monotonic() < until:
        mark = store.wait_for_change(0, mark)
        (command,) = store.commands(task_id)
        if command.completed_at is not None:
            return command
        mark = store.wait_for_change(1.0, mark)
    raise AssertionError(f"never answered: {store.commands(task_id)}")


def test_a_commit_survives_a_connection_that_was_cut(store, raw):
    """Whatever was cut between two commits is opened anew, without a word."""
    store.commit([born()])
    store.get("t1")
    mark = store.wait_for_change(0)
    ours = "pid <> pg_backend_pid() AND application_name = 'chongming-task'"
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}"
    raw.execute(cut)
    assert not store.commit([born("t2")])
    raw.execute(cut)
    assert [task.task_id for task in store.query(TaskQuery())] == ["t1", "t2"]
    assert store.wait_for_change(PATIENCE, mark) != mark
    assert not store.commit([a_write_on("t1")])


def a_write_on(task_id):
    """The next step of a record that was just born."""
    return Write(a_record(task_id, status_version=2), 1, (an_edge(2, task_id=task_id),))
