"""The PostgreSQL fixture: a real server, a schema for each test."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("value", [1, 2])
def test_each_test_has_a_schema_of_its_own(postgres_dsn, value):
    """The same table can be made twice: nothing of another test is there."""
    import psycopg

    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE TABLE only_here (value int)")
        connection.execute("INSERT INTO only_here VALUES (%s)", [value])
        rows = connection.execute("SELECT value FROM only_here").fetchall()
    assert rows == [(value,)]
