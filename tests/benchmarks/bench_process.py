"""What a process costs, beside the bare thing in the same run: read the ratios, not the milliseconds.

make bench ARGS="-k process -s"      prints the ratios
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from queue import SimpleQueue

from chongming_task import Controller, ProcessExecutor
from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.triggers import Ended

TASKS = 1_000
WORKERS = 2
ROUNDS = 15
SPAWN = multiprocessing.get_context("spawn")


def stamp() -> float:
    """When user code runs. The clock is the same in every process of a machine: `bench_process_clock` holds that."""
    return time.monotonic()


def send_stamp(line) -> None:
    """The same, for a bare process."""
    line.send(time.monotonic())


def no_op() -> None:
    """Return."""


def seconds_to_user_code(executor: ProcessExecutor) -> float:
    """From the launch to the first line of the task."""
    reports: SimpleQueue[object] = SimpleQueue()
    deliver: Deliver = reports.put
    began = time.monotonic()
    executor.launch(AttemptRequest("task", "stamp", 1, stamp), deliver)
    while not isinstance(report := reports.get(timeout=60), Ended):
        pass
    assert report.failure is None, report.failure
    return float(report.outcome) - began


def cold_seconds() -> float:
    """The same, of an executor that has no process yet."""
    with closing(ProcessExecutor(spares=0, max_attempts_per_worker=1)) as executor:
        return seconds_to_user_code(executor)


def bare_seconds() -> float:
    """The same, of a process that multiprocessing spawns."""
    ours, theirs = SPAWN.Pipe()
    began = time.monotonic()
    process = SPAWN.Process(target=send_stamp, args=(theirs,))
    process.start()
    found = ours.recv() - began
    process.join()
    process.close()
    ours.close()
    theirs.close()
    return float(found)


def tell(what: str, values: list[float], unit: str) -> None:
    """Print a row."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"\n{what}: {middle:.2f} {unit} (min {low:.2f}, max {high:.2f}, {len(values)} times)")


def bench_process_warm_launch(benchmark):
    """From the launch to user code, on a warm worker. Aim: 15 ms."""
    with closing(ProcessExecutor()) as executor:
        seconds_to_user_code(executor)
        tell("warm launch to user code", [1e3 * seconds_to_user_code(executor) for _ in range(200)], "ms")
        benchmark.pedantic(seconds_to_user_code, (executor,), rounds=200)


def bench_process_cold_start_ratio(benchmark):
    """From nothing to user code, beside a bare spawned process. Aim: 1.3 times as long."""
    cold_seconds(), bare_seconds()
    pairs = [(cold_seconds(), bare_seconds()) for _ in range(ROUNDS)]
    tell("cold start", [1e3 * ours for ours, _ in pairs], "ms")
    tell("bare multiprocessing spawn", [1e3 * bare for _, bare in pairs], "ms")
    tell("cold start / bare spawn", [ours / bare for ours, bare in pairs], "×")
    benchmark.pedantic(cold_seconds, rounds=5)


def through_a_pool(pool: ProcessPoolExecutor) -> float:
    """All through the standard library's pool."""
    began = time.perf_counter()
    for future in [pool.submit(no_op) for _ in range(TASKS)]:
        future.result()
    return time.perf_counter() - began


def through_a_controller(controller: Controller) -> float:
    """All through a controller."""
    began = time.perf_counter()
    for handle in [controller.submit(no_op) for _ in range(TASKS)]:
        handle.result()
    return time.perf_counter() - began


def bench_process_no_op_ratio(benchmark):
    """A no-op task on warm workers, beside submit + result of a warm process pool."""
    with (
        ProcessPoolExecutor(WORKERS, SPAWN) as pool,
        Controller(executor="process", max_parallel=WORKERS) as controller,
    ):
        through_a_controller(controller), through_a_pool(pool)
        pairs = [(through_a_controller(controller), through_a_pool(pool)) for _ in range(7)]
        tell("no-op task", [1e3 * ours / TASKS for ours, _ in pairs], "ms")
        tell("ProcessPoolExecutor", [1e3 * bare / TASKS for _, bare in pairs], "ms")
        tell("no-op task / ProcessPoolExecutor", [ours / bare for ours, bare in pairs], "×")
        benchmark.pedantic(through_a_controller, (controller,), rounds=3)


def bench_process_clock(benchmark):
    """`time.monotonic()` of another process lies between two readings here: it may be compared."""
    with closing(ProcessExecutor()) as executor:

        def between() -> None:
            before = time.monotonic()
            found = before + seconds_to_user_code(executor)
            assert before <= found <= time.monotonic()

        between()
        benchmark.pedantic(between, rounds=50)
