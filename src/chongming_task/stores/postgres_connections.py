"""Connections to a PostgreSQL server that may go away and come back."""

from __future__ import annotations

import threading
import time
from typing import Any

from chongming_task.errors import StoreError
from chongming_task.stores.postgres_dsn import Dsn, driver
from chongming_task.stores.queries import queries

__all__ = ["Connections"]

_SQL = queries("postgres.sql")
_IDLE_READERS = 4
_FIRST_REST, _LONGEST_REST = 0.1, 2.0  # seconds between two tries to reach a server that does not answer


class Connections:
    """Opens connections, and keeps a few that read.

    Args:
        dsn: Where to.
        schema: Where the tables are; None: where the DSN's ``search_path`` says.
        read_only: Never write.
    """

    def __init__(self, dsn: Dsn, *, schema: str | None, read_only: bool) -> None:
        self.schema = schema
        self.read_only = read_only
        self.closed = False
        self._dsn = dsn
        self._lock = threading.Lock()
        self._idle: list[Any] = []
        self._rests_until = 0.0
        self._rest = _FIRST_REST

    def open(self) -> Any:
        """A new connection; the caller closes it.

        Raises:
            StoreError: When the server does not answer, or did not a moment ago.
        """
        if self.closed:
            raise StoreError(f"{self}: this store is closed; open it anew")
        wait = self._rests_until - time.monotonic()
        if wait > 0:
            raise StoreError(f"{self}: the server does not answer; it is tried again in {wait:.1f} s")
        failed: StoreError | None = None
        connection = None
        try:
            connection = self._dsn.connect()
            self._set_up(connection)
        except driver().Error as error:
            failed = self.told(error)
        if failed is not None:  # out of the except block: the driver's error knows how we connect
            if connection is not None:
                connection.close()
            self._rests_until, self._rest = time.monotonic() + self._rest, min(self._rest * 2, _LONGEST_REST)
            raise failed
        self._rests_until, self._rest = 0.0, _FIRST_REST
        return connection

    def conninfo(self) -> str:
        """How to connect, for another driver. It may hold a password."""
        return self._dsn.conninfo()

    def _set_up(self, connection: Any) -> None:
        if self.schema is not None:
            connection.execute(_SQL["set_search_path"], {"schema": self.schema})
        if self.read_only:
            connection.execute("SET default_transaction_read_only = on")

    def take(self) -> tuple[Any, bool]:
        """A connection to read with, and whether it is new."""
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection, False
        return self.open(), True

    def give_back(self, connection: Any) -> None:
        """For the next reader."""
        with self._lock:
            if not self.closed and len(self._idle) < _IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def drop_idle(self) -> None:
        """Close the readers that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def told(self, error: Exception) -> StoreError:
        """What the driver says, without secrets."""
        text = self._dsn.scrubbed(" ".join(str(error).split()))
        return StoreError(f"{self}: {type(error).__name__}: {text}")

    def close(self) -> None:
        """Close what is idle; the rest is closed by who uses it."""
        self.closed = True
        self.drop_idle()

    def __str__(self) -> str:
        where = self._dsn.database
        return f"PostgreSQL ({where if self.schema is None else f'{where}, {self.schema}'})"
