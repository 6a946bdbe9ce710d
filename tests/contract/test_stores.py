"""Every store that ships keeps the contract that ships."""

from __future__ import annotations

import pytest

from chongming_task import MemoryTaskStore
from chongming_task.stores.postgres import PostgresTaskStore
from chongming_task.stores.sqlite import SqliteTaskStore
from chongming_task.testing import StoreContract


class TestMemoryTaskStore(StoreContract):
    """The reference."""

    def make_store(self):
        return MemoryTaskStore()


class TestSqliteTaskStore(StoreContract):
    """A real file."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path / "runs.db"

    def make_store(self):
        return SqliteTaskStore(self.path)

    def open_again(self, store):
        return SqliteTaskStore(self.path)


@pytest.mark.postgres
class TestPostgresTaskStore(StoreContract):
    """A real server."""

    @pytest.fixture(autouse=True)
    def server(self, postgres_dsn):
        self.dsn = postgres_dsn

    def make_store(self):
        return PostgresTaskStore(self.dsn)

    def open_again(self, store):
        return PostgresTaskStore(self.dsn)
