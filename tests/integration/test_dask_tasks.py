"""Tasks of a controller on a Dask cluster: steered, heard and told honestly, as they are elsewhere."""

from __future__ import annotations

import pickle
import statistics
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from queue import SimpleQueue

import pytest

from chongming_task import (
    ConcurrencyPolicy,
    ConfigurationError,
    Controller,
    DaskExecutor,
    FailureKind,
    MemoryTaskStore,
    RetryPolicy,
    TaskExecutionError,
    Timeout,
)
from chongming_task.core.effects import StopReason
from chongming_task.core.events import TaskEmitted
from chongming_task.core.ports import AttemptRequest
from chongming_task.runtime.executors.pickling import dump
from chongming_task.runtime.executors.wire import Told
from chongming_task.testing import check_audit
from chongming_task.testing.launched_attempt import LaunchedAttempt
from tests.support import dask_tasks as tasks
from tests.support.dask_cluster import cluster
from tests.support.waiting import until

pytestmark = [pytest.mark.dask, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def workers():
    """Two workers with eight threads each, for all tests here."""
    with cluster(resources={"gpu": 1}) as made:
        yield made


@pytest.fixture(scope="module")
def one_thread():
    """A worker that runs one task at a time."""
    with cluster(workers=1, threads=1) as made:
        yield made


@contextmanager
def controlled(target, **options):
    """A controller on a cluster; its records are audited at the end."""
    executor_options = {name: options.pop(name) for name in ("resources",) if name in options}
    store = MemoryTaskStore()
    with ExitStack() as stack:
        controller = Controller(store, executor=DaskExecutor(target, **executor_options), echo=False, **options)
        stack.callback(check_audit, store)
        stack.callback(controller.close, timeout=5, close_store=False)
        yield controller


@pytest.fixture
def controller(workers):
    """On the two workers."""
    with controlled(workers) as made:
        yield made


def test_tasks_run_in_the_workers(controller, workers):
    """Not here; and the record has the pid of a process of this machine."""
    handle = controller.submit(tasks.where)
    assert handle.result(timeout=30) == handle.snapshot.pid
    assert handle.snapshot.executor == "dask"
    assert handle.snapshot.pid in {worker.process.pid for worker in workers.workers.values()}


def test_what_is_defined_here_goes_along(controller):
    """By value, as from a cell of a notebook."""
    base = 40
    assert controller.submit(lambda number: base + number, 2).result(timeout=30) == 42


def test_it_is_heard_while_it_runs_and_to_its_last_line(controller):
    """Output of all streams in order, progress with the last numbers, what it emits, and heartbeats."""
    emitted = SimpleQueue()
    controller.watch(emitted.put, types=TaskEmitted)
    handle = controller.submit(tasks.chatter, 300, name="chatter")
    assert handle.result(timeout=30) == "chatter"
    lines = [(line.stream, line.text) for line in handle.output()]
    assert [text for stream, text in lines if stream == "stdout"] == [f"out {number}" for number in range(300)]
    assert ("stderr", "err") in lines
    assert [text for stream, text in lines if stream == "log"] == ["somewhere: logged", "told rows=3"]
    assert (handle.snapshot.progress.done, handle.snapshot.progress.unit) == (300, "lines")
    assert emitted.get(timeout=10).payload == {"lines": 300}


def test_pause_resume_and_stop_cross_the_cluster(controller, tmp_path):
    """Each is confirmed by the worker."""
    handle = controller.submit(tasks.stay, str(tmp_path / "notes"))
    handle.wait_for("running", timeout=30)
    assert handle.pause(timeout=10)
    assert handle.status == "paused"
    handle.resume()
    assert handle.status == "running"
    assert handle.stop(timeout=10)
    assert handle.status == "stopped"
    assert tasks.noted(tmp_path / "notes")[1:] == ["stopped"]


def test_a_stop_is_heard_within_milliseconds(workers):
    """From the call to TaskCancelled in the worker. What is promised is in the benchmarks: this machine may be busy."""
    executor = DaskExecutor(workers)
    delays = []
    for number in range(20):
        attempt = LaunchedAttempt(patience=30)
        request = AttemptRequest(f"task-{number}", "stop", 1, tasks.tell_when_stopped, takes_context=True)
        attempt.execution = executor.launch(request, attempt.deliver)
        attempt.checkpoint_seen(lambda last: last is not None)
        began = time.monotonic()
        attempt.execution.stop("stop")
        attempt.end()
        delays += [moment - began for moment in attempt.emitted]
    executor.close()
    assert len(delays) == 20
    assert statistics.median(delays) < 0.25, sorted(delays)


def test_limits_hold(controller, tmp_path):
    """An attempt that takes too long, and one that passes no checkpoint for too long, though it would obey."""
    slow = controller.submit(tasks.stay, str(tmp_path / "slow"), timeout=Timeout(per_attempt=0.3))
    idle = controller.submit(tasks.deaf, str(tmp_path / "idle"), timeout=Timeout(idle=0.5, grace=0.2))
    lively = controller.submit(tasks.stay, str(tmp_path / "lively"), timeout=Timeout(idle=1.0))
    slow.wait(30)
    assert (slow.status, slow.failure.kind) == ("failed", FailureKind.TIMEOUT_ATTEMPT)
    idle.wait(30)
    assert (idle.status, idle.failure.kind) == ("lost", FailureKind.TIMEOUT_IDLE)
    (tmp_path / "idle").unlink()
    until(lambda: lively.snapshot.last_heartbeat_at - lively.snapshot.started_at > timedelta(seconds=1.5), "it lives")
    assert lively.status == "running"
    assert lively.stop(timeout=10)


def test_a_task_that_does_not_obey_is_lost_and_its_worker_named(controller, workers, tmp_path):
    """Its thread goes on, and is listed, until it ends after all; which is noted, and does not count."""
    handle = controller.submit(tasks.deaf, str(tmp_path / "there"))
    until((tmp_path / "there").exists, "it runs")
    assert handle.stop(timeout=0.3) is False
    handle.wait(10)
    assert handle.status == "lost"
    address = next(word for word in handle.failure.message.split() if word.startswith("tcp://"))
    assert address in workers.scheduler.workers
    assert "may still be running" in handle.failure.message
    assert [task.task_id for task in controller.abandoned()] == [handle.id]
    (tmp_path / "there").unlink()
    until(lambda: not handle.snapshot.abandoned, "its end is heard")
    assert handle.status == "lost"
    assert "the worker that was given up returned" in handle.attempts[0].note


def test_what_waits_in_dask_for_a_thread_can_be_stopped(one_thread, tmp_path):
    """It is sure then that it never runs; and a pause takes hold as soon as it begins."""
    with controlled(one_thread) as controller:
        first = controller.submit(tasks.stay, str(tmp_path / "first"))
        until(lambda: tasks.noted(tmp_path / "first"), "the first one runs")
        stopped = controller.submit(tasks.stay, str(tmp_path / "second"))
        paused = controller.submit(tasks.stay, str(tmp_path / "third"))
        until(lambda: paused.status == "starting", "all are handed to Dask")
        assert stopped.stop(timeout=20)
        assert (stopped.status, stopped.failure.message) == ("stopped", "stopped before it began")
        paused.pause(timeout=30, wait=False)
        assert first.stop(timeout=20)
        until(lambda: paused.status == "paused", "the pause takes hold")
        assert tasks.noted(tmp_path / "third")[1:] == []
        assert paused.stop(timeout=20)
    assert tasks.noted(tmp_path / "second") == []


def test_what_was_called_back_does_not_run_when_it_comes_late(workers, tmp_path):
    """It may have been on its way to the worker when that said that it is not there."""
    from distributed import Client

    from chongming_task.runtime.executors import dask_worker

    heard = SimpleQueue()
    request = AttemptRequest("task", "late", 1, tasks.note, (str(tmp_path / "notes"), "ran"), {})
    with Client(workers, set_as_default=False) as client:
        client.subscribe_topic("late", lambda event: heard.put(event[1]))
        found = client.run(dask_worker.recall, "late", {7: StopReason.CANCEL})
        assert list(found.values()) == [[], []]
        client.submit(dask_worker.run, dask_worker.pack("late", 7, 1, (), dump(request)), []).result(timeout=30)
        told: list[Told] = []
        while not told:
            told += [each for each in pickle.loads(heard.get(timeout=30)) if isinstance(each, Told)]
    assert told[0].report.failure.message == "stopped before it began"
    assert tasks.noted(tmp_path / "notes") == []


def test_tags_stand_for_resources(workers, tmp_path):
    """Each worker has one gpu: of three tasks that need it, two run; others pass them by."""
    with controlled(workers, resources={"gpu": 1}) as controller:
        held = [controller.submit(tasks.stay, str(tmp_path / f"gpu{n}"), tags=["gpu"]) for n in range(3)]
        until(lambda: sum(each.status == "running" for each in held) == 2, "two of them run")
        assert controller.submit(tasks.where).result(timeout=30)
        (waits,) = [each for each in held if each.status != "running"]
        assert waits.status == "starting"
        next(each for each in held if each is not waits).stop(timeout=10)
        until(lambda: waits.status == "running", "the third one has its turn")


def test_a_task_that_the_workers_cannot_import_says_so(controller, tmp_path, monkeypatch):
    """And what to do, naming the worker that could not."""
    (tmp_path / "only_here.py").write_text("def work():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here

    handle = controller.submit(only_here.work)
    handle.wait(30)
    assert handle.failure.exception_type == "builtins.ModuleNotFoundError"
    for part in ("the Dask worker tcp://", "No module named 'only_here'", "client.upload_file"):
        assert part in handle.failure.message
    del sys.modules["only_here"]


def test_a_worker_of_another_version_says_so(controller, monkeypatch):
    """Rather than misread what it is sent; Dask's own word for it, and where."""
    monkeypatch.setattr("chongming_task.runtime.executors.dask_worker._version", lambda: "9.9")
    handle = controller.submit(tasks.where)
    handle.wait(30)
    assert handle.failure.message.startswith("Dask could not run the task")
    assert "the controller 9.9: install the same on both" in handle.failure.message


def test_without_its_extra_it_says_how_to_get_it(monkeypatch):
    """And nothing else of the package minds."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=r"chongming-task\[dask\]"):
        DaskExecutor("tcp://127.0.0.1:9")


def test_exceptions_are_told_in_full(controller):
    """The kind, the message and the frames of the task; a policy answers them."""

    def fail(ctx):
        raise LookupError(f"attempt {ctx.attempt}")

    handle = controller.submit(fail, retry=RetryPolicy(max_attempts=2, backoff="none"))
    handle.wait(30)
    assert [each.failure.message for each in handle.attempts] == ["attempt 1", "attempt 2"]
    assert "in fail" in handle.failure.traceback
    with pytest.raises(TaskExecutionError, match="attempt 2"):
        handle.result()


def test_a_large_argument_goes_there(controller):
    """Beside the graph, of which Dask warns when it is large."""
    assert controller.submit(len, b"x" * 12_000_000).result(timeout=30) == 12_000_000


def test_nothing_is_left_on_the_cluster(workers, tmp_path):
    """No task, no fence, nothing that was told; and it can be used again."""
    for _ in range(2):
        with controlled(workers, concurrency=ConcurrencyPolicy(max_parallel=None)) as controller:
            handles = [controller.submit(tasks.where) for _ in range(300)]
            assert len({handle.result(timeout=30) for handle in handles}) == 2
            scheduler = workers.scheduler
            (topic,) = [name for name in scheduler.plugins if name.startswith("chongming-")]
            assert len(scheduler.get_events(topic)) == 0
    until(lambda: not any(key.startswith("chongming-") for key in scheduler.tasks), "Dask has let go of them")
    assert not [name for name in scheduler.plugins if name.startswith("chongming-")]


def test_a_scheduler_that_does_not_answer_is_told_at_once():
    """Where the executor is made, with what to look for."""
    with pytest.raises(ConfigurationError, match="does not answer"):
        DaskExecutor("tcp://127.0.0.1:9", timeout=0.5)


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        (None, {}, "takes the address of a scheduler"),
        ("", {}, "takes the address of a scheduler"),
        (object(), {}, "takes the address of a scheduler"),
        ("nowhere", {}, "missing port number"),
        ("tcp://127.0.0.1:9", {"resources": {"gpu": 0}}, "resources must look like"),
        ("tcp://127.0.0.1:9", {"resources": ["gpu"]}, "resources must look like"),
        ("tcp://127.0.0.1:9", {"timeout": 0}, "timeout must be more than 0"),
    ],
    ids=["nothing", "empty", "something else", "no port", "no amount", "no amounts", "no time"],
)
def test_arguments_that_cannot_work_are_refused(target, options, said):
    """Before anything is connected."""
    with pytest.raises(ConfigurationError, match=said):
        DaskExecutor(target, **options)
