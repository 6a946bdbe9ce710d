"""Real threads: controllers that are closed and audited when their test has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chongming_task import Controller
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
