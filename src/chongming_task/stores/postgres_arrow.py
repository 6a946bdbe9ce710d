"""Reads whole columns of a PostgreSQL server by ADBC, on a connection of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from chongming_task.stores.arrow import has_drivers
from chongming_task.stores.postgres_connections import Connections
from chongming_task.stores.queries import queries

__all__ = ["arrow_tables"]

_SQL = queries("postgres.sql")
_PARAMETER = re.compile(r"%\((\w+)\)s")


def arrow_tables(connections: Connections, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any] | None:
    """What the statements give, as they find it at one moment; None when it must be read in another way.

    Args:
        connections: To the server.
        statements: SQL as psycopg takes it, and its parameters by name.
    """
    if connections.closed or not has_drivers("adbc_driver_postgresql", "pyarrow"):
        return None
    from adbc_driver_manager import Error
    from adbc_driver_postgresql import dbapi

    try:
        with dbapi.connect(connections.conninfo(), autocommit=True) as connection, connection.cursor() as cursor:
            if connections.schema is not None:
                _fetch(cursor, _SQL["set_search_path"], {"schema": connections.schema})
            cursor.execute(_SQL["begin_reading"])
            found = [_fetch(cursor, *statement) for statement in statements]
            cursor.execute("COMMIT")
            return found
    except Error:  # whatever it is: psycopg tries next, and says so without secrets
        return None


def _fetch(cursor: Any, sql: str, params: Mapping[str, Any]) -> Any:
    names = list(dict.fromkeys(_PARAMETER.findall(sql)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    cursor.execute(numbered, _batch([(name, params[name]) for name in names]) if names else None)
    return cursor.fetch_arrow_table()


def _batch(values: Sequence[tuple[str, Any]]) -> Any:
    """One row of parameters, with their types: an empty list must say what it has none of."""
    import pyarrow as pa

    def array(name: str, value: Any) -> Any:
        kind = pa.int64() if name in _NUMBERS else pa.string()
        return pa.array([value], pa.list_(kind) if isinstance(value, list) else kind)

    return pa.record_batch([array(*each) for each in values], names=[name for name, _ in values])


_NUMBERS = frozenset({"buckets", "limit", "since", "until"})
