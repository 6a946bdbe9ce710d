"""Tells when an SQLite file changes, whoever changes it."""

from __future__ import annotations

import sqlite3
import threading
import time

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
        self._mark = 0
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
                if self._connection is None:
                    self._connection = self._connections.open(writes=False)
                self._mark = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return self._mark

    def wake(self) -> None:
        """This process has written: who waits need not wait for the next look."""
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End every wait."""
        with self._changed:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._changed.notify_all()
