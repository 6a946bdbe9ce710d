"""Ended records leave the memory; whoever still holds a handle finds them."""

from __future__ import annotations

import gc

import pytest

from chongming_task import InvalidTransition, NotRestartable, UnknownTask


def finished(rig, count, **options):
    handles = [rig.submit(**options) for _ in range(count)]
    for handle in handles:
        rig.worker(handle).finish(handle.name)
    rig.settle()
    return handles


def test_the_oldest_ended_records_leave_the_memory(make_rig):
    """Only so many are kept; the store keeps them all."""
    rig = make_rig(keep_terminal=3)
    handles = finished(rig, 10)
    assert set(rig.engine.tasks) == {handle.id for handle in handles[-3:]}
    assert rig.controller.get(handles[0].id).status == "succeeded"
    assert rig.controller.counts()["succeeded"] == 10
    assert len(rig.controller.list_tasks()) == 10


def test_what_has_not_ended_is_never_dropped(make_rig):
    """Waiting, running and paused records stay, whatever the bound."""
    rig = make_rig(keep_terminal=0)
    waiting, (running, _) = rig.submit(start=False), rig.running()
    finished(rig, 5)
    assert set(rig.engine.tasks) == {waiting.id, running.id}


def test_a_held_handle_still_works(make_rig):
    """It reads, and its verbs bring the record back."""
    rig = make_rig(keep_terminal=0)
    handle, worker = rig.running()
    worker.fail(ValueError("x"))
    rig.settle()
    assert handle.id not in rig.engine.tasks
    assert (handle.status, handle.wait(), len(handle.attempts)) == ("failed", "failed", 1)
    handle.retry(force=True)
    rig.worker(handle).finish(2)
    rig.settle()
    assert handle.result() == 2
    assert handle.id not in rig.engine.tasks


def test_a_refused_verb_does_not_keep_a_dropped_record(make_rig):
    """Brought back to be asked, and dropped again."""
    rig = make_rig(keep_terminal=0)
    (handle,) = finished(rig, 1)
    with pytest.raises(InvalidTransition):
        handle.retry()
    rig.settle()
    assert rig.engine.tasks == {}
    with pytest.raises(InvalidTransition):
        handle.retry()


def test_without_a_handle_its_recipe_is_gone(make_rig):
    """The store answers reads and takes verbs, but what to run it with is no longer here."""
    rig = make_rig(keep_terminal=0)
    handle, worker = rig.running()
    worker.fail(RuntimeError("no"))
    rig.driver.settle()
    worker = None
    task_id = handle.id
    del handle
    rig.executor.launched.clear()
    gc.collect()
    assert rig.controller.get(task_id).status == "failed"
    with pytest.raises(NotRestartable, match="submit it again"):
        rig.controller.retry(task_id, force=True)
    assert rig.controller.get(task_id).status == "failed"
    with pytest.raises(UnknownTask, match="no longer, in this controller's memory"):
        rig.controller.handle(task_id)


def test_a_worker_that_was_given_up_keeps_its_record_until_it_ends(make_rig):
    """As long as it runs it is listed; then the record leaves like any other."""
    rig = make_rig(keep_terminal=0)
    handle, worker = rig.running()
    handle.stop(graceful=False)
    finished(rig, 3)
    assert [task.task_id for task in rig.controller.abandoned()] == [handle.id]
    worker.finish()
    rig.settle()
    assert rig.engine.tasks == {}
    assert not rig.store.get(handle.id).abandoned


def test_revived_records_are_counted_once(make_rig):
    """Retrying one record over and over does not push the others out."""
    rig = make_rig(keep_terminal=5)
    others = finished(rig, 4)
    handle, worker = rig.running()
    for _ in range(20):
        worker.fail(ValueError("x"))
        rig.settle()
        handle.retry(force=True)
        rig.settle()
        worker = rig.worker(handle)
    worker.finish()
    rig.settle()
    assert {other.id for other in others} <= set(rig.engine.tasks)
