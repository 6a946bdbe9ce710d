"""A Dask cluster on this machine, with workers in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["cluster"]


@contextmanager
def cluster(workers: int = 2, threads: int = 8, **options: Any) -> Iterator[Any]:
    """A `LocalCluster`, beside others.

    Args:
        workers: How many processes.
        threads: In each of them.
        options: For the cluster.
    """
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address="127.0.0.1:0", **options
    ) as made:
        made.wait_for_workers(workers)
        yield made
