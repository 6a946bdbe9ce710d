"""Questions about many records, and about why one waits."""

from __future__ import annotations

import pytest

from chongming_task import Controller, TaskStatus, UnknownTask


def test_records_by_status_tag_name_and_number(rig):
    """Oldest first; with a limit, the newest."""
    rig.submit(name="a1", tags=["x"], start=False)
    rig.submit(name="a2", tags=["x", "y"])
    rig.submit(name="b1", tags=["y"], start=False).skip()

    def names(**question):
        return [task.name for task in rig.controller.list_tasks(**question)]

    assert names() == ["a1", "a2", "b1"]
    assert names(status="pending") == ["a1"]
    assert names(status=["pending", TaskStatus.SKIPPED]) == ["a1", "b1"]
    assert names(tag="x") == ["a1", "a2"]
    assert names(name_prefix="a", tag="y") == ["a2"]
    assert names(limit=2) == ["a2", "b1"]
    assert names(limit=0) == []
    assert names(pipeline_run_id="none") == []


def test_counts_know_every_status(rig):
    """Also those without a record."""
    rig.submit(start=False)
    counts = rig.controller.counts()
    assert set(counts) == set(TaskStatus)
    assert (counts["pending"], counts["running"]) == (1, 0)


def test_reads_see_what_was_just_posted(rig):
    """A caller reads his own writes, though the engine has not ticked yet."""
    handle = rig.controller.submit(print)
    assert rig.controller.get(handle.id).status == "starting"
    other = rig.controller.submit(print)
    assert [task.task_id for task in rig.controller.list_tasks()] == [handle.id, other.id]
    assert rig.controller.transitions(handle.id, since_version=1)[0].to_status == "starting"


def test_nobody_waits_who_is_unknown_or_runs(rig):
    """Only a queued record waits for limits."""
    handle, _ = rig.running()
    assert rig.controller.waiting_for(handle.id) == rig.controller.waiting_for("nobody") == []
    assert rig.controller.attempts("nobody") == rig.controller.transitions("nobody") == []
    with pytest.raises(UnknownTask):
        rig.controller.get("nobody")
    with pytest.raises(UnknownTask):
        rig.controller.handle("nobody")


def test_the_controller_shows_itself(rig):
    """Its name and its counts."""
    rig.submit(start=False)
    assert repr(rig.controller).endswith(": 1 pending>")


def test_waiting_for_all_does_not_wait_for_what_nobody_started():
    """A record submitted with start=False would be waited for without end; closing stops it."""
    with Controller() as controller:
        kept_back = controller.submit(len, args=("abc",), start=False)
        controller.submit(len, args=("abc",))
        controller.wait_all(timeout=10)
        assert kept_back.status == "pending"
    assert kept_back.status == "stopped"
