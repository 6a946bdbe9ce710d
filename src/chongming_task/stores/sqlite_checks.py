"""What can be wrong with a machine that keeps an SQLite file: told once, with the fix."""

from __future__ import annotations

import os
import re
import sqlite3
import warnings
from pathlib import Path

from chongming_task.errors import StoreError, StoreWarning

__all__ = ["affected_by_wal_reset", "network_file_system", "require_library", "warn_once"]

_OLDEST = (3, 35, 0)  # ALTER TABLE ... DROP COLUMN
_FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))  # the last holds for all that follow; the others within their branch
_NETWORK = frozenset("nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre gpfs beegfs".split())  # noqa: SIM905
_NETWORK |= {"fuse.sshfs", "fuse.s3fs", "fuse.glusterfs"}
_OCTAL = re.compile(r"\\([0-7]{3})")  # a blank in a mount point is \040
_told: set[str] = set()


def require_library() -> None:
    """Refuse an SQLite library that does not know what the store says to it.

    Raises:
        StoreError: With the version that is needed.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(
            f"the SQLite library {sqlite3.sqlite_version} is too old; install a Python whose sqlite3.sqlite_version is"
            f" {'.'.join(map(str, _OLDEST))} or newer"
        )


def affected_by_wal_reset(version: tuple[int, ...]) -> bool:
    """Whether an SQLite library can corrupt a WAL file that two connections check-point at once."""
    if version >= _FIXED[-1]:
        return False
    return not any(version[:2] == fixed[:2] and version >= fixed for fixed in _FIXED)


def network_file_system(path: Path, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The kind of network file system a path lies on; None when it is local, or where it cannot be known.

    Args:
        path: A file or folder.
        mounts: Linux's list of what is mounted.
    """
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # no Linux
        return None
    where = os.path.realpath(path)
    best, kind = "", None
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4])
        if len(point) >= len(best) and (where + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, right.split()[0]
    return kind if kind in _NETWORK else None


def warn_once(path: Path) -> None:
    """Warn of what this process's SQLite library or the file's place cannot be trusted with.

    Warns:
        StoreWarning: Each thing once in a process.
    """
    if affected_by_wal_reset(sqlite3.sqlite_version_info):
        _warn(
            f"the SQLite library {sqlite3.sqlite_version} can corrupt a file that several connections write (the WAL"
            " reset fault); install a Python whose sqlite3.sqlite_version is 3.51.3 or newer, or 3.50.7, or 3.44.6"
        )
    kind = network_file_system(path)
    if kind is not None:
        _warn(
            f"{path} lies on a network file system ({kind}), where SQLite's locks cannot be trusted; keep the file on"
            " a local disk, or use PostgreSQL: store='postgresql://...'"
        )


def _warn(text: str) -> None:
    if text not in _told:
        _told.add(text)
        warnings.warn(text, StoreWarning, stacklevel=4)  # where the store is made
