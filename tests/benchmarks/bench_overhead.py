"""What supervision costs, beside the bare thing in the same run: read the ratios, not the microseconds.

make bench ARGS="-k ratio -s"      prints the ratios
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial

from chongming_task import Controller
from chongming_task.core.policies import RetryPolicy
from chongming_task.core.ports import AttemptRequest
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.ready_queue import ReadyQueue
from chongming_task.runtime.token import CancellationToken
from tests.support.bare import SLOTS, no_op, seconds, through_a_pool

TASKS = 5_000
ROUNDS = 7
POOL = partial(through_a_pool, TASKS)


class Plain:
    """What a checkpoint is measured against: a method that does nothing."""

    def nothing(self) -> None:
        """Return."""


def through_a_controller() -> None:
    """The pool's work through a controller on the memory store."""
    with Controller(max_parallel=SLOTS) as controller:
        for handle in [controller.submit(no_op) for _ in range(TASKS)]:
            handle.result()


def side_by_side(ours: Callable[[], object], bare: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The ratio of two calls, taken in turn, so that a machine that slows down slows both."""
    ours(), bare()
    return [seconds(ours) / seconds(bare) for _ in range(rounds)]


def tell(what: str, ratios: list[float]) -> None:
    """Print a row of ratios."""
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"\n{what}: {middle:.2f} × (min {low:.2f}, max {high:.2f}, {len(ratios)} pairs)")


def context() -> TaskContext:
    """A context as a running task has it."""
    request = AttemptRequest("task", "bench", 1, no_op, retry=RetryPolicy())
    return TaskContext(request, CancellationToken(1, lambda report: None), lambda report: None)


def many(call: Callable[[], object], times: int = 20_000) -> Callable[[], None]:
    """A loop around a call."""

    def loop() -> None:
        for _ in range(times):
            call()

    return loop


def bench_no_op_ratio(benchmark):
    """One no-op task beside submit + result of a thread pool."""
    tell("no-op task / ThreadPoolExecutor", side_by_side(through_a_controller, POOL))
    benchmark.pedantic(through_a_controller, rounds=3, warmup_rounds=1)


def bench_thread_pool(benchmark):
    """The pool itself, for the table."""
    benchmark.pedantic(POOL, rounds=3, warmup_rounds=1)


def bench_checkpoint_ratio(benchmark):
    """A checkpoint with nothing asked, beside an empty method call."""
    checkpoint, nothing = context().checkpoint, Plain().nothing
    tell("checkpoint / empty method call", side_by_side(many(checkpoint), many(nothing), 15))
    benchmark(checkpoint)


def bench_progress_ratio(benchmark):
    """A progress report that is no news, beside an empty method call."""
    ctx, nothing = context(), Plain().nothing
    ctx.progress(0, 1_000_000)
    tell("progress / empty method call", side_by_side(many(lambda: ctx.progress(1)), many(nothing), 15))
    benchmark(ctx.progress, 1)


def behind_full_limits(queued: int) -> Callable[[], None]:
    """A queue in which nearly everything waits for full limits, and what one pick and its release cost there."""
    ready = ReadyQueue(max_parallel=64)
    for tag in range(16):
        ready.set_limit(("tag", tag), 1)
    for number in range(queued):
        ready.add(f"waiting-{number}", [("tag", number % 16)], priority=0, age=number)
    for _ in range(16):
        ready.pick()
    numbers = iter(range(queued, 1 << 60))

    def pick_one() -> None:
        name = f"free-{next(numbers)}"
        ready.add(name, (), priority=0, age=0)
        picked = ready.pick()
        assert picked == name
        ready.release(name)

    return pick_one


def bench_pick_ratio(benchmark):
    """Picking work with 100 000 queued behind full limits, beside 1 000."""
    crowded, calm = behind_full_limits(100_000), behind_full_limits(1_000)
    tell("pick with 100 000 queued / 1 000", side_by_side(many(crowded, 5_000), many(calm, 5_000), 15))
    benchmark(crowded)
