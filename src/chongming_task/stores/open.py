"""From what a caller names to a store: a path, a DSN or a store that was made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from chongming_task.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from chongming_task.core.ports import TaskStore

__all__ = ["open_existing", "open_store"]


def open_store(where: str | os.PathLike[str] | TaskStore | None, *, read_only: bool = False) -> TaskStore:
    """The store that ``where`` names. Each kind is loaded when it is first asked for.

    Args:
        where: A path, for SQLite; ``"postgresql://..."`` or ``"postgres://..."``; a store, which is given back as it
            is; None for this process's memory.
        read_only: Only look, where it is a path or a DSN.

    Raises:
        ConfigurationError: For anything else.
        StoreError: When it cannot be opened.

    Example:
        >>> open_store(None).durable
        False
    """
    if where is None:
        from chongming_task.stores.memory import MemoryTaskStore

        return MemoryTaskStore()
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        from chongming_task.stores.postgres import PostgresTaskStore

        return PostgresTaskStore(where, read_only=read_only)
    if isinstance(where, str | os.PathLike):
        if "://" in str(where):
            scheme = str(where).partition("://")[0]
            raise ConfigurationError(f"no store for {scheme}://; use a path, such as 'runs.db', or postgresql://...")
        from chongming_task.stores.sqlite import SqliteTaskStore

        return SqliteTaskStore(where, read_only=read_only)
    return _made(where)


def open_existing(where: str | os.PathLike[str] | TaskStore, *, read_only: bool = False) -> TaskStore:
    """The store that is there already: none is made, and one of another version stays as it is.

    Args:
        where: A path, a DSN, or a store, which is given back as it is.
        read_only: Only look.

    Raises:
        ConfigurationError: For anything else.
        StoreError: When there is none, it cannot be reached, or it is of another version.
    """
    if where is None:
        raise ConfigurationError("there is no store to open: name a path, such as 'runs.db', or postgresql://...")
    if not isinstance(where, str | os.PathLike):
        return open_store(where)
    if "://" not in str(where):
        _require(str(where))
    store = open_store(where, read_only=True)
    if read_only:
        return store
    store.close()  # its version is ours: to open it for writing changes nothing
    return open_store(where)


def _require(path: str) -> None:
    if os.path.exists(os.path.expanduser(path)):  # noqa: PTH110, PTH111 - pathlib costs 6 ms
        return
    if "password" in path:  # key=value pairs for a server: they are not repeated
        raise ConfigurationError("this is no path (not shown here, it may hold a password); write postgresql://...")
    raise StoreError(f"no such store: {path}; a controller makes it, as in Controller(store={path!r})")


def _made(store: Any) -> TaskStore:
    if isinstance(store, type) or not callable(getattr(store, "commit", None)):
        raise ConfigurationError(
            "store must be None, or one that was made, as in store=Made(), or a path, such as 'runs.db', or"
            f" 'postgresql://...', got {store!r}"
        )
    made: TaskStore = store
    return made
