"""What it costs to be watched, beside a controller that nobody watches in the same run: read the ratios.

make bench ARGS="-k observ -s"      prints the ratios
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from chongming_task import Controller, task
from chongming_task.api import controller as controller_module
from chongming_task.observability.opentelemetry import OpenTelemetryTracer
from chongming_task.observability.prometheus import PrometheusSink

TASKS = 1_000
SLOTS = 8
ROUNDS = 31


@task
def no_op() -> None:
    """Return."""


class Memory:
    """The least that a sink can do."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()

    def incr(self, name: str, value: float = 1, tags: Any = ()) -> None:
        """Add."""
        self.sums[name] += value  # type: ignore[assignment]

    observe = incr

    def gauge(self, name: str, value: float, tags: Any = ()) -> None:
        """Set."""
        self.sums[name] = value  # type: ignore[assignment]


class Unaware:
    """In the place of what hangs metrics and traces on a controller: a controller that knows of neither."""

    def __init__(self, metrics: object, tracer: object) -> None:
        pass

    def store(self, store: Any) -> Any:
        """As it is."""
        return store

    def origin(self, executor: object) -> None:
        """Nothing."""

    def begin(self, engine: object, **options: object) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


def tasks(**options: Any) -> float:
    """Processor seconds, of all threads, for all tasks through one controller, from its birth to its end."""
    gc.collect()
    began = time.process_time()
    with Controller(max_parallel=SLOTS, **options) as controller:
        for handle in [controller.submit(no_op) for _ in range(TASKS)]:
            handle.result()
    return time.process_time() - began


def unaware() -> float:
    """The same, through one that cannot be watched at all."""
    real, controller_module.Observers = controller_module.Observers, Unaware  # type: ignore[misc,assignment]
    try:
        return tasks()
    finally:
        controller_module.Observers = real  # type: ignore[misc]


def traced() -> float:
    """The same with a tracer whose spans are collected and thrown away in batches."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter(), max_queue_size=2 * TASKS))
    try:
        return tasks(tracer=OpenTelemetryTracer(provider))
    finally:
        provider.shutdown()


WAYS: dict[str, Callable[[], float]] = {
    "cannot be watched": unaware,
    "nobody watches": tasks,
    "sink in memory": lambda: tasks(metrics=Memory()),
    "prometheus": lambda: tasks(metrics=PrometheusSink(CollectorRegistry())),
    "opentelemetry": traced,
}


def bench_observability_ratios(benchmark):
    """All ways in turn, round by round, so that a machine that slows down slows all."""
    for way in WAYS.values():
        way()
    rounds = []
    for number in range(ROUNDS):  # forward and back: none is always first, or always after the same one
        order = list(WAYS.items())[:: -1 if number % 2 else 1]
        rounds.append({name: way() for name, way in order})
    for name in WAYS:
        ratios = [each[name] / each["cannot be watched"] for each in rounds]
        micros = statistics.median(each[name] for each in rounds) / TASKS * 1e6
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        best = min(each[name] for each in rounds) / min(each["cannot be watched"] for each in rounds)
        spread = f"median {middle:.2f} × (min {low:.2f}, max {high:.2f})"
        print(f"\n{name}: {spread}, best by best {best:.3f} ×, {micros:.0f} µs a task")
    benchmark.pedantic(tasks, rounds=3, warmup_rounds=1)
