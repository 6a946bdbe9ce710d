"""From ``--db`` or the environment to a store. Nothing is made or changed that the verb does not ask for."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chongming_task.cli.secrets import has_password
from chongming_task.errors import ConfigurationError, StoreError, StoreWarning

if TYPE_CHECKING:
    from chongming_task.cli.console import Console
    from chongming_task.core.ports import TaskStore

__all__ = ["VARIABLE", "making", "reading", "writing"]

VARIABLE = "CHONGMING_TASK_DB"
_SERVER = ("postgresql://", "postgres://")
# Loaded when asked for: a file needs no server's driver, and --help neither.
_SQLITE, _POSTGRES = "chongming_task.stores.sqlite", "chongming_task.stores.postgres"


def _where(options: Namespace, console: Console) -> str:
    """What the caller names.

    Raises:
        ConfigurationError: When there is nothing, or nothing that could be meant.
    """
    given: str | None = options.db
    where = given or os.environ.get(VARIABLE)
    if not where:
        raise ConfigurationError(f"no database: write --db PATH, or set {VARIABLE}; for PostgreSQL postgresql://...")
    if given and has_password(given):
        console.error(
            "warning: the list of processes shows the password in --db to everybody on this machine; "
            f"set {VARIABLE} instead, or leave the password to ~/.pgpass"
        )
    if "://" in where and not where.startswith(_SERVER):
        raise ConfigurationError("no store for such an address; use a path, such as runs.db, or postgresql://...")
    return where


def _opened(where: str, *, read_only: bool) -> TaskStore:
    server = where.startswith(_SERVER)
    module: Any = import_module(_POSTGRES if server else _SQLITE)
    kind = module.PostgresTaskStore if server else module.SqliteTaskStore
    store: TaskStore = kind(where, read_only=read_only)
    return store


def _require(where: str) -> None:
    """Refuse a file that is not there: what only looks or steers makes none.

    Raises:
        StoreError: When there is none.
    """
    if not where.startswith(_SERVER) and not Path(where).expanduser().exists():
        raise StoreError(f"no such database: {where}; chongming-task run makes it, or a controller")


@contextmanager
def reading(options: Namespace, console: Console) -> Iterator[TaskStore]:
    """The store, to look at: while others write to it, and without any right to write."""
    where = _where(options, console)
    _require(where)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)  # who only looks can damage nothing
        store = _opened(where, read_only=True)
    with closing(store):
        yield store


@contextmanager
def writing(options: Namespace, console: Console) -> Iterator[TaskStore]:
    """The store as it is, to change records in it. One of an older version is not brought up to date on the way."""
    with reading(options, console):
        pass
    with making(options, console, warn=False) as store:
        yield store


@contextmanager
def making(options: Namespace, console: Console, *, warn: bool = True) -> Iterator[TaskStore]:
    """The store, made where it is not there.

    Args:
        options: Of the command line.
        console: Takes warnings.
        warn: Whether the caller has not heard of the password in its ``--db`` yet.
    """
    where = _where(options, console) if warn else options.db or os.environ[VARIABLE]
    with warnings.catch_warnings(record=True) as heard:
        store = _opened(where, read_only=False)
    for each in heard:
        console.error(f"warning: {each.message}")
    with closing(store):
        yield store
