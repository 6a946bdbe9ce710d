"""A span for every attempt: where it hangs, when it ends, and how."""

from __future__ import annotations

import asyncio
import threading

import pytest

from chongming_task import Controller, Pipeline, RetryPolicy, current_context
from tests.unit.observability.conftest import MemorySpan


@pytest.fixture
def controller(tracer):
    with Controller(tracer=tracer) as made:
        yield made


def test_a_span_hangs_on_what_was_current_at_submission(controller, tracer):
    """Not on what is current in the worker."""
    outer = tracer.start("outer", parent=None, links=(), attributes={})
    with outer.use():
        handle = controller.submit(pow, 2, 3, name="eight")
    assert handle.result() == 8
    span = tracer.spans[1]
    assert (span.name, span.parent, span.ends, span.failure) == ("pow", outer, 1, None)
    assert span.attributes == {
        "chongming.task.id": handle.id,
        "chongming.task.name": "eight",
        "chongming.task.attempt": 1,
        "chongming.task.executor": "thread",
        "chongming.task.status": "succeeded",
    }


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_the_span_is_current_in_the_task(tracer, executor):
    """And nothing of it is left in the thread."""
    with Controller(tracer=tracer, executor=executor) as controller:
        assert controller.submit(tracer.current).result is not None
        found = []
        controller.submit(lambda: found.append(tracer.current())).result()
    assert found == [tracer.spans[1]]
    assert tracer.current() is None


def test_the_span_is_current_in_a_coroutine(controller, tracer):
    """Also after it has waited."""
    found = []

    async def look():
        await asyncio.sleep(0)
        found.append(tracer.current())

    controller.submit(look).result()
    assert found == tracer.spans


def test_a_retry_is_linked_to_the_attempt_before(controller, tracer):
    """Same parent, and one span after the other."""

    def third_time():
        if current_context().attempt < 3:
            raise ValueError("not yet")

    controller.submit(third_time, retry=RetryPolicy(max_attempts=3, backoff="none")).result()
    first, second, third = tracer.spans
    assert [tuple(span.links) for span in tracer.spans] == [(), (first,), (second,)]
    assert [span.attributes["chongming.task.status"] for span in tracer.spans] == ["failed", "failed", "succeeded"]
    assert first.failure.message == "not yet"
    assert third.failure is None
    assert first.attributes["chongming.task.failure_kind"] == "exception"


@pytest.mark.parametrize(("verb", "status"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_what_was_asked_for_is_no_error(rig, tracer, verb, status):
    """A stop or a cancel ends the span, and says so."""
    handle, worker = rig.running()
    getattr(handle, verb)(wait=False) if verb == "stop" else handle.cancel(wait=False)
    rig.settle()
    worker.checkpoint()
    rig.settle()
    assert handle.status == status
    assert tracer.spans[0].attributes["chongming.task.status"] == status
    assert tracer.spans[0].failure is None
    assert tracer.spans[0].ends == 1


def test_an_attempt_that_never_began_has_no_span(rig, tracer):
    """Stopped while its worker had not taken it."""
    handle = rig.submit()
    handle.stop(wait=False)
    rig.worker(handle).checkpoint()
    rig.settle()
    assert handle.status == "stopped"
    assert tracer.spans == []


def test_a_lost_attempt_ends_its_span_once(rig, tracer):
    """When it is given up; what its thread does later changes nothing."""
    handle, worker = rig.running()
    handle.stop(wait=False, timeout=1)
    rig.advance(30)
    assert handle.status == "lost"
    span = tracer.spans[0]
    assert (span.ends, span.attributes["chongming.task.status"]) == (1, "lost")
    worker.finish()
    rig.settle()
    assert (span.ends, span.attributes["chongming.task.status"]) == (1, "lost")


def test_an_attempt_that_a_reset_forgets_ends_its_span(rig, tracer):
    """When the next attempt of that number begins; the old worker changes nothing any more."""
    handle, worker = rig.running()
    handle.force_transition("failed", reason="it hangs", actor="ana")
    handle.reset(confirm=True, force=True)
    handle.start()
    rig.settle()
    rig.worker(handle).begin()
    rig.settle()
    first, second = tracer.spans
    assert (first.attributes["chongming.task.status"], first.ends, second.ends) == ("lost", 1, 0)
    worker.checkpoint()
    rig.worker(handle).finish()
    rig.settle()
    assert (first.ends, second.ends) == (1, 1)
    assert second.attributes["chongming.task.status"] == "succeeded"


def test_spans_that_are_open_at_the_end_are_ended(rig, tracer):
    """A controller that is closed leaves none behind."""
    rig.running()
    rig.controller._observers.finish()
    assert [span.ends for span in tracer.spans] == [1]


def test_nodes_hang_on_their_run(controller, tracer):
    """And the run on what was current when it was started; a map's tasks as well."""
    outer = tracer.start("outer", parent=None, links=(), attributes={})
    pipeline = Pipeline("nightly")
    numbers = pipeline.add(lambda: [1, 2], name="numbers")
    pipeline.map(abs, numbers, name="each")
    with outer.use():
        run = pipeline.submit(controller)
    run.wait(10)
    controller.close()
    run_span = next(span for span in tracer.spans if span.name == "nightly")
    nodes = [span for span in tracer.spans if span not in (outer, run_span)]
    assert run_span.parent is outer
    assert {span.parent for span in nodes} == {run_span}
    assert {span.attributes["chongming.task.name"] for span in nodes} >= {"numbers", "each[0]", "each[1]"}
    assert run_span.attributes["chongming.pipeline_run.status"] == "succeeded"
    assert [span.ends for span in tracer.spans] == [0] + [1] * (len(tracer.spans) - 1)


def test_a_failed_run_is_an_error(controller, tracer):
    """Its span says so."""
    pipeline = Pipeline("doomed")
    pipeline.add(lambda: 1 / 0, name="divide")
    pipeline.submit(controller).wait(10)
    controller.close()
    run_span = next(span for span in tracer.spans if span.name == "doomed")
    assert run_span.attributes["chongming.pipeline_run.status"] == "failed"
    assert run_span.failure is not None


@pytest.mark.parametrize("method", ["current", "start"])
def test_a_tracer_that_raises_costs_the_span_only(tracer, caplog, method):
    """The task runs; the log tells."""

    def broken(*args, **kwargs):
        raise OSError("no collector")

    setattr(tracer, method, broken)
    with Controller(tracer=tracer) as controller:
        assert controller.submit(pow, 2, 3).result() == 8
    assert "the tracer could not" in caplog.text


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("where", ["start", "context", "use", "end"])
def test_a_tracer_that_exits_costs_the_span_only(tracer, caplog, monkeypatch, executor, where):
    """SystemExit ends neither the worker nor the attempt, of a task and of a run alike."""

    def leave(*args, **kwargs):
        raise SystemExit(where)

    if where == "start":
        tracer.start = leave
    elif where == "context":  # set while the span is made
        monkeypatch.setattr(MemorySpan, "__init__", leave)
    else:
        monkeypatch.setattr(MemorySpan, where, leave)
    pipeline = Pipeline("nightly")
    pipeline.add(abs, -1, name="one")
    with Controller(tracer=tracer, executor=executor) as controller:
        assert controller.submit(pow, 2, 3).result(10) == 8
        assert pipeline.submit(controller).wait(10) == "succeeded"
    assert "the tracer could not" in caplog.text


@pytest.mark.parametrize("error", [OSError("no propagator"), SystemExit("handover")])
def test_a_span_that_cannot_be_handed_over_costs_the_span_only(tracer, caplog, monkeypatch, error):
    """The task runs in the other process all the same."""

    def broken(self):
        raise error

    monkeypatch.setattr(MemorySpan, "handover", broken)
    with Controller(tracer=tracer, executor="process") as controller:
        assert controller.submit(pow, 2, 3).result(20) == 8
    assert "the tracer could not hand a span over" in caplog.text


@pytest.mark.abandons_threads
def test_a_tracer_that_blocks_on_a_run_holds_up_neither_others_nor_the_end(tracer, monkeypatch):
    """Only what wants a span of that run waits."""
    release, ended, start = threading.Event(), threading.Event(), tracer.start
    end_span = MemorySpan.end

    def end(span, *args):
        end_span(span, *args)
        if span.name == "stuck":
            ended.set()

    monkeypatch.setattr(MemorySpan, "end", end)

    def block(name, **options):
        if name == "stuck":
            release.wait(30)
        return start(name, **options)

    tracer.start = block
    stuck, other = Pipeline("stuck"), Pipeline("other")
    stuck.add(abs, -1, name="one")
    other.add(abs, -1, name="one")
    controller = Controller(tracer=tracer)
    try:
        stuck.submit(controller)
        assert other.submit(controller).wait(10) == "succeeded"
        closing = threading.Thread(target=controller.close, args=(0.1,), daemon=True)
        closing.start()
        closing.join(10)
        assert not closing.is_alive()
    finally:
        release.set()
    assert ended.wait(10)
    assert [span.ends for span in tracer.spans if span.name == "stuck"] == [1]


def test_a_span_that_will_not_end_costs_no_result(tracer, caplog, monkeypatch):
    """Nor does it end twice."""
    monkeypatch.setattr("tests.unit.observability.conftest.MemorySpan.end", lambda *args: 1 / 0, raising=True)
    with Controller(tracer=tracer) as controller:
        assert controller.submit(pow, 2, 3).result() == 8


def test_spans_begin_on_no_thread_of_the_engine(controller, tracer):
    """A tracer is somebody else's code."""
    threads = set()
    start = tracer.start
    tracer.start = lambda *args, **kwargs: threads.add(threading.current_thread().name) or start(*args, **kwargs)
    controller.submit(pow, 2, 3).result()
    assert all(name.startswith("chongming-worker") for name in threads)
    assert threads
