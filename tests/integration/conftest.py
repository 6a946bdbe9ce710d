"""Controllers on real threads, and stores that several of them meet on: closed and audited when their test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from chongming_task import Controller, MemoryTaskStore, PostgresTaskStore
from chongming_task.testing import check_audit


@pytest.fixture
def make_controller() -> Iterator[Callable[..., Controller]]:
    """Makes controllers with options of the test's choice."""
    made: list[Controller] = []

    def make(*args: Any, **options: Any) -> Controller:
        options.setdefault("echo", options.get("executor") == "inline")  # as in a notebook: what tasks print is theirs
        made.append(Controller(*args, **options))
        return made[-1]

    yield make
    for controller in made:
        controller.close(timeout=5)
        check_audit(controller._link.store, settled=True)
        assert not controller._link.engine.ready.holding


@pytest.fixture
def controller(make_controller: Callable[..., Controller]) -> Controller:
    """One with the defaults, and quiet."""
    return make_controller()


@pytest.fixture
def shared() -> Iterator[MemoryTaskStore]:
    """A store that several controllers meet on."""
    with closing(MemoryTaskStore()) as store:
        yield store
        check_audit(store, settled=True)


@pytest.fixture
def controller_on(shared: MemoryTaskStore) -> Iterator[Callable[..., Controller]]:
    """Makes controllers on it."""
    made: list[Controller] = []

    def make(**options: Any) -> Controller:
        made.append(Controller(shared, **options))
        return made[-1]

    yield make
    for each in made:
        each.close(timeout=5, close_store=False)


@pytest.fixture
def store(postgres_dsn: str) -> Iterator[PostgresTaskStore]:
    """A store on a PostgreSQL server. Mark the test `postgres`."""
    store = PostgresTaskStore(postgres_dsn)
    yield store
    store.close()
