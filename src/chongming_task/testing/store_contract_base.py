"""How the parts of the store contract get their stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chongming_task.core.ports import TaskStore

__all__ = ["StoreCase", "raised"]


class StoreCase:
    """Makes stores for tests."""

    patience = 20.0  # seconds, for other threads

    def make_store(self) -> TaskStore:
        """A new and empty store. Override it."""
        raise NotImplementedError("override make_store() in your subclass")

    def open_again(self, store: TaskStore) -> TaskStore | None:
        """Another store object on the same records, as another process has one; None when that cannot be."""
        return None

    @contextmanager
    def store(self) -> Iterator[TaskStore]:
        """A store for one test."""
        made = self.make_store()
        try:
            yield made
        finally:
            made.close()

    @contextmanager
    def two_stores(self) -> Iterator[tuple[TaskStore, TaskStore]]:
        """Two on the same records; twice the same where there can be one only."""
        with self.store() as first:
            second = self.open_again(first)
            if second is None:
                yield first, first
                return
            try:
                yield first, second
            finally:
                second.close()


def raised(kind: type[Exception], call: Callable[[], object]) -> Exception:
    """The exception that a call must raise."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")
