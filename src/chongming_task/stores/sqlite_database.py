"""An SQLite file as the database of a store: every write is BEGIN IMMEDIATE, on the one connection that writes."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from chongming_task.errors import StoreError
from chongming_task.stores.queries import queries
from chongming_task.stores.sql_query import Statement
from chongming_task.stores.sqlite_arrow import arrow_tables
from chongming_task.stores.sqlite_connections import Connections, wrapped
from chongming_task.stores.sqlite_watch import SqliteWatch

__all__ = ["SqliteDatabase", "SqliteSession"]

T = TypeVar("T")
_SQL = queries("sqlite.sql")


class SqliteSession:
    """Runs named queries on a connection.

    Args:
        connection: In autocommit mode.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, *names: str, **params: Any) -> list[Sequence[Any]]:
        """See ``database.Session``."""
        return self._connection.execute(_joined(names), _bound(params)).fetchall()

    def run(self, *names: str, **params: Any) -> int:
        """See ``database.Session``."""
        return self._connection.execute(_joined(names), _bound(params)).rowcount

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """See ``database.Session``. In order; rows in a row that hold None in the same places go together."""
        for shape, group in groupby(rows, _shape):
            if True in shape:
                sql, others = _without_nulls(name, shape)
                self._connection.executemany(sql, map(others, group))
            else:
                self._connection.executemany(_SQL[name], group)

    def put(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """See ``database.Session``. Row by row: here a statement is no further away than a function."""
        self.many(name, rows)

    def serialize(self) -> None:
        """See ``database.Session``. BEGIN IMMEDIATE has done it."""


def _shape(row: Sequence[Any] | Mapping[str, Any]) -> tuple[bool, ...]:
    """Which of a row's values are None; empty for named parameters."""
    return () if isinstance(row, dict) else tuple([value is None for value in row])


@lru_cache(maxsize=1_000)
def _without_nulls(name: str, shape: tuple[bool, ...]) -> tuple[str, Callable[[Any], Sequence[Any]]]:
    """A statement that says NULL where a row holds None, so that nothing is bound there; and a row's other values.

    To bind a None takes Python's sqlite3 half a microsecond, to bind a number a tenth of that; and of the columns of a
    record most are None. This halves the cost of a write.

    Args:
        name: The query, with one ``?`` for each value.
        shape: See ``_shape``.
    """
    first, *rest = _SQL[name].split("?")
    sql = first + "".join(("NULL" if null else "?") + part for null, part in zip(shape, rest, strict=True))
    places = [place for place, null in enumerate(shape) if not null]
    return sql, itemgetter(*places) if len(places) > 1 else lambda row: [row[place] for place in places]


def _joined(names: tuple[str, ...]) -> str:
    return _SQL[names[0]] if len(names) == 1 else "\n".join(_SQL[name] for name in names)


def _bound(params: dict[str, Any]) -> dict[str, Any]:
    return {key: json.dumps(value) if isinstance(value, list) else value for key, value in params.items()}


class SqliteDatabase:
    """See ``database.Database``.

    Args:
        connections: To the file.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._watch = SqliteWatch(connections)
        self._lock = threading.Lock()  # guards the writer
        self._writer: sqlite3.Connection | None = None
        self._file = connections.file  # that it writes to

    @contextmanager
    def read(self) -> Iterator[SqliteSession]:
        """See ``database.Database``."""
        with wrapped(self._connections.path), self._connections.reader() as connection:
            yield SqliteSession(connection)

    def read_all(self, work: Callable[[SqliteSession], T]) -> T:
        """See ``database.Database``."""
        with wrapped(self._connections.path), self._connections.reader() as connection:
            connection.execute("BEGIN")  # the first query decides of which moment
            found = work(SqliteSession(connection))
            connection.execute("COMMIT")
        return found

    def read_arrow(self, statements: Sequence[Statement]) -> list[Any] | None:
        """See ``database.Database``."""
        return arrow_tables(self._connections, [(_joined(names), _bound(dict(params))) for names, params in statements])

    def write(self, work: Callable[[SqliteSession], T], *, tell: Callable[[T], str | None] = lambda made: "") -> T:
        """See ``database.Database``."""
        with self._lock, wrapped(self._connections.path):
            connection = self._ready()
            connection.execute("BEGIN IMMEDIATE")
            try:
                made = work(SqliteSession(connection))
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise
        self._watch.wake()
        return made

    def _ready(self) -> sqlite3.Connection:
        """The connection that writes, to the file that stands at the path."""
        if self._connections.closed:
            raise StoreError(f"{self._connections.path}: this store is closed; open it anew")
        if self._connections.read_only:
            raise StoreError(f"{self._connections.path}: this store was opened read-only")
        try:
            self._connections.check_file()
            if self._file != self._connections.file:  # somebody else here was told
                raise self._connections.replaced()
        except StoreError:
            self._drop_writer()
            self._file = self._connections.file
            raise
        if self._writer is None:
            self._writer = self._connections.open(writes=True)
        return self._writer

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:  # the error that led here is what the caller must hear
            self._drop_writer()

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def wait(self, timeout: float, seen: int | None) -> int:
        """See ``database.Database``."""
        return self._watch.wait(timeout, seen)

    def close(self) -> None:
        """See ``database.Database``."""
        self._connections.close()
        self._watch.close()
        with self._lock:
            self._drop_writer()
