"""Brings an SQLite file to the schema of this version: forward only, one transaction a step."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from chongming_task.errors import StoreError
from chongming_task.stores.agreement import SCHEMA_VERSION
from chongming_task.stores.queries import queries

__all__ = ["check_schema", "migrate"]

_SQL = queries("sqlite.sql")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables, or bring old ones up to date. Several processes may try at once.

    Args:
        connection: One that writes, in autocommit mode.
        path: For what is told.

    Raises:
        StoreError: When the file holds a newer schema, or tables of somebody else.
    """
    if schema_version(connection, path) == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = schema_version(connection, path)  # again: somebody may have been quicker
        _execute(connection, _SQL["bootstrap"])
        for version in range(found + 1, SCHEMA_VERSION + 1):
            _execute(connection, _SQL[f"migration_{version}"])
            connection.execute(_SQL["add_migration"], {"version": version, "at": time.time_ns() // 1_000})
        connection.execute(_SQL["set_schema_version"], {"version": str(SCHEMA_VERSION)})
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that cannot be read as it is.

    Raises:
        StoreError: When its schema is not this version's.
    """
    found = schema_version(connection, path)
    if found == 0:
        raise StoreError(f"{path} holds no records yet; let a controller write to it first")
    if found < SCHEMA_VERSION:
        raise StoreError(f"{path} has the schema {found}, older than {SCHEMA_VERSION}; open it once for writing")


def schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema that a file holds; 0 for none.

    Raises:
        StoreError: When it is a newer one, or the file is somebody else's.
    """
    if connection.execute(_SQL["has_meta"]).fetchone() is None:
        foreign = connection.execute(_SQL["foreign_tables"]).fetchone()
        if foreign is not None:
            raise StoreError(f"{path} is no task store: it holds a table {foreign[0]!r}; name another file")
        return 0
    found = int(dict(connection.execute(_SQL["meta"])).get("schema_version", "0"))
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer chongming-task: its schema is {found}, this version knows"
            f" {SCHEMA_VERSION}; upgrade the package, or name another file"
        )
    return found


def _execute(connection: sqlite3.Connection, script: str) -> None:
    """Run statements one by one: executescript would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
