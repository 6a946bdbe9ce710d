"""A sink and a tracer that remember, and rigs that are watched by them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chongming_task.core.telemetry import NO_TAGS
from tests.support.rig import Rig


class MemorySink:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.counts: dict[Any, float] = {}
        self.gauges: dict[Any, float] = {}
        self.seen: dict[Any, list[float]] = {}
        self.threads: set[str] = set()

    def key(self, name, tags):
        self.threads.add(threading.current_thread().name)
        return name.removeprefix("chongming_"), *(tags[each] for each in sorted(tags))

    def incr(self, name, value=1, tags=NO_TAGS):
        key = self.key(name, tags)
        self.counts[key] = self.counts.get(key, 0) + value

    def observe(self, name, value, tags=NO_TAGS):
        self.seen.setdefault(self.key(name, tags), []).append(value)

    def gauge(self, name, value, tags=NO_TAGS):
        self.gauges[self.key(name, tags)] = value


class MemorySpan:
    """A span that remembers."""

    def __init__(self, tracer, name, parent, links, attributes):
        self.tracer, self.name, self.parent, self.links = tracer, name, parent, links
        self.attributes, self.failure, self.ends = dict(attributes), None, 0
        self.context = self

    @contextmanager
    def use(self):
        before, self.tracer.here.span = self.tracer.current(), self
        yield
        self.tracer.here.span = before

    def handover(self):
        return None

    def end(self, attributes, failure=None):
        self.attributes |= attributes
        self.failure, self.ends = failure, self.ends + 1


class MemoryTracer:
    """Remembers the spans it has started; what is current is a thread's own."""

    def __init__(self):
        self.spans, self.here = [], threading.local()

    def current(self):
        return getattr(self.here, "span", None)

    def start(self, name, *, parent, links, attributes):
        self.spans.append(MemorySpan(self, name, parent, links, attributes))
        return self.spans[-1]


def told(rig: Rig) -> None:
    """Wait until everything that has happened so far has been heard."""
    observers = rig.controller._observers
    for each in (observers._metrics, observers._tracing) * 2:  # what is heard the first time may have consequences
        if each is not None:
            done = threading.Event()
            each._listener.post(done.set)
            assert each._listener._finished or done.wait(10)


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
def tracer() -> MemoryTracer:
    return MemoryTracer()


@pytest.fixture
def rig(sink, tracer) -> Iterator[Rig]:
    """Measured and traced, audited at the end; settling waits for what is told."""

    class WatchedRig(Rig):
        def settle(self) -> None:
            super().settle()
            told(self)

        def advance(self, seconds: float) -> None:
            super().advance(seconds)
            told(self)

    made = WatchedRig(metrics=sink, tracer=tracer, name="nightly")
    yield made
    made.end()
