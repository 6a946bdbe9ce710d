"""What a record costs on a Dask cluster, beside the bare client in the same run: read the ratios, not the seconds.

make bench ARGS="-k dask -s"      prints them

CHONGMING_DASK_GIGABYTES says how many gigabytes of arrays go from node to node; 5 is what is promised, and takes about
6 GB of memory for a moment.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psutil
import pytest

from chongming_task import ConcurrencyPolicy, Controller, DaskExecutor, Pipeline
from chongming_task.core.effects import StopReason
from chongming_task.core.ports import AttemptRequest
from chongming_task.testing.launched_attempt import LaunchedAttempt
from tests.support import dask_tasks as tasks
from tests.support.dask_cluster import cluster

TASKS = 10_000
ROUNDS = 3
STOPS = 100
GIGABYTES = float(os.environ.get("CHONGMING_DASK_GIGABYTES", "1"))
ARRAY_MEGABYTES = 64

pytestmark = [pytest.mark.dask, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """Two workers, two threads each."""
    with cluster(threads=2) as made:
        yield made


def no_op() -> None:
    """Return."""


def through_a_client(client: Any) -> float:
    """All through the bare client, one by one."""
    began = time.perf_counter()
    futures = [client.submit(no_op, pure=False) for _ in range(TASKS)]
    client.gather(futures)
    return time.perf_counter() - began


def through_a_controller(controller: Controller) -> float:
    """All through a controller."""
    began = time.perf_counter()
    for handle in [controller.submit(no_op) for _ in range(TASKS)]:
        handle.result()
    return time.perf_counter() - began


def tell(what: str, values: list[float], unit: str) -> None:
    """Print a row."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"\n{what}: {middle:.2f} {unit} (min {low:.2f}, max {high:.2f}, {len(values)} times)")


def bench_dask_no_op_ratio(benchmark, workers):
    """10 000 no-op tasks, beside `client.submit` and `gather` of the same. Aim: at most 1.5 times as long."""
    from distributed import Client

    limits = ConcurrencyPolicy(max_parallel=None)
    with Client(workers, set_as_default=False) as client:
        pairs = []
        for _ in range(ROUNDS):  # a controller of its own each: the other one's futures are not to slow Dask down
            with Controller(executor=DaskExecutor(workers), concurrency=limits) as controller:
                pairs.append((through_a_controller(controller), through_a_client(client)))
    tell("no-op task on Dask", [1e3 * ours / TASKS for ours, _ in pairs], "ms")
    tell("client.submit", [1e3 * bare / TASKS for _, bare in pairs], "ms")
    ratios = [ours / bare for ours, bare in pairs]
    tell("no-op task on Dask / client.submit", ratios, "×")
    assert statistics.median(ratios) <= 1.5
    with Controller(executor=DaskExecutor(workers), concurrency=limits) as controller:
        benchmark.pedantic(through_a_controller, (controller,), rounds=1)


def stop_seconds(executor: DaskExecutor, number: int) -> float:
    """From the call to TaskCancelled in the worker; all processes of a machine share the clock."""
    attempt = LaunchedAttempt(patience=60)
    request = AttemptRequest(f"task-{number}", "stop", 1, tasks.tell_when_stopped, takes_context=True)
    attempt.execution = executor.launch(request, attempt.deliver)
    attempt.checkpoint_seen(lambda last: last is not None)
    began = time.monotonic()
    attempt.execution.stop(StopReason.STOP)
    attempt.end()
    (moment,) = attempt.emitted
    return float(moment) - began


def bench_dask_stop(benchmark, workers):
    """A stop crosses the cluster. Aim: 95 of 100 within 50 ms, on a task that passes a checkpoint every millisecond."""
    with closing(DaskExecutor(workers)) as executor:
        stop_seconds(executor, 0)
        delays = sorted(stop_seconds(executor, number) for number in range(STOPS))
        tell("stop to TaskCancelled", [1e3 * each for each in delays], "ms")
        late = delays[int(0.95 * STOPS) - 1]
        print(f"95 of 100 within {1e3 * late:.1f} ms")
        assert late <= 0.05
        benchmark.pedantic(stop_seconds, (executor, 0), rounds=10)


def arrays(controller: Controller, count: int) -> float:
    """Arrays from node to node, a few at a time; by how many megabytes this process has grown meanwhile, at most."""
    pipeline = Pipeline("arrays")
    before: list[Any] = []
    for number in range(count):
        made = pipeline.add(tasks.array, ARRAY_MEGABYTES, name=f"make{number}", deps=before[-1:])
        before.append(pipeline.add(tasks.total, made, name=f"sum{number}"))
    me = psutil.Process()
    at_first = highest = me.memory_info().rss
    run = pipeline.submit(controller)
    while not run.status.is_terminal:
        highest = max(highest, me.memory_info().rss)
        time.sleep(0.01)
    assert run.status == "succeeded"
    return (highest - at_first) / (1 << 20)


def bench_dask_arrays(benchmark, workers):
    """Gigabytes of arrays between nodes leave the memory of this process as it is."""
    count = int(GIGABYTES * 1024 / ARRAY_MEGABYTES)
    with Controller(executor=DaskExecutor(workers)) as controller:
        arrays(controller, 1)
        grown = arrays(controller, count)
        size = count * ARRAY_MEGABYTES / 1024
        print(f"\n{count} arrays, {size:.1f} GB between nodes: {grown:.1f} MB more in this process")
        assert grown < ARRAY_MEGABYTES
        benchmark.pedantic(arrays, (controller, 1), rounds=1)
