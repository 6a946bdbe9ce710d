"""A record that ends badly is told in the log, once; and logging can do the engine no harm."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest

from chongming_task import RetryPolicy, task
from chongming_task.core.failures import Failure, FailureKind
from tests.support.rig import job

LOGGER = "chongming_task.task"
twice = task(name="twice", retry=RetryPolicy(max_attempts=2, backoff="none"))(job)


def told(caplog) -> list[str]:
    """The warnings of the task logger."""
    return [record.getMessage() for record in caplog.records if (record.name, record.levelname) == (LOGGER, "WARNING")]


@pytest.fixture
def kernel(monkeypatch):
    """A Jupyter kernel, as far as anybody can see."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())))


def test_a_failure_is_told_once(rig, caplog):
    """With its name, its first line, and where to look."""
    handle, worker = rig.running(name="load")
    worker.fail(ValueError("no such row\nand more"))
    rig.settle()
    (line,) = told(caplog)
    assert line.startswith("task 'load' failed: ")
    assert "no such row" in line
    assert "and more" not in line
    for word in ("handle.failure.traceback", "handle.output()", handle.id):
        assert word in line
    record = caplog.records[-1]
    assert (record.task_id, record.task_name, record.attempt) == (handle.id, "load", 1)


def test_an_attempt_that_is_retried_is_not_told(rig, caplog):
    """Only the last one is."""
    handle = rig.submit(twice)
    for attempt in (1, 2):
        assert told(caplog) == []
        assert handle.snapshot.attempt == attempt
        rig.worker(handle).begin()
        rig.worker(handle).fail(ValueError("no"))
        rig.settle()
        rig.advance(0.1)
    assert handle.status == "failed"
    assert len(told(caplog)) == 1


def test_a_lost_record_is_told(rig, caplog):
    """Its worker may run on."""
    handle, _ = rig.running()
    handle.stop(timeout=1, wait=False)
    rig.advance(1)
    assert handle.status == "lost"
    (line,) = told(caplog)
    assert "'job' was lost: the worker was asked to stop" in line


def test_other_ends_are_not_told(rig, caplog):
    """A success, a stop, a status set by hand."""
    for end in ("success", "stop", "by hand"):
        handle, worker = rig.running()
        if end == "by hand":
            handle.force_transition("failed", reason="it is", actor="ann")
        elif end == "stop":
            handle.stop(wait=False)
            worker.fail(Failure(FailureKind.CANCELLED, "obeyed"))
        else:
            worker.finish(1)
        rig.settle()
    assert told(caplog) == []


def test_a_log_handler_that_raises_stops_nothing(rig):
    """The engine goes on."""

    class Broken(logging.Handler):
        def emit(self, record):
            raise OSError("the disk is full")

    handler = Broken()
    logging.getLogger(LOGGER).addHandler(handler)
    try:
        handle, worker = rig.running()
        worker.fail(ValueError("no"))
        rig.settle()
    finally:
        logging.getLogger(LOGGER).removeHandler(handler)
    assert handle.status == "failed"
    other, worker = rig.running()
    worker.finish(2)
    assert other.result() == 2


def test_in_a_kernel_only_who_asks_is_told(rig, caplog, kernel):
    """The root's handlers write into whichever cell is newest."""
    _, worker = rig.running()
    worker.fail(ValueError("no"))
    rig.settle()
    assert told(caplog) == []
    handler = logging.NullHandler()
    logging.getLogger("chongming_task").addHandler(handler)
    try:
        _, worker = rig.running()
        worker.fail(ValueError("no"))
        rig.settle()
    finally:
        logging.getLogger("chongming_task").removeHandler(handler)
    assert len(told(caplog)) == 1
