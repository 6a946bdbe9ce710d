"""Connections to one SQLite file: one that writes, a few that read, one that watches."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chongming_task.errors import StoreError

__all__ = ["Connections", "wrapped"]

_BUSY_SECONDS = 10.0  # a write waits so long for another process's
_IDLE_READERS = 4
_WAL_BYTES = 64 * 1024 * 1024  # a longer one is cut down when it has been check-pointed


class Connections:
    """Opens connections, and closes all of them. Refuses to go on when the file was removed or replaced.

    Args:
        path: The file. It must exist.
        read_only: Never write.
        full_sync: Wait for the disk at every commit, so that even a power cut loses nothing.
    """

    def __init__(self, path: Path, *, read_only: bool, full_sync: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.closed = False
        self._full_sync = full_sync
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self.file = _identity(path)  # which one stands there, as far as anybody was told

    def open(self, *, writes: bool) -> sqlite3.Connection:
        """A new connection; the caller closes it."""
        self.check_file()
        with _gate(self.file):
            connection = sqlite3.connect(
                self.uri(),
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=_BUSY_SECONDS,
                cached_statements=256,
            )
        try:
            if writes:
                _begin_wal(connection)
                connection.execute(f"PRAGMA synchronous = {'FULL' if self._full_sync else 'NORMAL'}")
                connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
                connection.execute("PRAGMA recursive_triggers = ON")
            else:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def uri(self) -> str:
        """The file as SQLite is told of it."""
        uri = f"{self.path.absolute().as_uri()}?mode={'ro' if self.read_only else 'rw'}"
        if self.read_only and not self._has_wal() and not os.access(self.path.parent, os.W_OK):
            uri += "&immutable=1"  # nobody can write it, and no lock file can be made beside it
        return uri

    @contextmanager
    def shut_out(self) -> Iterator[Path]:
        """Nothing of this package in this process opens the file meanwhile; our own idle connections are closed."""
        self.check_file()
        with _gate(self.file):
            self.drop_idle()
            yield self.path

    def _has_wal(self) -> bool:
        return Path(f"{self.path}-wal").exists()

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, of a small pool."""
        self.check_file()
        file, connection = self.file, self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self.closed and self.file == file and len(self._idle) < _IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self.closed:
                raise StoreError(f"{self.path}: this store is closed; open it anew")
            if self._idle:
                return self._idle.pop()
        return self.open(writes=False)

    def check_file(self) -> None:
        """Tell when what we have open is no longer what stands at the path: SQLite would write on, into nothing."""
        try:
            found = _identity(self.path)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be reached ({error.strerror}): put it back") from error
        if found != self.file:
            self.file = found
            self.drop_idle()
            raise self.replaced()

    def replaced(self) -> StoreError:
        """What is told once to everybody who has the file open that stood there before."""
        return StoreError(f"{self.path} was replaced by another file; what follows goes there")

    def drop_idle(self) -> None:
        """Close the readers that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle; the rest is closed by who uses it."""
        self.closed = True
        self.drop_idle()


_GATES: dict[tuple[int, int], threading.Lock] = {}  # one for each file that was ever opened
_GATES_GUARD = threading.Lock()


def _gate(file: tuple[int, int]) -> threading.Lock:
    """Held by whoever opens the file."""
    with _GATES_GUARD:
        return _GATES.setdefault(file, threading.Lock())


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _begin_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. Several who open a new file at once are told BUSY without any waiting."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def wrapped(path: Path) -> Iterator[None]:
    """Raise what SQLite says as StoreError."""
    try:
        yield
    except (OverflowError, UnicodeEncodeError) as error:  # a number beyond 64 bits, half a character
        raise StoreError(f"{path}: a value cannot be stored: {error}") from error
    except sqlite3.Error as error:
        hint = _HINTS.get(str(error), "")
        raise StoreError(f"{path}: {error}{hint}") from error


_HINTS = {
    "database is locked": f"; another process has been writing for more than {_BUSY_SECONDS:.0f} s",
    "attempt to write a readonly database": "; may this user write the file and its folder?",
    "unable to open database file": "; may this user read the file, and write to its folder?",
    "database or disk is full": "; make room, and what waits is stored",
    "disk I/O error": "; is the disk full, or gone?",
    "file is not a database": "; name another file",
}
