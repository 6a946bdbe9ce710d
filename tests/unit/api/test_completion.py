"""Handles as futures: done, exception, as_completed, map."""

from __future__ import annotations

import pytest

from chongming_task import ConfigurationError, Controller, TaskExecutionError, as_completed


def test_done_and_exception(rig):
    """As of concurrent.futures: None after a success, else what result() raises."""
    good, worker = rig.running()
    assert not good.done()
    with pytest.raises(TimeoutError):
        good.exception(timeout=1)
    worker.finish(1)
    assert good.exception() is None
    assert good.done()
    bad, worker = rig.running()
    error = ValueError("no")
    worker.fail(error)
    assert bad.exception() is error
    gone = rig.submit(start=False)
    gone.cancel()
    assert isinstance(gone.exception(), TaskExecutionError)


def test_handles_come_as_they_end(rig):
    """Those that have ended come first, and each comes once."""
    first, one = rig.running()
    second, two = rig.running()
    third, three = rig.running()
    two.finish(2)
    rig.settle()
    told = as_completed([first, second, third, second], timeout=5)
    assert next(told) is second
    three.fail(ValueError("no"))
    assert next(told) is third
    one.finish(1)
    assert list(told) == [first]
    assert not any(handle._live.waiters for handle in (first, second, third))


def test_some_that_do_not_end_in_time(rig):
    """The rest is told, and nobody waits on."""
    first, one = rig.running()
    second, _ = rig.running()
    one.finish(1)
    rig.settle()
    told = as_completed([first, second], timeout=0)
    assert next(told) is first
    with pytest.raises(TimeoutError, match="1 of 2 tasks have not ended, such as 'job': it is running"):
        next(told)
    assert not second._live.waiters
    assert list(as_completed([])) == []


@pytest.mark.parametrize(("handles", "timeout"), [([1], None), ([], "5"), ([], -1)])
def test_what_cannot_be_waited_for(handles, timeout):
    """Told at the call, not in the loop."""
    with pytest.raises(ConfigurationError):
        as_completed(handles, timeout)


def test_real_threads_end_in_any_order():
    """map keeps the order of the items, as_completed that of the ends."""
    with Controller() as controller:
        handles = controller.map(pow, range(20), exp=2, name="square", priority=3)
        assert {handle.result(20) for handle in as_completed(handles, timeout=20)} == {n * n for n in range(20)}
        assert [handle.result() for handle in handles] == [n * n for n in range(20)]
        assert {(handle.name, handle.snapshot.priority) for handle in handles} == {("square", 3)}
        with pytest.raises(ConfigurationError, match="takes no args="):
            controller.map(pow, [1], args=(2,))
