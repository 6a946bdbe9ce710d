"""A PostgreSQL server for tests: one throw-away cluster a run, one schema a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Durability is not what these tests are about.
SETTINGS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c listen_addresses=127.0.0.1"


def server_programs() -> Path | None:
    """The folder of the newest `initdb` and `pg_ctl` on this machine, or None."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


class Server:
    """A server of one's own, in a folder that exists.

    Args:
        folder: Where it keeps everything.
    """

    def __init__(self, folder: str) -> None:
        programs = server_programs()
        assert programs is not None
        self._programs, self._folder, self._data = programs, folder, Path(folder, "data")
        self._port = _free_port()
        self.dsn = f"postgresql://postgres@127.0.0.1:{self._port}/postgres"
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        _run(programs / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self._port} -k {self._folder} {SETTINGS}"
        log = Path(self._folder, "log")
        _run(self._programs / "pg_ctl", "-D", self._data, "-l", log, "-w", "-o", options, "start")

    def stop(self) -> None:
        """Cut all connections, and stop it."""
        _run(self._programs / "pg_ctl", "-D", self._data, "-w", "-m", "fast", "stop")


@contextmanager
def restartable() -> Iterator[Server]:
    """A running server that may be stopped and started."""
    with tempfile.TemporaryDirectory(prefix="chongming-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            _run(server._programs / "pg_ctl", "-D", server._data, "-w", "-m", "immediate", "stop")


@contextmanager
def cluster() -> Iterator[str]:
    """A running server on a free port of 127.0.0.1; gives its DSN."""
    with restartable() as server:
        yield server.dsn


@contextmanager
def schema(dsn: str) -> Iterator[str]:
    """A new schema on the server; gives a DSN whose connections work in it."""
    import psycopg
    from psycopg import sql

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        try:
            yield f"{dsn}?options=-csearch_path%3D{name}"
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(*command: str | Path) -> None:
    """Runs a server program; it refuses root, so root becomes `postgres`."""
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*prefix, *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", timeout=60
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")
