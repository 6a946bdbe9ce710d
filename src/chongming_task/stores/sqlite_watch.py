"""Tells when an SQLite file changes, whoever changes it."""

from __future__ import annotations

import sqlite3
import threading
import time

from chongming_task.errors import StoreError
from chongming_task.stores.sqlite_connections import Connections, wrapped

__all__ = ["SqliteWatch"]

_POLL_SECONDS = 0.05  # how long a change by another process can go unseen


class SqliteWatch:
    """Compares ``PRAGMA data_version``: it moves with every commit by any other connection, and costs microseconds.

    Args:
        connections: Where the file is.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._changed = threading.Condition()
        self._connection: sqlite3.Connection | None = None  # never writes
        self._file = connections.file  # that it looks at
        self._version: int | None = None
        self._mark = 0  # counts changes: numbers of another file would mean nothing
        self._waiting = 0

    def wait(self, timeout: float, seen: int | None) -> int:
        """See ``ChangeFeed.wait_for_change``."""
        deadline = time.monotonic() + timeout
        with self._changed:
            now = self._look()
            known = now if seen is None else seen
            self._waiting += 1
            try:
                while now == known and not self._connections.closed and (left := deadline - time.monotonic()) > 0:
                    self._changed.wait(min(left, _POLL_SECONDS))
                    now = self._look()
            finally:
                self._waiting -= 1
            return now

    def _look(self) -> int:
        if not self._connections.closed:
            with wrapped(self._connections.path):
                self._check_file()
                if self._connection is None:
                    self._connection, self._version = self._connections.open(writes=False), None
                version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if version != self._version:
                self._version = version
                self._mark += 1
        return self._mark

    def _check_file(self) -> None:
        """Let go of a file that is no longer what stands at the path: nothing will ever change in it."""
        try:
            self._connections.check_file()
            if self._file != self._connections.file:  # somebody else here was told
                raise self._connections.replaced()
        except StoreError:
            self._file = self._connections.file
            self._let_go()
            raise

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def wake(self) -> None:
        """This process has written: who waits need not wait for the next look."""
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End every wait."""
        with self._changed:
            self._let_go()
            self._changed.notify_all()
