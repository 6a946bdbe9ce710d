"""Tells when the tables on a PostgreSQL server change: LISTEN, and a look now and then as a net under it."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from chongming_task.errors import StoreError
from chongming_task.stores.postgres_connections import Connections
from chongming_task.stores.postgres_dsn import driver

__all__ = ["PostgresWatch"]

_logger = logging.getLogger("chongming_task.store")
_SLICE_SECONDS = 0.25  # how long closing may wait for who listens
_NET_SECONDS = 2.0  # whoever waits is sent to look after so long, whether or not we were told anything
_LOG_SECONDS = 1.0  # without the connection until this is told; told again when that has doubled


class PostgresWatch:
    """One connection listens, driven by one of those who wait; no thread of its own.

    Args:
        connections: Where the server is.
        channel: Where writers tell of changes.
    """

    def __init__(self, connections: Connections, channel: str) -> None:
        self._connections = connections
        self._channel = channel
        self._changed = threading.Condition()
        self._connection: Any = None
        self._mark = 0
        self._moved_at = 0.0
        self._led = False  # somebody drives the connection
        self._lost_at: float | None = None  # and nothing heard since
        self._tell_after = _LOG_SECONDS

    def wait(self, timeout: float, seen: int | None) -> int:
        """See ``ChangeFeed.wait_for_change``."""
        deadline = time.monotonic() + timeout
        known = seen
        while True:
            with self._changed:
                known = self._mark if known is None else known
                left = max(deadline - time.monotonic(), 0.0)
                if self._led and left and self._mark == known and not self._connections.closed:
                    self._changed.wait(left)
                if self._mark != known or self._connections.closed or (self._led and not left):
                    return self._mark
                if self._led:
                    continue
                self._led = True
            try:
                self._listen(min(left, _SLICE_SECONDS))
            finally:
                with self._changed:
                    self._led = False
                    self._changed.notify_all()
            if not left:
                return self._mark

    def _listen(self, seconds: float) -> None:
        try:
            if self._connection is None:
                self._connect()
            told = any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))
        except (driver().Error, StoreError) as error:
            self._lost(error)
            with self._changed:
                if seconds:
                    self._changed.wait(seconds)
            return
        if told or time.monotonic() - self._moved_at > _NET_SECONDS:
            self._move()

    def _connect(self) -> None:
        connection = self._connections.open()
        try:
            connection.execute(driver().sql.SQL("LISTEN {}").format(driver().sql.Identifier(self._channel)))
        except BaseException:
            connection.close()
            raise
        self._connection, self._lost_at, self._tell_after = connection, None, _LOG_SECONDS
        self._move()  # what happened before we listened

    def _move(self) -> None:
        with self._changed:
            self._mark += 1
            self._moved_at = time.monotonic()

    def _lost(self, error: Exception) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        now = time.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        if not self._connections.closed and now - self._lost_at > self._tell_after:  # who writes tells sooner
            self._tell_after *= 2
            told = error if isinstance(error, StoreError) else self._connections.told(error)
            _logger.warning("news of changes are late, for the connection is gone: %s", told)

    def close(self) -> None:
        """End every wait, and let go of the connection."""
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._led, timeout=_SLICE_SECONDS * 8)
            if self._connection is not None and not self._led:
                self._connection.close()
                self._connection = None
