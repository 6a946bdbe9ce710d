"""A PostgreSQL server as the database of a store."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from chongming_task.errors import StoreError
from chongming_task.stores.postgres_arrow import arrow_tables
from chongming_task.stores.postgres_connections import Connections
from chongming_task.stores.postgres_dsn import driver
from chongming_task.stores.postgres_watch import PostgresWatch
from chongming_task.stores.queries import queries
from chongming_task.stores.sql_query import Statement

__all__ = ["PostgresDatabase", "PostgresSession"]

T = TypeVar("T")
_SQL = queries("postgres.sql")
_JSON_BYTES = 64 * 1024 * 1024  # the server takes four times as much
_to_json = json.JSONEncoder(separators=(",", ":")).encode  # ASCII only
_PAYLOAD_BYTES = 7_900  # the server takes less than 8 000


def _json_arrays(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Rows as JSON: one text, or several when it is more than the server takes at once."""
    text = _to_json(rows)
    if len(text) <= _JSON_BYTES or len(rows) <= 1:
        if rows:
            yield text
        return
    half = len(rows) // 2
    yield from _json_arrays(rows[:half])
    yield from _json_arrays(rows[half:])


def _joined(names: tuple[str, ...]) -> str:
    return _SQL[names[0]] if len(names) == 1 else "\n".join(_SQL[name] for name in names)


class PostgresSession:
    """Runs named queries on a connection.

    Args:
        connection: Of psycopg.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def all(self, *names: str, **params: Any) -> list[Sequence[Any]]:
        """See ``database.Session``."""
        rows: list[Sequence[Any]] = self._connection.execute(_joined(names), params).fetchall()
        return rows

    def run(self, *names: str, **params: Any) -> int:
        """See ``database.Session``."""
        with self._connection.pipeline():  # the number is known at its end, also within another
            cursor = self._connection.execute(_joined(names), params)
        return int(cursor.rowcount)

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """See ``database.Session``. Sent together: one round trip, not one a row."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_SQL[name], rows)

    def put(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """See ``database.Session``. As JSON: to bind value by value takes this process four times as long."""
        for text in _json_arrays(rows):
            self._connection.execute(_SQL[name], (text,))

    def serialize(self) -> None:
        """See ``database.Session``. Held until the end of the transaction, per schema; those to be made share one."""
        self._connection.execute(_SQL["serialize"])


class _Reader(PostgresSession):
    """Takes a connection for every query, and another one when the first turns out to be dead."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def all(self, *names: str, **params: Any) -> list[Sequence[Any]]:
        """See ``database.Session``."""
        return _reading(self._connections, lambda connection: PostgresSession(connection).all(*names, **params))


def _reading(connections: Connections, work: Callable[[Any], T]) -> T:
    """Do ``work`` with a connection of the pool, and again with a new one when the first turns out to be dead."""
    while True:
        connection, fresh = connections.take()
        try:
            found = work(connection)
        except BaseException as error:
            lost = connection.closed
            connection.close()
            if not isinstance(error, driver().Error):
                raise
            if fresh or not lost:
                raise connections.told(error) from None
            connections.drop_idle()  # the server has been away: the others are dead as well
        else:
            connections.give_back(connection)
            return found


class PostgresDatabase:
    """See ``database.Database``.

    Args:
        connections: To the server.
        channel: Where changes are told.
    """

    def __init__(self, connections: Connections, channel: str) -> None:
        self._connections = connections
        self._channel = channel
        self._watch = PostgresWatch(connections, channel)
        self._lock = threading.Lock()  # guards the writer
        self._writer: Any = None

    @contextmanager
    def read(self) -> Iterator[PostgresSession]:
        """See ``database.Database``."""
        yield _Reader(self._connections)

    def read_all(self, work: Callable[[PostgresSession], T]) -> T:
        """See ``database.Database``."""

        def at_one_moment(connection: Any) -> T:
            connection.execute(_SQL["begin_reading"])
            found = work(PostgresSession(connection))
            connection.execute("COMMIT")
            return found

        return _reading(self._connections, at_one_moment)

    def read_arrow(self, statements: Sequence[Statement]) -> list[Any] | None:
        """See ``database.Database``."""
        return arrow_tables(self._connections, [(_joined(names), params) for names, params in statements])

    def write(self, work: Callable[[PostgresSession], T], *, tell: Callable[[T], str | None] = lambda made: "") -> T:
        """See ``database.Database``."""
        with self._lock:
            try:
                return self._write(work, tell)
            except _TryAgain:  # nothing was committed, for certain
                return self._write(work, tell, last=True)

    def _write(self, work: Callable[[PostgresSession], T], tell: Callable[[T], str | None], last: bool = False) -> T:
        connection = self._ready()
        committing = False
        try:
            with connection.pipeline():  # only who reads rows waits for an answer, and the end does for all of them
                connection.execute(_SQL["begin"])
                made = work(PostgresSession(connection))
                self._notify(connection, tell(made))
            committing = True
            connection.execute("COMMIT")
        except BaseException as error:
            self._roll_back(connection)
            if isinstance(error, UnicodeEncodeError):  # half a character
                raise self._connections.told(error) from None
            if not isinstance(error, driver().Error):
                raise
            if not last and not committing and _worth_a_try(error, connection):
                raise _TryAgain from None
            raise self._connections.told(error) from None
        return made

    def _ready(self) -> Any:
        if self._connections.closed:
            raise StoreError(f"{self._connections}: this store is closed; open it anew")
        if self._connections.read_only:
            raise StoreError(f"{self._connections}: this store was opened read-only")
        if self._writer is None or self._writer.closed:
            self._writer = self._connections.open()
            self._writer.execute(_SQL["plan_for_large_tables"])
        return self._writer

    def _notify(self, connection: Any, ids: str | None) -> None:
        if ids is not None:
            payload = ids if len(ids.encode()) < _PAYLOAD_BYTES else ""
            connection.execute(_SQL["notify"], {"channel": self._channel, "ids": payload})

    def _roll_back(self, connection: Any) -> None:
        try:
            if not connection.closed:
                connection.rollback()
        except driver().Error:  # the error that led here is what the caller must hear
            connection.close()

    def wait(self, timeout: float, seen: int | None) -> int:
        """See ``database.Database``."""
        return self._watch.wait(timeout, seen)

    def close(self) -> None:
        """See ``database.Database``."""
        self._connections.close()
        self._watch.close()
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None


class _TryAgain(Exception):
    """A transaction failed through no fault of its own."""


def _worth_a_try(error: Exception, connection: Any) -> bool:
    errors = driver().errors
    return connection.closed or isinstance(error, errors.DeadlockDetected | errors.SerializationFailure)
