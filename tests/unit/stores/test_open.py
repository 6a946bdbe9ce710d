"""From what a caller names to a store."""

from __future__ import annotations

import pytest

from chongming_task import ConfigurationError, Controller, MemoryTaskStore, SqliteTaskStore, task
from chongming_task.stores.open import open_store


def test_nothing_is_memory_and_a_store_is_itself():
    """Each controller has its own memory, unless it is given one."""
    assert isinstance(open_store(None), MemoryTaskStore)
    made = MemoryTaskStore()
    assert open_store(made) is made


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_is_sqlite(tmp_path, kind):
    """As text or as a Path."""
    store = open_store(kind(tmp_path / "runs.db"))
    assert isinstance(store, SqliteTaskStore)
    store.close()


@pytest.mark.parametrize(
    "where",
    ["mysql://host/db", "sqlite:///runs.db", 5, MemoryTaskStore, object()],
    ids=["mysql", "url", "number", "class", "object"],
)
def test_anything_else_is_refused(where):
    """With what would do."""
    with pytest.raises(ConfigurationError, match=r"'runs\.db'"):
        open_store(where)


def test_a_controller_takes_a_path(tmp_path):
    """And what it did is there for the next one."""

    @task
    def double(n: int) -> int:
        return 2 * n

    with Controller(store=tmp_path / "runs.db") as controller:
        handle = controller.submit(double, 21)
        assert handle.result(timeout=20) == 42
    store = SqliteTaskStore(tmp_path / "runs.db", read_only=True)
    found = store.get(handle.id)
    assert (found.status, found.outcome) == ("succeeded", 42)
    store.close()
