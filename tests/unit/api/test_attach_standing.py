"""How records stand whose controller is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chongming_task.api.attach_standing import UNSURE, as_it_stands
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress
from chongming_task.core.states import TERMINAL, RequestedAction, TaskStatus
from chongming_task.testing.contract_records import AT, a_record

S = TaskStatus
WAITING = sorted(set(S) - TERMINAL - UNSURE)


@pytest.mark.parametrize("status", list(S))
def test_a_watched_record_stands_as_it_is_stored(status):
    """Whatever it is."""
    task = a_record(status=status, abandoned=True)
    assert as_it_stands(task, watched=True) is task


@pytest.mark.parametrize("status", sorted(UNSURE))
def test_one_that_held_a_worker_is_lost_at_its_last_sign_of_life(status):
    """Nothing is asked of it any more, and nothing runs in the background: that went with its process."""
    heard = AT + timedelta(seconds=9)
    task = a_record(
        status=status, live=True, abandoned=True, requested_action=RequestedAction.STOP, grace_until=AT, started_at=AT,
        last_heartbeat_at=heard, progress=Progress(1, 2, updated_at=AT + timedelta(seconds=3)), owner="a:1",
    )  # fmt: skip
    lost = as_it_stands(task, watched=False)
    assert (lost.status, lost.live, lost.abandoned, lost.requested_action) == (S.LOST, False, False, None)
    assert (lost.ended_at, lost.grace_until) == (heard, None)
    assert lost.failure == Failure(
        FailureKind.LOST, "its controller is gone, and nobody has reconciled this record yet (a:1)"
    )
    assert lost.progress == task.progress
    assert lost.status_version == task.status_version


@pytest.mark.parametrize("status", [*WAITING, S.PAUSED])
def test_one_that_held_none_says_that_nobody_will_start_it(status):
    """Its status is what it is."""
    stuck = as_it_stands(a_record(status=status, owner=None), watched=False)
    assert stuck.status is status
    assert stuck.progress == Progress(message="nobody will start it: its controller is gone (unknown)")


def test_one_that_waited_to_retry_says_so_beside_its_failure():
    """And no longer when: it will not."""
    failed = Failure(FailureKind.EXCEPTION, "bad row", exception_type="builtins.ValueError")
    stuck = as_it_stands(a_record(status=S.RETRY_WAIT, retry_at=AT, failure=failed, owner="a"), watched=False)
    assert stuck.retry_at is None
    assert stuck.failure.message == "nobody will start it: its controller is gone (a); before: bad row"


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_one_that_has_ended_stays_but_for_a_worker_in_the_background(status):
    """Which is not there any more."""
    task = a_record(status=status, ended_at=AT)
    assert as_it_stands(task, watched=False) is task
    assert as_it_stands(task.evolve({"abandoned": True}), watched=False) == task
