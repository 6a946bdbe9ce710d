"""The Dask executor keeps the contract that ships, on workers in processes of their own."""

from __future__ import annotations

import pytest

from chongming_task import DaskExecutor
from chongming_task.testing import ExecutorContract
from tests.support.dask_cluster import cluster

pytestmark = pytest.mark.dask


@pytest.fixture(scope="module")
def workers():
    """One cluster for all tests, with a thread for each attempt of those that must run at once."""
    with cluster() as made:
        yield made


class TestDaskExecutor(ExecutorContract):
    """Every test connects anew."""

    @pytest.fixture(autouse=True)
    def on_the_cluster(self, workers):
        """For make_executor, which takes no fixtures."""
        self.workers = workers

    def make_executor(self):
        return DaskExecutor(self.workers)
