"""The store on a PostgreSQL server: durable, shared by the processes of many machines."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from chongming_task.core.policies import BucketPolicy
from chongming_task.errors import ConfigurationError, StoreError
from chongming_task.stores.agreement import SCHEMA_VERSION
from chongming_task.stores.postgres_connections import Connections
from chongming_task.stores.postgres_database import PostgresDatabase, PostgresSession
from chongming_task.stores.postgres_dsn import Dsn, driver
from chongming_task.stores.queries import queries
from chongming_task.stores.sql_coordination import SqlCoordination
from chongming_task.stores.sql_records import SqlRecords

__all__ = ["PostgresTaskStore"]

_SQL = queries("postgres.sql")


class PostgresTaskStore(SqlRecords, SqlCoordination):
    """Keeps everything in tables ``chongming_*`` of one schema, which are made when they are not there.

    A server that restarts is found again, with back-off. The DSN is never shown. Where the tables exist, no right to
    make tables is needed; with ``read_only`` no right but SELECT.

    Args:
        dsn: ``postgresql://user:password@host:port/database``.
        schema: The schema of the tables; made when it is not there. Default: where the DSN's ``search_path`` says.
        read_only: Only look.
        num_buckets: How many buckets the deployment has, to be checked against what the store holds.

    Raises:
        ConfigurationError: When psycopg is not installed, the DSN is none, or the number of buckets differs from the
            store's.
        StoreError: When the server does not answer or lets nobody in, or the tables were made by a newer version.

    Example::

        Controller(store=PostgresTaskStore("postgresql://me@db.example/work", schema="nightly"))

    Example:
        >>> import os
        >>> from chongming_task import Controller
        >>> def controller_of(schema):
        ...     return Controller(PostgresTaskStore(os.environ["TASKS_DSN"], schema=schema))
    """

    def __init__(
        self, dsn: str, *, schema: str | None = None, read_only: bool = False, num_buckets: int | None = None
    ) -> None:
        if schema is not None and (not schema or "\0" in schema):
            raise ConfigurationError(f"schema is the name of a PostgreSQL schema, got {schema!r}")
        policy = None if num_buckets is None else BucketPolicy(num_buckets)
        self._connections = Connections(Dsn(dsn), schema=schema, read_only=read_only)
        super().__init__(PostgresDatabase(self._connections, _prepared(self._connections)))
        if policy is not None:
            try:
                self.fix_meta("num_buckets", str(policy.num_buckets))
            except BaseException:
                self.close()
                raise

    def __repr__(self) -> str:
        return f"<PostgresTaskStore on {self._connections}>"


def _prepared(connections: Connections) -> str:
    """Bring the tables up to date; the channel that tells of their changes."""
    connection = connections.open()
    try:
        found = _schema_version(connection, connections)
        if found < SCHEMA_VERSION:
            if connections.read_only:
                raise StoreError(f"{connections}: {_lacking(found)}; open them once for writing")
            _migrate(connection, connections)
        where = PostgresSession(connection).all("current_schema")[0][0]
    except driver().Error as error:
        raise connections.told(error) from None
    finally:
        connection.close()
    return f"chongming_{hashlib.sha256(str(where).encode()).hexdigest()[:16]}"


def _migrate(connection: Any, connections: Connections) -> None:
    """Take all steps to the newest schema, or none."""
    found = 0
    try:
        with connection.transaction():
            PostgresSession(connection).serialize()  # several processes may try at once
            found = _schema_version(connection, connections)
            _step_up(connection, connections.schema, found)
    except driver().errors.InsufficientPrivilege as error:
        told = connections.told(error)
        raise StoreError(f"{told}: {_lacking(found)}; open them once as their owner") from None


def _step_up(connection: Any, schema: str | None, found: int) -> None:
    session = PostgresSession(connection)
    if schema is not None and not session.all("schema_exists", schema=schema):
        connection.execute(driver().sql.SQL("CREATE SCHEMA {}").format(driver().sql.Identifier(schema)))
    if found < SCHEMA_VERSION:  # else somebody was quicker
        connection.execute(_SQL["bootstrap"])
        for version in range(found + 1, SCHEMA_VERSION + 1):
            connection.execute(_SQL[f"migration_{version}"])
            connection.execute(_SQL["add_migration"], {"version": version, "at": time.time_ns() // 1_000})
        connection.execute(_SQL["set_schema_version"], {"version": str(SCHEMA_VERSION)})


def _lacking(found: int) -> str:
    if found == 0:
        return "the tables are not there"
    return f"the tables have the schema {found}, older than {SCHEMA_VERSION}"


def _schema_version(connection: Any, connections: Connections) -> int:
    """What the tables are; 0 for none."""
    session = PostgresSession(connection)
    if not session.all("has_meta"):
        return 0
    held = {str(name): str(value) for name, value in session.all("meta")}
    found = int(held.get("schema_version", "0"))
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"{connections}: the tables were made by a newer chongming-task: their schema is {found}, this version"
            f" knows {SCHEMA_VERSION}; upgrade the package, or use another schema"
        )
    return found
