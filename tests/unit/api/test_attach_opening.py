"""What cannot be attached to is told with what to do, and no password is told anywhere."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chongming_task import ConfigurationError, Controller, MemoryTaskStore, StoreError

GOLDEN = Path(__file__).parents[2] / "golden" / "schema-1.db"
SECRET = "geheim%21"


@pytest.fixture
def path(tmp_path):
    """A store with one task in it."""
    with Controller(tmp_path / "runs.db") as controller:
        controller.submit(pow, 2, 3).wait(20)
    return tmp_path / "runs.db"


def test_a_missing_file_is_not_made(tmp_path):
    """And it is said who makes it."""
    with pytest.raises(StoreError, match=r"no such store: .*none\.db; a controller makes it, as in Controller\(store="):
        Controller.attach(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_an_old_schema_is_left_as_it_is(tmp_path):
    """A controller brings it up to date."""
    old = shutil.copy(GOLDEN, tmp_path / "old.db")
    before = Path(old).read_bytes()
    with pytest.raises(StoreError, match=r"has the schema 1, older than .*; open it once for writing"):
        Controller.attach(old)
    assert Path(old).read_bytes() == before


def test_a_new_schema_asks_for_a_newer_package(path):
    """This one cannot know what it means."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
        connection.commit()
    with pytest.raises(StoreError, match=r"written by a newer chongming-task.*upgrade the package"):
        Controller.attach(path)


@pytest.mark.parametrize("content", [b"hello, this is no database, however long it goes on" * 100, b""])
def test_what_is_no_store_is_named(tmp_path, content):
    """A file of something else, an empty one."""
    odd = tmp_path / "odd.db"
    odd.write_bytes(content)
    with pytest.raises(StoreError, match=r"odd\.db"):
        Controller.attach(odd)
    assert odd.read_bytes() == content


@pytest.mark.parametrize("odd", [None, 3, MemoryTaskStore, "mysql://u:geheim@h/x"])
def test_what_cannot_be_meant_is_refused(odd):
    """With what could be."""
    with pytest.raises(ConfigurationError, match=r"runs\.db") as caught:
        Controller.attach(odd)
    assert "geheim" not in str(caught.value)


def test_a_name_is_text(path):
    """It stands in headings."""
    with pytest.raises(ConfigurationError):
        Controller.attach(path, name="")
    with Controller.attach(path, name="nightly") as attached:
        assert repr(attached) == "<Attached to nightly: 1 succeeded>"
    with Controller.attach(str(path)) as attached:
        assert attached.name == "runs.db"


def test_only_looking_refuses_verbs(path):
    """And sees everything."""
    with Controller(path) as controller, Controller.attach(path, read_only=True) as attached:
        waiting = controller.submit(pow, 2, 3, start=False)
        controller.counts()
        assert attached.history.tasks()["status"].tolist() == ["succeeded", "pending"]
        with pytest.raises(StoreError, match="opened read-only"):
            attached.start(waiting)
        controller.cancel(waiting)


def test_a_store_object_is_not_closed():
    """It belongs to whoever made it."""
    store = MemoryTaskStore()
    with Controller(store, echo=False) as controller:
        handle = controller.submit(pow, 2, 3)
        handle.wait(20)
        with Controller.attach(store) as attached:
            assert attached.get(handle).outcome == 8
        assert controller.submit(pow, 2, 3).result(20) == 8


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://ada:{SECRET}@127.0.0.1:1/work",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"postgresql://ada:{SECRET}@127.0.0.1:port/work",
    ],
)
def test_an_unreachable_server_is_told_without_its_password(dsn, caplog):
    """Neither as it is written nor as it is meant; not in what the error came from either."""
    pytest.importorskip("psycopg")
    caplog.set_level(logging.DEBUG)
    with pytest.raises((StoreError, ConfigurationError)) as caught:
        Controller.attach(dsn)
    told, error = [caplog.text], caught.value
    while error is not None:
        told.append(f"{error!r} {error.args}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert not any("geheim" in text for text in told), told
