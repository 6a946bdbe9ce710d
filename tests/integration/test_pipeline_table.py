"""Join mode × how upstream nodes end × policy of the run: how the node ends, with which words, and how the run does."""

from __future__ import annotations

import itertools

import pytest

from chongming_task import AggregationPolicy, JoinMode, Pipeline
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.states import TaskStatus
from tests.support.rig import Rig, job

S = TaskStatus
ENDS = ("succeeded", "failed", "lost", "stopped", "cancelled", "skipped")
SAID = {
    "failed": "failed: planted",
    "lost": "was lost: nobody knows",
    "stopped": "was stopped: ",
    "cancelled": "was cancelled: ",
}
CASES = [(how,) for how in ENDS] + list(itertools.product(ENDS, repeat=2))
ALL_SETTLED, FAIL_FAST, QUORUM = AggregationPolicy.all_settled, AggregationPolicy.fail_fast, AggregationPolicy.quorum(1)


def no(upstream) -> bool:
    return False


class Table:
    """A node that waits for some others, which end one after the other."""

    def __init__(self, join: JoinMode, ends: tuple[str, ...], policy: AggregationPolicy) -> None:
        self.rig = Rig()
        pipeline = Pipeline("table", on_failure=policy)
        gates = [pipeline.add(job, name=f"gate{number}") for number in range(len(ends))]
        ups = [
            pipeline.add(job, name=f"up{number}", deps=gates[number], when=no if how == "skipped" else None)
            for number, how in enumerate(ends)
        ]
        pipeline.add(job, deps=ups, join=join, name="node")
        self.run = pipeline.submit(self.rig.controller)
        self.rig.settle()
        for number, how in enumerate(ends):  # all others run by then, as fail_fast would not let them begin later
            if how != "skipped":
                self.end(f"gate{number}", "succeeded")
                self.rig.worker(self.run[f"up{number}"]).begin()
        for number, how in enumerate(ends):
            if how == "skipped":
                self.end(f"gate{number}", "succeeded")
            else:
                self.end(f"up{number}", how)
        if not self.run["node"].done():
            self.end("node", "succeeded")
        self.rig.check()

    def end(self, node: str, how: str) -> None:
        """Bring a node to its end, unless the policy has told it to stop: then it obeys."""
        handle = self.run[node]
        if handle.done():
            return
        worker = self.rig.worker(handle)
        if handle.status is S.STARTING:
            worker.begin()
            self.rig.settle()
        if worker.stop_reason is not None:
            worker.checkpoint()
        elif how == "succeeded":
            worker.finish(1)
        elif how == "failed":
            worker.fail(ValueError("planted\nin two lines"))
        elif how == "lost":
            worker.fail(Failure(FailureKind.LOST, "nobody knows"))
        else:
            getattr(handle, {"stopped": "stop", "cancelled": "cancel"}[how])(wait=False)
            worker.checkpoint()
        self.rig.settle()


def made(join: JoinMode, ends: tuple[str, ...]) -> tuple[TaskStatus, int | None]:
    """What the design's table makes of upstream nodes that ended in this order, and the first that is to blame."""
    bad = next((number for number, how in enumerate(ends) if how in SAID), None)
    if join is JoinMode.ALL_DONE or (join is JoinMode.ANY_SUCCEEDED and "succeeded" in ends):
        return S.SUCCEEDED, None
    if bad is not None:
        return S.CANCELLED, bad
    if join is JoinMode.ALL_SUCCEEDED:
        return (S.SKIPPED, None) if "skipped" in ends else (S.SUCCEEDED, None)
    return (S.SUCCEEDED, None) if "succeeded" in ends else (S.SKIPPED, None)


def folded(ends: tuple[str, ...], node: TaskStatus) -> str:
    """How a run has ended whose independent branches went on."""
    every = {*ends, str(node)}
    if {"failed", "lost"} & every:
        return "failed"
    return next((end for end in ("stopped", "cancelled") if end in every), "succeeded")


@pytest.mark.parametrize("ends", CASES, ids=" ".join)
@pytest.mark.parametrize("join", JoinMode)
def test_a_node_ends_as_its_join_says(join, ends):
    """And its failure names the first upstream node that is to blame, and why."""
    table = Table(join, ends, ALL_SETTLED)
    status, blamed = made(join, ends)
    task = table.run["node"].snapshot
    assert task.status is status
    assert table.run.status == folded(ends, status)
    if status is S.SUCCEEDED:
        assert task.failure is None
        assert len(table.run["node"].attempts) == 1
        return
    assert task.failure.kind is FailureKind.DEPENDENCY_FAILED
    assert table.run["node"].attempts == []
    if blamed is not None:
        assert task.failure.message.startswith(f"upstream 'up{blamed}' {SAID[ends[blamed]]}")
        assert "two lines" not in task.failure.message


@pytest.mark.parametrize("ends", CASES, ids=" ".join)
@pytest.mark.parametrize("join", JoinMode)
def test_a_quorum_of_one(join, ends):
    """The only last node decides: a run with failed nodes succeeds all the same."""
    table = Table(join, ends, QUORUM)
    status, _ = made(join, ends)
    assert table.run["node"].status is status
    assert table.run.status == ("succeeded" if status is S.SUCCEEDED else "failed")


@pytest.mark.parametrize("ends", CASES, ids=" ".join)
@pytest.mark.parametrize("join", JoinMode)
def test_the_first_failure_ends_a_run_that_fails_fast(join, ends):
    """What runs is told to stop, what has not begun is cancelled; a stop or a cancel is no failure."""
    table = Table(join, ends, FAIL_FAST)
    first = next((number for number, how in enumerate(ends) if how in ("failed", "lost")), None)
    if first is None:
        assert table.run["node"].status is made(join, ends)[0]
        assert table.run.status == folded(ends, table.run["node"].status)
        return
    assert table.run.status == "failed"
    assert table.run.summary().first_failure[0] == f"up{first}"
    assert table.run["node"].status is S.CANCELLED
    blocked = join in (JoinMode.ALL_SUCCEEDED, JoinMode.NONE_FAILED)
    assert table.run["node"].failure.kind is FailureKind.DEPENDENCY_FAILED or not blocked
    for number, how in enumerate(ends):
        if number > first:
            assert table.run[f"up{number}"].status is S.CANCELLED, how
