"""Workflows that ran elsewhere, replayed with shorter sleeps, and steered through a failure in the middle.

The files are looked for beside the project, in `../shared/data/workflows`, or where CHONGMING_TRACES says.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import pytest

from chongming_task import AggregationPolicy, Controller, Pipeline
from chongming_task.core.states import TaskStatus
from tests.support.traces import FOLDER_VARIABLE, Trace, best_schedule, folder, read

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(
        not (folder() / "viralrecon.json").exists(), reason=f"no workflow traces here; {FOLDER_VARIABLE} says where"
    ),
]

SLOTS = 8
SLACK = 1.05
TRIES = 4  # a busy machine can only make a replay longer: the first that is short enough will do
CRITICAL_SECONDS = {"viralrecon": 2.0, "epigenomics-hep-2seq": 1.5, "helloworld-forkjoin-10": 1.0}


class Span(NamedTuple):
    """When a task ran."""

    began: float
    ended: float


def replay(trace: Trace, priorities: dict[str, float] | None) -> tuple[float, dict[str, Span]]:
    """Sleep through a workflow; how long it took in all, and when each task ran."""
    spans: dict[str, Span] = {}

    def sleep(name: str) -> None:
        began = time.perf_counter()
        time.sleep(trace.seconds[name])
        spans[name] = Span(began, time.perf_counter())

    pipeline = Pipeline(trace.name)
    for name, above in trace.parents.items():
        priority = None if priorities is None else round(priorities[name] * 1000)
        pipeline.add(sleep, name, deps=above, name=name, priority=priority)
    with Controller(max_parallel=SLOTS) as controller:
        began = time.perf_counter()
        assert pipeline.submit(controller).wait(timeout=60) == "succeeded"
        return time.perf_counter() - began, spans


def most_at_once(spans: dict[str, Span]) -> int:
    """How many ran at the same moment."""
    moments = sorted([(s.began, 1) for s in spans.values()] + [(s.ended, -1) for s in spans.values()])
    now = most = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["in-hops", "in-seconds"])
@pytest.mark.parametrize("name", CRITICAL_SECONDS)
def test_a_replay_is_as_short_as_the_best_list_schedule(name, weighted):
    """Within 5 %, by the same priorities: the longest way down, counted by the product or given; edges are kept.

    The schedule is made of the sleeps as long as they were: what a busy machine adds to a sleep is nobody's fault.
    """
    trace = read(name, CRITICAL_SECONDS[name])
    given = trace.longest(trace.seconds) if weighted else None
    ratios = []
    for _ in range(TRIES):
        seconds, spans = replay(trace, given)
        assert set(spans) == set(trace.parents)
        assert most_at_once(spans) <= SLOTS
        late = [(a, n) for n, above in trace.parents.items() for a in above if spans[n].began < spans[a].ended]
        assert late == []
        slept = replace(trace, seconds={name: span.ended - span.began for name, span in spans.items()})
        best = best_schedule(slept, given or trace.hops(), SLOTS)
        ratios.append(seconds / best)
        print(f"{name}: {seconds:.3f} s, the best list schedule {best:.3f} s: {ratios[-1]:.3f} ×")
        if ratios[-1] <= SLACK:
            break
    assert min(ratios) <= SLACK


def middle_of(trace: Trace) -> str:
    """The task with much before it and much after it."""
    below = {name: trace.below(name) for name in trace.parents}
    above = Counter(each for found in below.values() for each in found)
    return max(trace.parents, key=lambda name: above[name] * len(below[name]))


class Workflow:
    """The nodes of viralrecon, with a fault in one; counts how often each has run."""

    def __init__(self, on_failure: AggregationPolicy) -> None:
        self.trace = read("viralrecon", 1.0)
        self.middle = middle_of(self.trace)
        self.broken = True
        self.ran: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.pipeline = Pipeline("viralrecon", on_failure=on_failure)
        for name, above in self.trace.parents.items():
            self.pipeline.add(self.work, name, deps=above, name=name)

    def work(self, name: str) -> str:
        """What each node does."""
        with self._lock:
            self.ran[name] += 1
        if name == self.middle and self.broken:
            raise OSError("no space left on the device")
        return name


@pytest.mark.slow
def test_independent_branches_go_on_and_only_what_was_blocked_runs_later():
    """all_settled: the rest of the workflow has run when it fails; retry_failed() runs the node and those below it."""
    workflow = Workflow(AggregationPolicy.all_settled)
    below = workflow.trace.below(workflow.middle)
    assert len(below) >= 2
    with Controller(max_parallel=SLOTS) as controller:
        run = workflow.pipeline.submit(controller)
        assert run.wait(timeout=60) == "failed"
        assert set(workflow.ran) == set(workflow.trace.parents) - below
        summary = run.summary()
        assert summary.first_failure[0] == workflow.middle
        assert set(summary.first_failure[1:]) <= below
        workflow.broken = False
        assert set(run.retry_failed()) == {workflow.middle} | below
        assert run.wait(timeout=60) == "succeeded"
    assert workflow.ran == Counter(workflow.trace.parents.keys()) + Counter([workflow.middle])


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, SLOTS])
def test_what_has_succeeded_stays_when_the_rest_was_cancelled(slots):
    """fail_fast: nothing starts after the failure; retry_failed() runs the failed node and what had no result yet."""
    workflow = Workflow(AggregationPolicy.fail_fast)
    with Controller(max_parallel=slots) as controller:
        run = workflow.pipeline.submit(controller)
        assert run.wait(timeout=60) == "failed"
        before = Counter(workflow.ran)
        kept = {name for name, status in run.statuses().items() if status is TaskStatus.SUCCEEDED}
        assert workflow.middle in before
        assert set(before) < set(workflow.trace.parents)
        workflow.broken = False
        assert set(run.retry_failed()) == set(workflow.trace.parents) - kept
        assert run.wait(timeout=60) == "succeeded"
    again = workflow.ran - before
    assert again == Counter(set(workflow.trace.parents) - kept)
    if slots == 1:  # else some ran beside the failed one, and were told to stop
        assert workflow.ran == Counter(workflow.trace.parents.keys()) + Counter([workflow.middle])
