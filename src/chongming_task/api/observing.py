"""What a controller is observed by: hangs metrics and traces on its engine, when its caller gives any."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chongming_task.core.ports import Executor, TaskStore
from chongming_task.core.records import TaskSnapshot
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.engine import Engine

if TYPE_CHECKING:
    from chongming_task.core.telemetry import MetricsSink, Tracer
    from chongming_task.observability.metrics import MetricsRecorder
    from chongming_task.observability.tracing import Tracing

__all__ = ["Observers"]

_FINISH_SECONDS = 2.0  # a sink that blocks does not hold up the end of a controller for longer


class Observers:
    """The metrics and traces of one controller. Without a sink and a tracer every method does nothing.

    Args:
        metrics: Takes numbers.
        tracer: Makes spans.

    Raises:
        ConfigurationError: For something else.
    """

    def __init__(self, metrics: MetricsSink | None, tracer: Tracer | None) -> None:
        _check("metrics", metrics, ("incr", "observe", "gauge"), "PrometheusSink()")
        _check("tracer", tracer, ("current", "start"), "OpenTelemetryTracer()")
        self._sink = metrics
        self._tracer = tracer
        self._engine: Engine | None = None
        self._metrics: MetricsRecorder | None = None
        self._tracing: Tracing | None = None

    def store(self, store: TaskStore) -> TaskStore:
        """The store, timed when anybody wants to know."""
        if self._sink is None:
            return store
        from chongming_task.observability.timed_store import timed  # only who measures loads it

        return timed(store, self._took)

    def origin(self, executor: Executor) -> Callable[[str], Any] | None:
        """What notes the origin of a submission; None when nobody traces."""
        if self._tracer is None:
            return None
        from chongming_task.observability.tracing import Tracing  # as above

        self._tracing = Tracing(self._tracer, executor=executor.name, find=self._find)
        return self._tracing.origin

    def begin(self, engine: Engine, *, name: str | None, owner: str) -> None:
        """Observe an engine that has not begun to tick."""
        self._engine = engine
        if self._tracing is not None:
            from chongming_task.observability.traced_attempt import in_its_span  # as above

            engine.supervisor.surround = partial(in_its_span, self._tracing)
            self._tracing.begin(engine.bus.subscribe)
        if self._sink is not None:
            self._metrics = self._recorder(self._sink, engine, name, owner)
            self._metrics.begin(engine.bus.subscribe)
            engine.bus.tap(self._metrics.changed)

    def _recorder(self, sink: MetricsSink, engine: Engine, name: str | None, owner: str) -> MetricsRecorder:
        from chongming_task.observability.metrics import MetricsRecorder  # as above

        def given_up(task_id: str) -> int:
            live = engine.tasks.get(task_id)
            return 0 if live is None else len(live.given_up)

        return MetricsRecorder(
            sink,
            controller=name or "",
            owner=owner,
            find=self._find,
            given_up=given_up,
            dropped=lambda: engine.bus.dropped,
        )

    def finish(self) -> None:
        """Tell what is left, once nothing new comes."""
        for each in (self._metrics, self._tracing):
            if each is not None:
                each.finish(_FINISH_SECONDS)

    def _took(self, operation: str, seconds: float, failed: bool) -> None:
        if self._metrics is not None:
            self._metrics.took(operation, seconds, failed)

    def _find(self, task_id: str) -> TaskSnapshot | None:
        live = None if self._engine is None else self._engine.tasks.get(task_id)
        return None if live is None else live.snapshot


def _check(what: str, given: object, methods: tuple[str, ...], example: str) -> None:
    if given is None:
        return
    if isinstance(given, type) or not all(callable(getattr(given, method, None)) for method in methods):
        raise ConfigurationError(
            f"{what} must have the methods {', '.join(methods)}, as {what}={example} has, got {given!r:.100}"
        )
