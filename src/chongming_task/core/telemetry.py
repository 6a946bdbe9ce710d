"""What the library measures and traces through: two contracts, for which adapters exist and which anybody can fill.

Nothing calls them unless a controller is given one: ``Controller(metrics=..., tracer=...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Protocol

from chongming_task.core.failures import Failure

__all__ = ["NO_TAGS", "MetricsSink", "Span", "Tags", "Tracer"]

Tags = Mapping[str, str]
NO_TAGS: Tags = MappingProxyType({})


class MetricsSink(Protocol):
    """Takes numbers. Called by one thread a controller, which no task and no caller waits for.

    Names carry their unit, as ``chongming_queue_wait_seconds`` does. A name always comes with the same tags, and those
    have few different values.

    Example:
        >>> class Printed:
        ...     def incr(self, name, value=1, tags=NO_TAGS):
        ...         print(name, value, dict(tags))
        ...     def observe(self, name, value, tags=NO_TAGS):
        ...         pass
        ...     def gauge(self, name, value, tags=NO_TAGS):
        ...         pass
        >>> Printed().incr("chongming_retries_total", tags={"task": "load"})
        chongming_retries_total 1 {'task': 'load'}
    """

    def incr(self, name: str, value: float = 1, tags: Tags = NO_TAGS) -> None:
        """Add to what only ever grows.

        Args:
            name: Such as ``chongming_retries_total``.
            value: How much, more than 0.
            tags: What it is about, such as the task.
        """
        ...

    def observe(self, name: str, value: float, tags: Tags = NO_TAGS) -> None:
        """Take one value of a distribution, such as a duration in seconds.

        Args:
            name: Such as ``chongming_retries_total``.
            value: The value; durations in seconds.
            tags: What it is about, such as the task.
        """
        ...

    def gauge(self, name: str, value: float, tags: Tags = NO_TAGS) -> None:
        """Set what goes up and down.

        Args:
            name: Such as ``chongming_retries_total``.
            value: What it is now.
            tags: What it is about, such as the task.
        """
        ...


class Span(Protocol):
    """A stretch of work that was started. Its methods may be called from any thread."""

    @property
    def context(self) -> Any:
        """What other spans refer to it by, as their parent or in a link; light, for it is kept with the record."""
        ...

    def use(self) -> AbstractContextManager[Any]:
        """Makes it current in this thread, or coroutine, for the length of a block."""
        ...

    def handover(self) -> Callable[[], AbstractContextManager[Any]] | None:
        """What makes it current in another process, as ``use`` does here; can be pickled. None: it cannot go there."""
        ...

    def end(self, attributes: Mapping[str, Any], failure: Failure | None = None) -> None:
        """End it. Called once.

        Args:
            attributes: What became known since it was started.
            failure: Why the work was no success; None also when it was stopped because somebody asked for that.
        """
        ...


class Tracer(Protocol):
    """Starts spans. Called where the work is submitted and where it is done; must be quick.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.observability.opentelemetry import OpenTelemetryTracer
        >>> with Controller(tracer=OpenTelemetryTracer()) as controller:
        ...     controller.submit(pow, 2, 10).result(timeout=10)
        1024
    """

    def current(self) -> Any:
        """What is current in this thread, to be a parent later; None when nothing is."""
        ...

    def start(self, name: str, *, parent: Any, links: Sequence[Any], attributes: Mapping[str, Any]) -> Span:
        """Start a span, and leave what is current as it is.

        Args:
            name: The same for everything of its kind.
            parent: What ``current`` or ``Span.context`` gave; None: it has none, whatever is current here.
            links: ``Span.context`` of what it follows from.
            attributes: What is known so far: text, numbers, booleans.
        """
        ...
