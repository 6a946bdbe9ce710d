"""The store in an SQLite file: durable, shared by the processes of one machine, no server."""

from __future__ import annotations

import os
from pathlib import Path

from chongming_task.core.policies import BucketPolicy
from chongming_task.errors import ConfigurationError, StoreError
from chongming_task.stores.sql_coordination import SqlCoordination
from chongming_task.stores.sql_records import SqlRecords
from chongming_task.stores.sqlite_checks import require_library, warn_once
from chongming_task.stores.sqlite_connections import Connections, wrapped
from chongming_task.stores.sqlite_database import SqliteDatabase
from chongming_task.stores.sqlite_schema import check_schema, migrate

__all__ = ["SqliteTaskStore"]


class SqliteTaskStore(SqlRecords, SqlCoordination):
    """Keeps everything in one file, which is made when it is not there, readable by its owner only.

    Several processes of one machine may use the file at once. What was committed survives the death of any of them;
    a power cut may take the last moments with it, unless ``full_sync`` is set, but never damages the file.

    Args:
        path: The file; its folder must exist. ``~`` is the home folder.
        read_only: Only look, also while others write. Nothing is made or changed.
        full_sync: Wait for the disk at every commit (``PRAGMA synchronous = FULL``): ten times slower for single
            commits, and safe from power cuts.
        num_buckets: How many buckets the deployment has, to be checked against what the store holds.

    Raises:
        ConfigurationError: For a path that is none, or a number of buckets that differs from the store's.
        StoreError: When the file cannot be opened, is no task store, or was written by a newer version; and when the
            SQLite library is older than 3.35.

    Warns:
        StoreWarning: Once in a process, for an SQLite library that can corrupt the file, and for a network file system.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = SqliteTaskStore(f"{folder}/runs.db")
        ...     store.counts()
        ...     store.close()
        {}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        full_sync: bool = False,
        num_buckets: int | None = None,
    ) -> None:
        self.path = _checked(path)
        policy = None if num_buckets is None else BucketPolicy(num_buckets)
        require_library()
        if not read_only:
            _make_private(self.path)
        warn_once(self.path)
        connections = _opened(self.path, read_only=read_only, full_sync=full_sync)
        super().__init__(SqliteDatabase(connections))
        if policy is not None:
            try:
                self.fix_meta("num_buckets", str(policy.num_buckets))
            except BaseException:
                self.close()
                raise

    def __repr__(self) -> str:
        return f"SqliteTaskStore({str(self.path)!r})"


def _checked(path: object) -> Path:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigurationError(f"a store's path is text, such as 'runs.db', got {path!r}")
    if text.startswith((":memory:", "file:")):
        raise ConfigurationError(f"{text!r} is no path; for records in memory use MemoryTaskStore()")
    return Path(text).expanduser().absolute()  # once: a later chdir must not lead elsewhere


def _make_private(path: Path) -> None:
    """Make the file before SQLite does, for its owner only; what SQLite puts beside it takes the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}; does its folder exist?") from error


def _opened(path: Path, *, read_only: bool, full_sync: bool) -> Connections:
    try:
        connections = Connections(path, read_only=read_only, full_sync=full_sync)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}") from error
    with wrapped(path):
        connection = connections.open(writes=not read_only)
        try:
            check_schema(connection, path) if read_only else migrate(connection, path)
        finally:
            connection.close()
    return connections
