"""What a run is, by how its nodes stand, and when its policy gives it up."""

from __future__ import annotations

import itertools

import pytest

from chongming_task import AggregationPolicy
from chongming_task.core.runs import PipelineRunStatus, Standing, doom_of, fold
from chongming_task.core.states import TERMINAL, RequestedAction, TaskStatus
from chongming_task.errors import ConfigurationError

S, R = TaskStatus, PipelineRunStatus
FAIL_FAST, ALL_SETTLED, QUORUM = AggregationPolicy.fail_fast, AggregationPolicy.all_settled, AggregationPolicy.quorum
STOP, CANCEL = RequestedAction.STOP, RequestedAction.CANCEL


def standing(*statuses: TaskStatus, **more) -> Standing:
    """Of nodes that do not hang together: each is a last one."""
    counts = {status: statuses.count(status) for status in statuses}
    ended = [status for status in statuses if status in TERMINAL]
    more.setdefault("failed", bool({S.FAILED, S.LOST} & set(statuses)))
    return Standing(counts, len(statuses), len(statuses), ended.count(S.SUCCEEDED), len(ended), **more)


@pytest.mark.parametrize("given", [("most",), ("quorum",), ("quorum", 0), ("fail_fast", 2), ([],)])
def test_policies_that_are_none(given):
    """Made by hand and misspelt: each would have passed for all_settled."""
    with pytest.raises(ConfigurationError, match=r"AggregationPolicy\.fail_fast|quorum takes"):
        AggregationPolicy(*given)


@pytest.mark.parametrize("policy", [FAIL_FAST, ALL_SETTLED])
def test_a_run_that_has_ended(policy):
    """Failed when a node failed or was lost; else stopped, else cancelled, else succeeded: over all pairs of ends."""
    for pair in itertools.product(TERMINAL, repeat=2):
        wanted = next(
            run
            for run, ends in [
                (R.FAILED, {S.FAILED, S.LOST}),
                (R.STOPPED, {S.STOPPED}),
                (R.CANCELLED, {S.CANCELLED}),
                (R.SUCCEEDED, {S.SUCCEEDED, S.SKIPPED}),
            ]
            if ends & set(pair)
        )
        assert fold(policy, standing(*pair)) is wanted, pair
        assert fold(policy, standing(*pair)).is_terminal


@pytest.mark.parametrize(
    ("ends", "asked", "wanted"),
    [
        ((S.SUCCEEDED, S.FAILED), None, R.SUCCEEDED),
        ((S.SUCCEEDED, S.SKIPPED), None, R.SUCCEEDED),
        ((S.SUCCEEDED, S.STOPPED), STOP, R.SUCCEEDED),
        ((S.FAILED, S.CANCELLED), None, R.FAILED),
        ((S.SKIPPED, S.SKIPPED), None, R.FAILED),
        ((S.SKIPPED, S.SKIPPED), STOP, R.FAILED),
        ((S.SKIPPED, S.STOPPED), None, R.FAILED),
        ((S.SKIPPED, S.STOPPED), STOP, R.STOPPED),
        ((S.SKIPPED, S.CANCELLED), CANCEL, R.CANCELLED),
        ((S.FAILED, S.STOPPED), STOP, R.FAILED),
    ],
)
def test_a_quorum_that_has_ended(ends, asked, wanted):
    """One of two is enough; a run that somebody ended is not failed for that."""
    assert fold(QUORUM(1), standing(*ends, asked=asked)) is wanted


def test_a_quorum_counts_last_nodes_only():
    """What other nodes did is neither here nor there."""
    counts = {S.SUCCEEDED: 3, S.FAILED: 1}
    assert fold(QUORUM(1), Standing(counts, 4, sinks=1, sinks_succeeded=0, sinks_ended=1)) is R.FAILED
    assert fold(QUORUM(1), Standing(counts, 4, sinks=1, sinks_succeeded=1, sinks_ended=1)) is R.SUCCEEDED


def test_an_empty_run():
    """Has succeeded."""
    assert fold(FAIL_FAST, Standing({}, 0)) is R.SUCCEEDED
    assert fold(ALL_SETTLED, Standing({}, 0)) is R.SUCCEEDED


@pytest.mark.parametrize("status", [status for status in S if status not in TERMINAL])
@pytest.mark.parametrize("paused", [False, True])
def test_a_run_on_its_way(status, paused):
    """Pending while nothing has begun, paused when it is to be and nothing runs, else running."""
    active = status in (S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING)
    waits = status in (S.PENDING, S.BLOCKED, S.QUEUED)
    wanted = R.PAUSED if paused and not active else R.PENDING if waits else R.RUNNING
    assert fold(FAIL_FAST, standing(status, paused=paused)) is wanted
    begun = R.PAUSED if paused and not active else R.RUNNING
    assert fold(FAIL_FAST, standing(status, S.SUCCEEDED, paused=paused)) is begun


@pytest.mark.parametrize("status", [status for status in S if status not in TERMINAL])
@pytest.mark.parametrize("why", [{"asked": STOP}, {"asked": CANCEL}, {"doomed": True}])
def test_a_run_that_is_being_ended(status, why):
    """Is stopping while any node has not ended, paused or not."""
    for paused in (False, True):
        assert fold(FAIL_FAST, standing(status, S.SUCCEEDED, paused=paused, **why)) is R.STOPPING


def test_doom():
    """fail_fast: the first failure since the run was taken up. all_settled: never. quorum: when it cannot be met."""
    assert not doom_of(FAIL_FAST, standing(S.CANCELLED, S.STOPPED, S.SKIPPED))
    assert doom_of(FAIL_FAST, standing(S.RUNNING, S.FAILED))
    assert doom_of(FAIL_FAST, standing(S.RUNNING, S.LOST))
    assert not doom_of(FAIL_FAST, standing(S.RUNNING, S.FAILED, failed=False))
    assert not doom_of(ALL_SETTLED, standing(S.FAILED, S.LOST))
    assert not doom_of(QUORUM(2), standing(S.FAILED, S.RUNNING, S.SUCCEEDED))
    assert doom_of(QUORUM(2), standing(S.FAILED, S.SKIPPED, S.RUNNING))
    assert not doom_of(QUORUM(2), standing(S.SUCCEEDED, S.SUCCEEDED, S.FAILED))


def test_policies_are_checked_and_say_what_they_are():
    """A quorum is a whole number, 1 or more."""
    for wrong in (0, -1, 1.5, True, "2", None):
        with pytest.raises(ConfigurationError, match="quorum takes how many"):
            QUORUM(wrong)
    assert [str(each) for each in (FAIL_FAST, ALL_SETTLED, QUORUM(3))] == ["fail_fast", "all_settled", "quorum(3)"]
    assert QUORUM(2) == QUORUM(2) != QUORUM(3)
