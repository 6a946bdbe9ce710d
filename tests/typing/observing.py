"""The adapters keep the contracts, and so does a sink of somebody's own."""

from __future__ import annotations

from collections.abc import Mapping

from chongming_task import Controller, MetricsSink, Tracer
from chongming_task.observability.opentelemetry import OpenTelemetryTracer
from chongming_task.observability.prometheus import PrometheusSink


class Totals:
    """What docs/observability.md shows."""

    def incr(self, name: str, value: float = 1, tags: Mapping[str, str] = {}) -> None:
        """Count."""

    def observe(self, name: str, value: float, tags: Mapping[str, str] = {}) -> None:
        """Durations."""

    def gauge(self, name: str, value: float, tags: Mapping[str, str] = {}) -> None:
        """What goes up and down."""


sink: MetricsSink = PrometheusSink()
own: MetricsSink = Totals()
tracer: Tracer = OpenTelemetryTracer()
controller = Controller(metrics=sink, tracer=tracer)
