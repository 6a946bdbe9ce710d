"""Traces for OpenTelemetry, through its API alone. Needs the extra ``opentelemetry``.

Which SDK makes and exports the spans is the application's choice, as everywhere with OpenTelemetry; without one nothing
is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from chongming_task.core.failures import Failure
from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import TracerProvider

__all__ = ["OpenTelemetryTracer"]


class OpenTelemetryTracer:
    """A :class:`~chongming_task.core.telemetry.Tracer` that starts OpenTelemetry spans.

    Args:
        tracer_provider: Where spans come from; default: the application's, as ``trace.set_tracer_provider`` has set it.

    Raises:
        ConfigurationError: When ``opentelemetry-api`` is not installed.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.observability.opentelemetry import OpenTelemetryTracer
        >>> with Controller(tracer=OpenTelemetryTracer()) as controller:
        ...     controller.submit(pow, 2, 3).result()
        8
    """

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import trace
        except ModuleNotFoundError as missing:
            raise ConfigurationError(
                "OpenTelemetryTracer needs opentelemetry-api, which is not installed. "
                'Run: pip install "chongming-task[opentelemetry]"'
            ) from missing
        self._tracer = trace.get_tracer("chongming_task", tracer_provider=tracer_provider)

    def current(self) -> Any:
        """See :class:`~chongming_task.core.telemetry.Tracer`."""
        from opentelemetry.context import get_current

        return get_current() or None

    def start(self, name: str, *, parent: Any, links: Sequence[Any], attributes: Mapping[str, Any]) -> _Span:
        """See :class:`~chongming_task.core.telemetry.Tracer`."""
        from opentelemetry.context import Context
        from opentelemetry.trace import Link, get_current_span

        around = Context() if parent is None else parent
        span = self._tracer.start_span(
            name,
            around,
            links=[Link(get_current_span(each).get_span_context()) for each in links],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        )
        return _Span(span, around)


class _Span:
    """One span.

    Args:
        span: OpenTelemetry's.
        around: The context it was started in; what that holds beside the parent, such as baggage, its children get too.
    """

    def __init__(self, span: OtelSpan, around: Context) -> None:
        from opentelemetry.trace import NonRecordingSpan, set_span_in_context

        self._span = span
        self._inside = set_span_in_context(span, around)
        self.context = set_span_in_context(NonRecordingSpan(span.get_span_context()), around)

    def use(self) -> AbstractContextManager[None]:
        """See :class:`~chongming_task.core.telemetry.Span`."""
        return _attached(self._inside)

    def handover(self) -> Callable[[], AbstractContextManager[None]]:
        """See :class:`~chongming_task.core.telemetry.Span`."""
        from opentelemetry.propagate import inject

        carrier: dict[str, str] = {}
        inject(carrier, self._inside)
        return partial(_extracted, carrier)

    def end(self, attributes: Mapping[str, Any], failure: Failure | None = None) -> None:
        """See :class:`~chongming_task.core.telemetry.Span`."""
        from opentelemetry.trace import StatusCode

        self._span.set_attributes(attributes)
        if failure is not None:
            kind = failure.exception_type or str(failure.kind)
            self._span.set_attribute("error.type", kind)
            if failure.exception_type is not None:
                self._span.add_event("exception", _exception(failure))
            self._span.set_status(StatusCode.ERROR, failure.message)
        self._span.end()


def _exception(failure: Failure) -> dict[str, str]:
    """An exception as the semantic conventions have it."""
    said = {"type": failure.exception_type, "message": failure.message, "stacktrace": failure.traceback}
    return {f"exception.{name}": value for name, value in said.items() if value is not None}


@contextmanager
def _attached(context: Context) -> Iterator[None]:
    from opentelemetry.context import attach, detach

    token = attach(context)
    try:
        yield
    finally:
        detach(token)


def _extracted(carrier: Mapping[str, str]) -> AbstractContextManager[None]:
    """In another process: what was handed over, made current."""
    from opentelemetry.propagate import extract

    return _attached(extract(carrier))
