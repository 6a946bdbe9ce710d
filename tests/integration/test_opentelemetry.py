"""Spans of real runs, in a real exporter."""

from __future__ import annotations

import sys

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from chongming_task import ConfigurationError, Controller, Pipeline, RetryPolicy, current_context
from chongming_task.observability.opentelemetry import OpenTelemetryTracer
from tests.integration import traced_tasks


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    yield made
    made.shutdown()


@pytest.fixture
def tracer(provider):
    return OpenTelemetryTracer(provider)


@pytest.fixture
def spans(exporter):
    """What was exported, by name, in the order it ended."""

    def found(name):
        return [span for span in exporter.get_finished_spans() if span.name == name]

    return found


def test_a_pipeline_is_one_trace(tracer, provider, spans):
    """Caller, run, nodes and what nodes do, each the child of the one before."""
    own = provider.get_tracer("app")

    def load():
        with own.start_as_current_span("query"):
            return [1, 2]

    def total(rows):
        return sum(rows)

    pipeline = Pipeline("nightly")
    pipeline.add(total, pipeline.add(load, name="load"), name="total")
    with own.start_as_current_span("request"), Controller(tracer=tracer) as controller:
        run = pipeline.submit(controller)
        run.wait(30)
    (request,), (run_span,), (query,) = spans("request"), spans("nightly"), spans("query")
    (loaded,), (totalled,) = spans("load"), spans("total")
    assert run_span.parent.span_id == request.context.span_id
    assert {loaded.parent.span_id, totalled.parent.span_id} == {run_span.context.span_id}
    assert query.parent.span_id == loaded.context.span_id
    assert len({span.context.trace_id for span in (request, run_span, query, loaded, totalled)}) == 1
    assert loaded.attributes["chongming.task.name"] == "load"
    assert loaded.attributes["chongming.pipeline_run.id"] == run.id
    assert request.start_time <= run_span.start_time <= loaded.start_time <= query.start_time
    assert loaded.end_time <= totalled.start_time <= totalled.end_time <= run_span.end_time


def test_a_retried_task_tells_its_errors_and_is_linked(tracer, spans):
    """The first attempt is an error with its exception; the second links to it."""

    def unsteady():
        if current_context().attempt == 1:
            raise ValueError("not yet")

    with Controller(tracer=tracer) as controller:
        controller.submit(unsteady, retry=RetryPolicy(max_attempts=2, backoff="none")).result()
    first, second = spans("unsteady")
    assert first.status.status_code is StatusCode.ERROR
    assert first.status.description == "not yet"
    assert first.attributes["error.type"] == "builtins.ValueError"
    assert first.events[0].name == "exception"
    assert first.events[0].attributes["exception.type"] == "builtins.ValueError"
    assert "unsteady" in first.events[0].attributes["exception.stacktrace"]
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert second.status.status_code is StatusCode.UNSET
    assert (first.parent, second.parent) == (None, None)
    assert second.attributes["chongming.task.attempt"] == 2


@pytest.mark.parametrize("function", [traced_tasks.where, traced_tasks.where_async])
def test_the_trace_goes_on_in_another_process(tracer, provider, spans, function):
    """What the task starts there is a child of its attempt, whose span is recorded here."""
    own = provider.get_tracer("app")
    with own.start_as_current_span("request"), Controller(tracer=tracer, executor="process") as controller:
        trace_id, span_id = controller.submit(function).result(30)
    (span,) = spans(function.__name__)
    assert trace_id == f"{span.context.trace_id:032x}"
    assert span_id == f"{span.context.span_id:016x}"
    assert span.parent.span_id == spans("request")[0].context.span_id
    assert span.attributes["chongming.task.executor"] == "process"


def test_a_process_that_dies_is_an_error(tracer, spans):
    """Recorded from this side."""
    with Controller(tracer=tracer, executor="process") as controller:
        controller.submit(traced_tasks.leave, 3).wait(30)
    (span,) = spans("leave")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == span.attributes["chongming.task.failure_kind"] == "nonzero_exit"


def test_a_result_that_cannot_be_kept_is_an_error_of_the_attempt(tracer, spans):
    """Though the function returned."""
    with Controller(tracer=tracer) as controller:
        controller.submit(object).wait(10)
    (span,) = spans("object")
    assert span.attributes["chongming.task.failure_kind"] == "result_invalid"
    assert span.status.status_code is StatusCode.ERROR


def test_baggage_comes_along(tracer):
    """What the caller has put into the context is there in the task, and not after it."""
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    try:
        with Controller(tracer=tracer) as controller:
            handle = controller.submit(lambda: baggage.get_baggage("tenant"))
            assert handle.result() == "acme"
    finally:
        context.detach(token)
    with Controller(tracer=tracer) as controller:
        assert controller.submit(lambda: baggage.get_baggage("tenant")).result() is None


def test_what_has_no_parent_is_a_root_wherever_it_is_started(tracer, provider, spans):
    """What is current in a worker says nothing of where its task came from."""
    with provider.get_tracer("app").start_as_current_span("somebody else's"):
        tracer.start("root", parent=None, links=(), attributes={}).end({})
    assert spans("root")[0].parent is None


def test_without_an_sdk_tasks_run():
    """The API alone records nothing."""
    with Controller(tracer=OpenTelemetryTracer()) as controller:
        assert controller.submit(pow, 2, 3).result() == 8


def test_a_missing_library_names_the_extra(monkeypatch):
    """At the call that needs it."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match=r"chongming-task\[opentelemetry\]"):
        OpenTelemetryTracer()
