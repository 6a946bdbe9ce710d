"""How rows get to a PostgreSQL server: many at a time, and by plans that stay good as the tables grow."""

from __future__ import annotations

import pytest

from chongming_task import StoreError
from chongming_task.core.query import TaskQuery
from chongming_task.stores.queries import queries
from chongming_task.testing.contract_records import born

pytestmark = pytest.mark.postgres


def test_more_rows_than_the_server_takes_at_once(store, monkeypatch):
    """They go in several texts, in order, and are one transaction all the same."""
    monkeypatch.setattr("chongming_task.stores.postgres_database._JSON_BYTES", 1_000)
    ids = [f"t{number}" for number in range(10, 30)]
    assert not store.commit([born(task_id) for task_id in ids])
    assert [task.task_id for task in store.query(TaskQuery())] == ids
    assert [change.transition.task_id for change in store.changes(0, 100)] == ids
    with pytest.raises(StoreError):
        store.commit([born("t98"), born("t99", name="half a character: \ud800")])
    assert store.get("t98") is None


@pytest.mark.parametrize("name", ["versions", "change_task"])
def test_a_plan_made_while_a_table_is_small_is_good_when_it_is_large(store, name):
    """The server keeps it: to read the whole table would be cheap now, and dear for ever after."""
    ids = [f"t{number}" for number in range(200)]
    store.commit([born(task_id) for task_id in ids])
    statement, arguments = queries("postgres.sql")[name], {"versions": {"ids": ids[:10]}, "change_task": ["[]"]}
    plan = str(store._database._ready().execute(f"EXPLAIN {statement}", arguments[name]).fetchall())
    assert "Index" in plan
    assert "Seq Scan" not in plan
