"""The worker threads: born when needed, reused, and gone when nobody needs them."""

from __future__ import annotations

import threading

import pytest

from chongming_task import ControllerClosed, ThreadExecutor
from chongming_task.core.effects import StopReason
from chongming_task.core.ports import AttemptRequest
from chongming_task.core.triggers import Ended, Started
from chongming_task.runtime.executors import thread as module
from chongming_task.runtime.executors.local import LocalExecution

PATIENCE = 20


class Post:
    """Collects what workers deliver."""

    def __init__(self):
        self.reports, self._came = [], threading.Semaphore(0)

    def __call__(self, report):
        self.reports.append(report)
        if isinstance(report, Ended):
            self._came.release()

    def ended(self, count=1):
        for _ in range(count):
            assert self._came.acquire(timeout=PATIENCE)
        return [report for report in self.reports if isinstance(report, Ended)]


def request(target, *args, attempt=1):
    return AttemptRequest("t1", "demo", attempt, target, args)


@pytest.fixture
def executor():
    made = ThreadExecutor()
    yield made
    made.close()


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("chongming-worker")]


def test_it_delivers_started_and_one_end(executor):
    """In this order, with the value."""
    post = Post()
    execution = executor.launch(request(pow, 2, 5), post)
    post.ended()
    assert post.reports == [Started(1), Ended(1, outcome=32)]
    assert not execution.running
    assert not execution.killable
    with pytest.raises(NotImplementedError):
        execution.kill(StopReason.STOP)


def test_one_stopped_before_it_began_runs_nothing(executor, monkeypatch):
    """It delivers its end alone."""
    post, ran, told = Post(), [], threading.Event()
    run = LocalExecution.run

    def run_when_told(execution):
        assert told.wait(PATIENCE)
        run(execution)

    monkeypatch.setattr(LocalExecution, "run", run_when_told)
    execution = executor.launch(request(ran.append, 1), post)
    execution.stop(StopReason.STOP)
    told.set()
    (end,) = post.ended()
    assert post.reports == [end]
    assert (end.failure.kind, ran, execution.running) == ("cancelled", [], False)


def test_an_idle_worker_goes_after_a_while(executor, monkeypatch):
    """And the next attempt gets a new one."""
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.01)
    post = Post()
    for _ in range(3):
        executor.launch(request(int), post)
        post.ended()
        for worker in workers():
            worker.join(PATIENCE)
        assert workers() == []


def test_a_system_without_threads_is_told(executor, monkeypatch):
    """The launch fails, and nothing of it is left; later ones work."""

    def no_more(self):
        raise RuntimeError("can't start new thread")

    post = Post()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more)
        with pytest.raises(RuntimeError, match="no more threads"):
            executor.launch(request(int), post)
    executor.launch(request(int), post)
    post.ended()
    assert len(post.reports) == 2


def test_a_closed_executor_takes_nothing(executor):
    """Its idle threads end; a busy one when its task does."""
    post, gate = Post(), threading.Event()
    executor.launch(request(gate.wait, PATIENCE), post)
    executor.close()
    with pytest.raises(ControllerClosed):
        executor.launch(request(int), post)
    gate.set()
    post.ended()
    for worker in workers():
        worker.join(PATIENCE)
    assert workers() == []


def test_every_attempt_finds_a_worker(executor):
    """Waves of them, each needing all of its wave: none is forgotten in the queue."""
    for size in (1, 5, 20, 3, 20):
        post, barrier = Post(), threading.Barrier(size)
        for number in range(size):
            executor.launch(request(barrier.wait, PATIENCE, attempt=number), post)
        assert all(end.failure is None for end in post.ended(size))


def test_launches_from_many_threads(executor):
    """Each runs once."""
    post, start = Post(), threading.Barrier(6)

    def launch():
        start.wait(PATIENCE)
        for _ in range(200):
            executor.launch(request(int), post)

    threads = [threading.Thread(target=launch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(post.ended(1200)) == 1200
