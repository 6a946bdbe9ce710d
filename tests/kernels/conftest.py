"""What is tested per kernel: see ``environments``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernels.environments import Kernel, chosen
from tests.kernels.front_end import FrontEnd, front_end


@pytest.fixture(scope="module", params=chosen(), ids=lambda kernel: kernel.name)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each of the chosen ones."""
    return request.param


@pytest.fixture(scope="module")
def front(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A front end without subshells, and a kernel that lives as long as the module's tests."""
    with front_end(kernel, tmp_path_factory.mktemp("kernel")) as front:
        yield front
