"""Every metric says what happened, by what a task is called and never by its id."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace

import pytest

from chongming_task import (
    ConfigurationError,
    Controller,
    MemoryTaskStore,
    RetryPolicy,
    StoreError,
    TaskStatus,
)
from chongming_task.core.states import TERMINAL
from chongming_task.observability.metrics import METRICS, MetricsRecorder
from chongming_task.observability.timed_store import timed
from chongming_task.testing import ManualExecutor
from tests.support.rig import Rig, job


def open_ones(sink):
    """The gauge of open tasks, where it is not 0."""
    return {key[2]: value for key, value in sink.gauges.items() if key[0] == "tasks_open" and value}


def test_a_task_that_waits_runs_and_succeeds(rig, sink):
    """Its wait, its attempt and its end, under the name it was declared with."""
    _, worker = rig.running(name="monday")
    rig.advance(3)
    worker.finish()
    rig.settle()
    assert sink.seen["queue_wait_seconds", "job"] == [0]
    assert sink.seen["attempt_duration_seconds", "succeeded", "job"] == [3]
    assert sink.counts == {("tasks_ended_total", "succeeded", "job"): 1}


def test_what_waits_behind_a_limit_has_waited(sink):
    """From queued to starting."""
    rig = Rig(metrics=sink, max_parallel=1)
    _, first = rig.running()
    rig.submit()
    rig.advance(7)
    first.finish()
    rig.end()
    assert sorted(sink.seen["queue_wait_seconds", "job"]) == [0, 7]


def test_retries_are_counted_and_each_attempt_is_timed(rig, sink):
    """The first attempt is none; the back-off is nobody's wait in the queue."""
    handle, worker = rig.running(retry=RetryPolicy(max_attempts=2, backoff="none"))
    rig.advance(2)
    worker.fail(ValueError("x"))
    rig.settle()
    rig.worker(handle).begin()
    rig.settle()
    rig.advance(5)
    rig.worker(handle).finish()
    rig.settle()
    assert sink.counts["retries_total", "job"] == 1
    assert sink.seen["attempt_duration_seconds", "failed", "job"] == [2]
    assert sink.seen["attempt_duration_seconds", "succeeded", "job"] == [5]
    assert sink.counts == {("retries_total", "job"): 1, ("tasks_ended_total", "succeeded", "job"): 1}


def test_an_attempt_is_timed_by_the_monotonic_clock(rig, sink):
    """A wall clock that is set back or forth makes none shorter or longer."""
    _, worker = rig.running()
    rig.clock.jump(3600)
    rig.advance(3)
    worker.finish()
    rig.settle()
    assert sink.seen["attempt_duration_seconds", "succeeded", "job"] == [3]
    assert not rig.controller._observers._metrics._open


def test_a_stop_takes_from_the_word_to_the_end(rig, sink):
    """Its latency is known by how it ended."""
    handle, worker = rig.running()
    handle.stop(wait=False, timeout=60)
    rig.advance(4)
    worker.checkpoint()
    rig.settle()
    assert handle.status == "stopped"
    assert sink.seen["stop_latency_seconds", "stopped", "job"] == [4]


def test_a_worker_that_was_given_up_is_counted_until_it_is_gone(rig, sink):
    """A gauge of threads that run although their task is lost."""
    handle, worker = rig.running()
    assert sink.gauges["abandoned_threads", "nightly"] == 0
    handle.stop(wait=False, timeout=1)
    rig.advance(30)
    assert handle.status == "lost"
    assert sink.gauges["abandoned_threads", "nightly"] == 1
    worker.finish()
    rig.settle()
    assert sink.gauges["abandoned_threads", "nightly"] == 0
    assert sink.counts["tasks_ended_total", "lost", "job"] == 1


def test_open_tasks_are_counted_by_where_they_are(rig, sink):
    """And are gone from the gauge when they have ended, also after a retry by hand and a reset."""
    pending = rig.submit(start=False)
    handle, worker = rig.running()
    rig.settle()
    assert open_ones(sink) == {"pending": 1, "running": 1}
    worker.fail(ValueError("x"))
    pending.skip()
    rig.settle()
    assert open_ones(sink) == {}
    handle.retry(force=True)
    rig.settle()
    assert open_ones(sink) == {"starting": 1}
    rig.worker(handle).begin()
    rig.worker(handle).finish()
    rig.settle()
    handle.reset(confirm=True)
    rig.settle()
    assert open_ones(sink) == {"pending": 1}


def test_open_states_are_zero_before_there_is_a_task(rig, sink):
    """A dashboard shows 0, and not a gap."""
    rig.settle()
    told = {key[2] for key in sink.gauges if key[0] == "tasks_open"}
    assert told == {str(status) for status in TaskStatus if status not in TERMINAL}


def test_store_operations_are_timed_and_failures_counted(sink):
    """By operation; the store behind is used as it is."""

    class Broken(MemoryTaskStore):
        def prune(self, keep_terminal):
            raise StoreError("no")

    with Controller(Broken(), metrics=sink) as controller:
        controller.submit(job_done).result()
        with pytest.raises(StoreError):
            controller.prune(keep_terminal=1)
    assert sink.seen["store_operation_seconds", "commit"]
    assert sink.counts["store_failures_total", "prune"] == 1
    assert all(value >= 0 for values in sink.seen.values() for value in values)


def job_done():
    """Ends at once."""


def test_a_timed_store_is_the_store_in_everything_else():
    """Attributes and representation are those of the one behind; waiting for news is not timed."""
    took = []
    store = MemoryTaskStore()
    wrapped = timed(store, lambda *args: took.append(args))
    assert wrapped.durable is store.durable
    assert repr(wrapped) == repr(store)
    assert wrapped.wait_for_change(0.0) == store.wait_for_change(0.0)
    assert took == []
    assert wrapped.counts() == {}
    assert [(name, failed) for name, _, failed in took] == [("counts", False)]
    wrapped.close()


def test_what_slow_subscribers_miss_is_counted(rig, sink):
    """Also when the subscriber is gone."""
    entered, release = threading.Event(), threading.Event()

    def slow(event):
        entered.set()
        assert release.wait(10)

    bus = rig.engine.bus
    subscription = bus.subscribe(slow, lambda event: True, size=0)
    handle, worker = rig.running()
    assert entered.wait(10)
    for number in range(5):
        worker.report(number, 10)
        rig.advance(1)
    release.set()
    subscription.close()
    subscription._thread.join(10)
    worker.finish()
    rig.settle()
    assert handle.status == "succeeded"
    assert sink.counts["events_dropped_total",] == subscription.dropped > 0


def test_the_sink_is_called_by_one_thread_that_is_no_engine(sink):
    """So that a slow one holds nobody up."""
    with Controller(metrics=sink) as controller:
        controller.submit(job_done).result()
    assert sink.threads == {"chongming-subscriber"}


@pytest.mark.abandons_threads
def test_a_sink_that_blocks_holds_up_no_task_and_no_end(monkeypatch):
    """Tasks end, and so does the controller."""
    monkeypatch.setattr("chongming_task.api.observing._FINISH_SECONDS", 0.05)
    release = threading.Event()

    class Blocked:
        def incr(self, *args):
            release.wait(30)

        observe = gauge = incr

    try:
        with Controller(metrics=Blocked()) as controller:
            assert controller.submit(pow, 2, 5).result(10) == 32
    finally:
        release.set()


def test_a_sink_that_raises_is_told_once(caplog):
    """Not with every number; and again when it has worked in between."""

    class Moody:
        broken = True

        def incr(self, *args):
            if self.broken:
                raise OSError("no route")

        observe = gauge = incr

    moody = Moody()
    recorder = MetricsRecorder(
        moody, controller="", owner="me", find=lambda _: None, given_up=lambda _: 0, dropped=lambda: 0
    )
    for moody.broken in (True, True, False, True):
        recorder._operated("commit", 0.1, failed=False)
    assert [record.name for record in caplog.records].count("chongming_task.metrics") == 2


def test_a_sink_that_exits_misses_nothing_else(rig, sink):
    """SystemExit out of one number, and the others are told all the same."""

    def leave(*args):
        raise SystemExit

    sink.observe = leave
    handle, worker = rig.running()
    worker.finish()
    rig.settle()
    assert handle.status == "succeeded"
    assert sink.counts["tasks_ended_total", "succeeded", "job"] == 1
    assert {sink.gauges["tasks_open", "nightly", status] for status in ("queued", "starting", "running")} == {0}


@pytest.mark.parametrize("wrong", [{"metrics": print}, {"tracer": object()}, {"metrics": dict}, {"tracer": "jaeger"}])
def test_what_is_no_sink_or_tracer_is_refused(wrong):
    """At the call, with what it must have."""
    with pytest.raises(ConfigurationError, match="must have the methods"):
        Controller(**wrong)


def test_a_record_that_another_takes_over_is_no_longer_counted(sink):
    """The gauge is of this controller's own."""
    rig = Rig(metrics=sink)
    rig.running()
    task = rig.controller.list_tasks()[0]
    rig.controller._observers._metrics.changed([task._replace(owner="somebody else")])
    rig.end()
    assert open_ones(sink) == {}


def test_that_a_record_has_gone_is_never_left_out(sink):
    """Also when the sink is behind: else it would be counted for ever."""
    recorder = MetricsRecorder(
        sink, controller="", owner="me", find=lambda _: None, given_up=lambda _: 0, dropped=lambda: 0
    )
    told = []
    recorder.begin(lambda callback, accepts: SimpleNamespace(offer=told.extend, close=lambda: None))
    told.clear()
    recorder.changed([SimpleNamespace(task_id="t1", owner="somebody else", abandoned=False)])
    assert [event.droppable for event in told] == [False]


@pytest.mark.parametrize("name", METRICS)
def test_names_follow_the_convention(name):
    """Snake case under one prefix; base units; totals are called so; no tag is as many as there are tasks."""
    assert re.fullmatch(r"chongming_[a-z]+(_[a-z]+)*", name)
    assert not re.search("milli|micro|minutes|count", name)
    assert not {"task_id", "id", "name"} & set(METRICS[name].tags)


def test_without_a_sink_nothing_is_there():
    """No subscriber, so no events are made; the store is the caller's own."""
    store = MemoryTaskStore()
    rig = Rig(store, ManualExecutor())
    assert rig.engine.bus.narrator is None
    assert rig.engine.journal.store is store
    assert rig.engine.supervisor.surround is None
    assert rig.submit(job).status == "starting"
    rig.controller.close(timeout=0)
