"""The notebook that a test file is about runs once. The file names it: NOTEBOOK, PROBE, and SECONDS for a slow cell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.notebooks import Ran


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The file's notebook after a run in a folder of its own."""
    about = request.module
    folder = tmp_path_factory.mktemp(about.NOTEBOOK.stem)
    return Ran(about.NOTEBOOK, folder, about.PROBE, seconds=getattr(about, "SECONDS", 90))


@pytest.fixture(scope="module")
def left(ran: Ran) -> dict[str, Any]:
    """What the cells left in the kernel."""
    return ran.left
