"""What a controller that takes records over must not lose or break."""

from __future__ import annotations

from contextlib import closing

import pytest

from chongming_task import Controller, MemoryTaskStore, NotRestartable, task
from chongming_task.core.ports import Write
from chongming_task.testing import check_audit


@task(restartable=True)
def speak(ctx) -> None:
    """Three lines, whatever the attempt; only the third one ends well."""
    for number in range(3):
        print(f"attempt {ctx.attempt}, line {number}")
    if ctx.attempt < 3:
        raise RuntimeError("once")


@pytest.fixture
def shared():
    """A store that several controllers meet on."""
    with closing(MemoryTaskStore()) as store:
        yield store
        check_audit(store, settled=True)


def said(controller, task_id):
    """Of each line of output, its attempt."""
    return [line.attempt for line in controller.output(task_id) if line.stream == "stdout"]


def test_lines_of_a_record_whose_task_was_registered_late_are_kept(shared):
    """It came without its task; what it then writes is counted from what others have written."""
    with Controller(shared, echo=False) as first:
        handle = first.submit(speak)
        assert handle.wait(timeout=20) == "failed"
        first.close(close_store=False)
    second = Controller(shared, echo=False)
    with pytest.raises(NotRestartable):
        second.retry(handle.id, force=True)
    second.register(speak)
    second.retry(handle.id, force=True)
    assert second.handle(handle.id).wait(timeout=20) == "failed"
    assert said(second, handle.id) == [1, 1, 1, 2, 2, 2]
    second.close(close_store=False)


def test_lines_of_a_record_that_was_elsewhere_meanwhile_are_kept(shared):
    """Its first controller takes it back: another one has written since."""
    first, second = Controller(shared, echo=False), Controller(shared, echo=False)
    handle = first.submit(speak)
    assert handle.wait(timeout=20) == "failed"
    first.counts()
    before = shared.get(handle.id)
    shared.commit([Write(before.evolve({"owner": second.owner}), before.status_version)])
    second.register(speak)
    second.retry(handle.id, force=True)
    assert second.handle(handle.id).wait(timeout=20) == "failed"
    assert said(second, handle.id) == [1, 1, 1, 2, 2, 2]
    second.close(close_store=False)
    first.retry(handle.id, force=True)  # it finds out, and brings the record back
    assert handle.wait(timeout=20) == "succeeded"
    assert said(first, handle.id) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    first.close(close_store=False)
