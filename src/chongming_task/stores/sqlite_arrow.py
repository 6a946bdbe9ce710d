"""Reads whole columns of an SQLite file by ADBC, when that is safe.

The ADBC driver carries an SQLite library of its own. On POSIX systems a process that closes *any* descriptor of a file
gives up *all* its locks on it, and two copies of the library know nothing of each other: had this process the file open
by the other copy, a writer's locks would be gone, and the file could be damaged. So the driver is used only while
nothing else in this process has the file open, and nothing of ours may open it meanwhile.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chongming_task.stores.arrow import has_drivers
from chongming_task.stores.sqlite_connections import Connections

__all__ = ["arrow_tables"]

_ONE_BATCH = str(2**30)  # rows: the driver tells a column's type by its first batch, so there must be one only
_PARAMETER = re.compile(r":(\w+)")


def arrow_tables(connections: Connections, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any] | None:
    """What the statements give, as they find it at one moment; None when it must be read in another way.

    Args:
        connections: To the file.
        statements: SQL, and its parameters by name.
    """
    if connections.closed or not has_drivers("adbc_driver_sqlite", "pyarrow"):
        return None
    with connections.shut_out() as path:
        if _is_open_here(path):
            return None
        from adbc_driver_manager import Error
        from adbc_driver_sqlite import dbapi

        try:
            with dbapi.connect(connections.uri()) as connection:  # it begins a transaction, and leaves it at its end
                return [_table(connection, *statement) for statement in statements]
        except Error:  # whatever it is: the standard library's driver tries next, and says so
            return None


def _table(connection: Any, sql: str, params: Mapping[str, Any]) -> Any:
    names = list(dict.fromkeys(_PARAMETER.findall(sql)))  # in the order in which SQLite numbers them
    with connection.cursor(adbc_stmt_kwargs={"adbc.sqlite.query.batch_rows": _ONE_BATCH}) as cursor:
        cursor.execute(sql, [params[name] for name in names] or None)
        return cursor.fetch_arrow_table()


def _is_open_here(path: Path) -> bool:
    """Whether this process has the file open, by whichever library."""
    if sys.platform == "win32":
        return False  # there a lock belongs to the handle that took it
    descriptors = next((each for each in (Path("/proc/self/fd"), Path("/dev/fd")) if each.is_dir()), None)
    if descriptors is None:
        return True  # nobody can tell
    files = {(found.st_dev, found.st_ino) for found in _files(path)}
    return any((found.st_dev, found.st_ino) in files for found in _descriptors(descriptors))


def _files(path: Path) -> Iterator[os.stat_result]:
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if name.exists():
            yield name.stat()


def _descriptors(folder: Path) -> Iterator[os.stat_result]:
    for name in list(folder.iterdir()):
        try:
            yield os.fstat(int(name.name))
        except OSError:  # the one that listed the folder, or closed since
            continue
