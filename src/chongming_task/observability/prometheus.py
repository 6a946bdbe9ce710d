"""Metrics for Prometheus. Needs the extra ``prometheus``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from chongming_task.core.telemetry import NO_TAGS, Tags
from chongming_task.errors import ConfigurationError
from chongming_task.observability.metrics import METRICS, Metric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["BUCKETS", "PrometheusSink"]

BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 28_800)
"""Seconds: from what a commit takes to what a night's work takes."""

_lock = threading.Lock()
_collectors: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by registry: it takes a name only once


class PrometheusSink:
    """A :class:`~chongming_task.core.telemetry.MetricsSink` that keeps its numbers where Prometheus scrapes them.

    Several sinks, and controllers, may share a registry: counters and histograms add up; gauges carry the controller's
    name, so give controllers of one process different ones.

    Args:
        registry: Where metrics are registered; default: the library's own, which its servers expose.
        buckets: Upper bounds of the histograms, in seconds; the first sink on a registry decides.

    Raises:
        ConfigurationError: When ``prometheus-client`` is not installed, or the registry has other metrics of our names.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.observability.prometheus import PrometheusSink
        >>> from prometheus_client import CollectorRegistry
        >>> registry = CollectorRegistry()
        >>> with Controller(metrics=PrometheusSink(registry)) as controller:
        ...     controller.submit(pow, 2, 3).result()
        8
        >>> registry.get_sample_value("chongming_tasks_ended_total", {"task": "pow", "status": "succeeded"})
        1.0
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, buckets: Sequence[float] = BUCKETS) -> None:
        try:
            import prometheus_client
        except ModuleNotFoundError as missing:
            raise ConfigurationError(
                "PrometheusSink needs prometheus-client, which is not installed. "
                'Run: pip install "chongming-task[prometheus]"'
            ) from missing
        self._library = prometheus_client
        self.registry = prometheus_client.REGISTRY if registry is None else registry
        self._buckets = tuple(buckets)
        with _lock:
            self._collectors = _collectors.setdefault(self.registry, {})

    def incr(self, name: str, value: float = 1, tags: Tags = NO_TAGS) -> None:
        """See :class:`~chongming_task.core.telemetry.MetricsSink`."""
        self._child("Counter", name, tags).inc(value)

    def observe(self, name: str, value: float, tags: Tags = NO_TAGS) -> None:
        """See :class:`~chongming_task.core.telemetry.MetricsSink`."""
        self._child("Histogram", name, tags).observe(value)

    def gauge(self, name: str, value: float, tags: Tags = NO_TAGS) -> None:
        """See :class:`~chongming_task.core.telemetry.MetricsSink`."""
        self._child("Gauge", name, tags).set(value)

    def _child(self, kind: str, name: str, tags: Tags) -> Any:
        """The time series of a name and its tags."""
        collector = self._collectors.get(name)
        if collector is None:
            collector = self._collector(kind, name, tags)
        return collector.labels(**tags) if tags else collector

    def _collector(self, kind: str, name: str, tags: Tags) -> Any:
        metric = METRICS.get(name, Metric(name, tuple(tags)))
        options = {"buckets": self._buckets} if kind == "Histogram" else {}
        with _lock:
            if name not in self._collectors:
                try:
                    made = getattr(self._library, kind)(
                        name, metric.help, metric.tags, registry=self.registry, **options
                    )
                except ValueError as taken:
                    raise ConfigurationError(
                        f"the registry has a metric like {name!r} that is not ours: {taken}; "
                        "give PrometheusSink one of its own: PrometheusSink(CollectorRegistry())"
                    ) from taken
                self._collectors[name] = made
            return self._collectors[name]
