"""What the SQL stores need of a database: sessions that run named queries. The dialects differ below this line only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from chongming_task.stores.sql_query import Statement

__all__ = ["Database", "Session"]

T = TypeVar("T")


class Session(Protocol):
    """Runs queries of the dialect's ``.sql`` file by name. Several names are one statement, joined in order.

    A list among the parameters arrives as what the dialect can look in.
    """

    def all(self, *names: str, **params: Any) -> list[Sequence[Any]]:
        """The rows of a query."""
        ...

    def run(self, *names: str, **params: Any) -> int:
        """Run a statement; how many rows it touched."""
        ...

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement once for each row of parameters, in order."""
        ...

    def put(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows by a statement that the dialect may run once for all of them."""
        ...

    def serialize(self) -> None:
        """Within a write: wait until no other commit is under way, so that the feed's numbers follow the commits."""
        ...


class Database(Protocol):
    """Connections to where the tables are. What goes wrong is raised as StoreError, and leaves nothing behind."""

    def read(self) -> AbstractContextManager[Session]:
        """A session for one query, concurrent with others."""
        ...

    def read_all(self, work: Callable[[Session], T]) -> T:
        """Do ``work``, which reads several times, on everything as it stood at one moment.

        Args:
            work: May be called again when the connection was lost. It only reads, and quickly: until it is done the
                database keeps what others have replaced meanwhile.
        """
        ...

    def read_arrow(self, statements: Sequence[Statement]) -> list[Any] | None:
        """What ``read_all`` reads, as Arrow tables; None when drivers are missing or cannot be used here and now."""
        ...

    def write(self, work: Callable[[Session], T], *, tell: Callable[[T], str | None] = lambda made: "") -> T:
        """Do ``work`` in one transaction, and tell waiters.

        Args:
            work: May be called again when the connection was lost before the commit.
            tell: The ids that waiters may want to know, from what ``work`` returned; None: nothing changed.
        """
        ...

    def wait(self, timeout: float, seen: int | None) -> int:
        """See ``ChangeFeed.wait_for_change``."""
        ...

    def close(self) -> None:
        """Let go of all connections. Idempotent."""
        ...
