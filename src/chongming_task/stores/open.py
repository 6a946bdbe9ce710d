"""From what a caller names to a store: a path, a DSN or a store that was made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from chongming_task.core.ports import TaskStore

__all__ = ["open_store"]


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


def _made(store: Any) -> TaskStore:
    if isinstance(store, type) or not callable(getattr(store, "commit", None)):
        raise ConfigurationError(
            "store must be None, or one that was made, as in store=Made(), or a path, such as 'runs.db', or"
            f" 'postgresql://...', got {store!r}"
        )
    made: TaskStore = store
    return made
