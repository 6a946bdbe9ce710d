"""`History.at`: the table of tasks as it stood at some moment, told by the audit trail."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd
import pytest

from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.history import History, snapshots_to_frame
from chongming_task.history.columns import MOMENT, TASKS
from chongming_task.testing.simulation import Simulation
from tests.support.rig import Rig

TOLD = [column.name for column in MOMENT if column in TASKS]


class Photographed(Simulation):
    """A world whose table of tasks is kept, as it stood at the end of every moment."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.taken: dict[datetime, list[TaskSnapshot]] = {}
        self._mood |= {"jump": 0.0, "shake_store": 0.0}  # moments that come twice, and changes stored later than made
        self._mood |= {"force": 3.0}

    def _advance(self, seconds: float) -> None:
        self.driver.settle()
        self.taken[self.clock.now()] = self.store.query(TaskQuery())
        super()._advance(seconds)


@pytest.mark.parametrize("seed", range(8))
def test_every_moment_of_a_simulated_run_is_told(seed):
    """It equals the table that was taken then, in every column that a trail can tell."""
    world = Photographed(seed)
    world.run(300)
    history = History(world.store)
    assert len(world.taken) > 60
    for moment, tasks in world.taken.items():
        then = history.at(moment)
        pd.testing.assert_frame_equal(then[TOLD], snapshots_to_frame(tasks)[TOLD], obj=str(moment))
        assert (then["changed_at"].dropna() <= moment).all()


def test_between_two_changes_the_earlier_counts():
    """To the microsecond; before it was submitted a record was not there."""
    rig = Rig()
    began = rig.clock.now()
    handle = rig.submit()
    rig.advance(10)
    worker = rig.executor.of(handle.id)
    worker.begin()
    rig.settle()
    rig.advance(10)
    worker.finish(1)
    rig.settle()
    history = History(rig.store)
    micro = timedelta(microseconds=1)

    def status(seconds: float, less: timedelta = timedelta(0)) -> list[str]:
        return history.at(began + timedelta(seconds=seconds) - less)["status"].tolist()

    assert status(0, micro) == []
    assert status(0) == status(10, micro) == ["starting"]
    assert status(10) == status(20, micro) == ["running"]
    assert status(20) == status(1_000) == ["succeeded"]


def test_a_moment_is_filtered():
    """By the status they had then, and by what they are."""
    rig = Rig()
    one, two = rig.submit(name="one", tags=["x"]), rig.submit(name="two")
    for handle in (one, two):
        rig.executor.of(handle.id).begin()
    rig.settle()
    then = rig.clock.now()
    rig.advance(5)
    rig.executor.of(one.id).finish(1)
    rig.settle()
    history = History(rig.store)
    assert history.at(then, status="running")["name"].tolist() == ["one", "two"]
    assert history.at(rig.clock.now(), status="running")["name"].tolist() == ["two"]
    assert history.at(rig.clock.now(), status="succeeded", tag="x")["name"].tolist() == ["one"]
    assert history.at(then, tag="x", status="running")["name"].tolist() == ["one"]
    assert history.at(then, limit=1)["name"].tolist() == ["two"]
    assert history.at(then, name="none").dtypes.equals(history.at(then).dtypes)


def test_what_was_set_by_hand_and_what_waits_again_is_told():
    """An override to running starts a record that never ran; a retry that waits for a slot has not ended."""
    rig = Rig(max_parallel=1)
    busy, forced, again = (rig.submit(name=name) for name in ("busy", "forced", "again"))
    rig.advance(1)
    forced.force_transition("running", reason="it runs elsewhere", actor="ana")
    again.stop()
    rig.advance(1)
    again.retry()
    rig.advance(1)
    history = History(rig.store)
    then = history.at(rig.clock.now())
    pd.testing.assert_frame_equal(then[TOLD], snapshots_to_frame(rig.store.query(TaskQuery()))[TOLD])
    assert then["status"].tolist() == ["starting", "running", "queued"]
    assert then["actor"].tolist() == ["engine", "ana", "user"]
    assert then["reason"].tolist()[1] == "it runs elsewhere"
    assert busy.status == "starting"
