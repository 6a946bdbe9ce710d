"""A file that is taken away or replaced under an open store: whoever has it open is told once, and goes on there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chongming_task import SqliteTaskStore, StoreError
from chongming_task.core.ports import Write
from chongming_task.core.query import TaskQuery
from chongming_task.testing.contract_records import a_record


def put(store: SqliteTaskStore, task_id: str) -> None:
    """A record."""
    assert not store.commit([Write(a_record(task_id), None)])


def ids(store: SqliteTaskStore) -> list[str]:
    """The records that it reads."""
    return [task.task_id for task in store.query(TaskQuery())]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteTaskStore]:
    """A store that writes, reads and watches its file."""
    with closing(SqliteTaskStore(tmp_path / "runs.db")) as made:
        put(made, "first")
        assert ids(made) == ["first"]
        made.wait_for_change(0)
        yield made


def replace(path: Path) -> None:
    """Another store in its place."""
    for each in path.parent.glob("runs.db*"):
        each.unlink()
    with closing(SqliteTaskStore(path)) as other:
        put(other, "other")


def test_nobody_reads_or_watches_a_file_that_is_not_there(store, tmp_path):
    """What stands in it may be old for ever; back in its place, it is read on."""
    mark = store.wait_for_change(0)
    store.path.rename(tmp_path / "aside")
    for ask in (lambda: store.wait_for_change(0), lambda: ids(store), lambda: put(store, "lost")):
        with pytest.raises(StoreError, match=r"cannot be reached.*put it back"):
            ask()
    (tmp_path / "aside").rename(store.path)
    assert ids(store) == ["first"]
    assert store.wait_for_change(0, mark) != mark
    put(store, "second")
    assert ids(store) == ["first", "second"]


@pytest.mark.parametrize("first", ["watch", "read", "write"])
def test_who_writes_and_who_watches_are_both_told_of_another_file(store, first):
    """Whoever notices it first: none goes on in the old one."""
    mark = store.wait_for_change(0)
    replace(store.path)
    asks = {
        "watch": lambda: store.wait_for_change(0, mark),
        "read": lambda: ids(store),
        "write": lambda: put(store, "x"),
    }
    with pytest.raises(StoreError, match="was replaced by another file"):
        asks[first]()
    for name in {"watch", "write"} - {first}:
        with pytest.raises(StoreError, match="was replaced by another file"):
            asks[name]()
    assert store.wait_for_change(0, mark) != mark
    put(store, "new")
    assert ids(store) == ["other", "new"]
