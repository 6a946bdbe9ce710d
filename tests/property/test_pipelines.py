"""Random pipelines, steered at random, by hand: everything comes to rest, in order, within limits, and tells the truth.

A node is one number, its digits what it is like; 0 is a plain node that waits for nobody and succeeds, so that what
fails shrinks to what it takes.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chongming_task import (
    AggregationPolicy,
    ConcurrencyPolicy,
    FixedBackoff,
    JoinMode,
    Pipeline,
    RetryPolicy,
    TaskError,
)
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.graph import Verdict
from chongming_task.core.runs import PipelineRunStatus, Standing, fold
from chongming_task.core.states import TERMINAL, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Resolved
from chongming_task.testing import check_audit
from chongming_task.testing.invariants import slot_faults, word_faults
from tests.support.rig import Rig, job

S = TaskStatus
BAD = {S.FAILED, S.LOST, S.STOPPED, S.CANCELLED}
SLOTS, LIMITS = 4, {"db": 2}


class Digits:
    """A number, taken apart."""

    def __init__(self, number: int) -> None:
        self.number = number

    def take(self, base: int) -> int:
        """The next digit."""
        self.number, digit = divmod(self.number, base)
        return digit


class Traits:
    """What a node is like."""

    def __init__(self, place: int, number: int) -> None:
        digits = Digits(number)
        reach = [place - 1 - digits.take(8) for _ in range(digits.take(4))]
        self.name = f"n{place}"
        self.deps = sorted({each for each in reach if each >= 0})
        self.join = list(JoinMode)[digits.take(4)]
        self.kind = ["plain", "plain", "plain", "list", "node", "function"][digits.take(6)]
        self.outcome = digits.take(10)
        self.size = digits.take(5)
        self.max_parallel = [None, 1, 2][digits.take(3)]
        self.when = {7: "no", 8: "raises", 9: "yes"}.get(digits.take(10))
        self.attempts = 2 if digits.take(4) == 3 else 1
        self.tags = ["db"] if digits.take(3) == 2 else []
        early = self.join is JoinMode.ANY_SUCCEEDED and len(self.deps) > 1  # it may start before its items are there
        if self.kind == "node" and (early or not self.deps):
            self.kind = "list"
        self.is_map = self.kind != "plain"

    def items(self, upstream: Any) -> Any:
        return range(self.size)

    def asks(self, upstream: Any) -> bool:
        if self.when == "raises":
            raise RuntimeError("planted")
        return self.when == "yes"


def end_of(traits: Traits, index: int, attempt: int) -> str:
    """How an attempt ends that nobody stops."""
    match (traits.outcome + index) % 10:
        case 7:
            return "fails"
        case 8 if attempt == 1:
            return "fails"
        case 9 if attempt == 1:
            return "is lost"
    return "succeeds"


class World:
    """One run of one pipeline."""

    def __init__(self, numbers: list[int], policy: int) -> None:
        self.traits = [Traits(place, number) for place, number in enumerate(numbers)]
        above = {dep for traits in self.traits for dep in traits.deps}
        last = [traits for place, traits in enumerate(self.traits) if place not in above]
        quorum = AggregationPolicy.quorum(1 + policy % len(last))
        self.policy = [AggregationPolicy.all_settled, AggregationPolicy.fail_fast, quorum][policy % 3]
        self.sinks = [traits.name for traits in last]
        self.rig = Rig(concurrency=ConcurrencyPolicy(max_parallel=SLOTS, limits=LIMITS))
        self.pipeline = Pipeline("random", on_failure=self.policy)
        nodes: list[Any] = []
        for traits in self.traits:
            retry = RetryPolicy(traits.attempts, backoff=FixedBackoff(5))
            options: dict[str, Any] = {"name": traits.name, "deps": [nodes[dep] for dep in traits.deps]}
            options |= {"join": traits.join, "retry": retry, "tags": traits.tags}
            options |= {"when": traits.asks if traits.when else None}
            if traits.is_map:
                items = {"list": range(traits.size), "function": traits.items}.get(traits.kind)
                items = nodes[traits.deps[0]] if items is None else items
                nodes.append(self.pipeline.map(job, items, max_parallel=traits.max_parallel, **options))
            else:
                nodes.append(self.pipeline.add(job, **options))
        self.by_name = {traits.name: traits for traits in self.traits}
        self.begun: set[Any] = set()
        self.faults: list[str] = []
        self.apply = self.rig.engine.apply
        self.rig.engine.apply = self.checked_apply  # type: ignore[method-assign]
        self.asked: deque[Any] = deque()  # conditions and items that somebody still thinks about
        self.rig.engine._aside = self.asked.append
        self.run = self.pipeline.submit(self.rig.controller)
        self.live = self.run._run

    # what must hold of every decision

    def checked_apply(self, live: Any, trigger: Any) -> bool:
        try:
            self.check_decision(live, trigger)
        except AssertionError as fault:  # the engine would go on: it is told later
            self.faults.append(str(fault))
        return self.apply(live, trigger)

    def check_decision(self, live: Any, trigger: Any) -> None:
        if isinstance(trigger, Resolved) and live.member is not None:
            node = self.live.number_of(live)
            assert live is self.live.nodes[node]
            traits = self.traits[node]
            ends = [self.live.nodes[dep].draft.status for dep in traits.deps]
            kind = None if trigger.failure is None else trigger.failure.kind
            verdict = wanted(traits.join, ends)
            expanded = node in self.live.maps and self.live.maps[node].expanded  # it has begun before
            if trigger.to is S.QUEUED or kind is FailureKind.CONDITION_FALSE:
                assert expanded or verdict is Verdict.RUN, (traits.name, trigger, ends)
                assert not self.live.paused, f"{traits.name} is decided in a pause"
            elif not expanded:
                told = {S.CANCELLED: Verdict.CANCEL, S.SKIPPED: Verdict.SKIP}[trigger.to]
                assert verdict is told, (traits.name, ends)
        elif isinstance(trigger, Asked) and trigger.verb is Verb.START and not trigger.blocked:
            assert not self.live.paused or live.draft.status is not S.PENDING, f"{live.draft.node} starts in a pause"

    # steps

    def settle(self) -> None:
        self.rig.settle()
        faults = [
            *self.faults,
            *slot_faults(self.rig.engine, SLOTS, LIMITS),
            *word_faults(self.rig.engine, self.rig.executor.running),
        ]
        for node, fan in self.live.maps.items():
            size = self.traits[node].max_parallel
            if size is not None and sum(task.draft.live for task in fan.tasks) > size:
                faults.append(f"{self.traits[node].name} has more than {size} tasks at once")
        counted = Counter(live.draft.status for live in self.live.members())
        if {status: count for status, count in self.live._counts.items() if count} != counted:
            faults.append(f"counts: {self.live._counts} instead of {counted}")
        assert not faults, faults

    def play(self, worker: Any) -> None:
        """Let a worker come one step further."""
        request = worker.request
        if worker not in self.begun:
            self.begun.add(worker)
            if request.target is job:
                self.check_upstream(request)
            worker.begin()
        elif worker.stop_reason is not None or (worker.pause_request is not None and worker.held_for is None):
            worker.checkpoint()
        elif worker.held_for is not None:
            return
        elif request.target is job:
            task = self.rig.engine.tasks[request.task_id].draft
            name, _, index = task.node.partition("[")
            traits = self.by_name[name]
            match end_of(traits, int(index[:-1] or 0) if index else 0, request.attempt):
                case "fails":
                    worker.fail(ValueError("planted"))
                case "is lost":
                    worker.fail(Failure(FailureKind.LOST, "planted"))
                case _:
                    worker.finish(list(range(traits.size)))
        else:
            try:
                worker.finish(request.target(*request.args))
            except Exception as error:
                worker.fail(error)

    def check_upstream(self, request: Any) -> None:
        """It is handed the results of those that have succeeded, as they were."""
        task = self.rig.engine.tasks[request.task_id].draft
        for dep in self.by_name[task.node.partition("[")[0]].deps:
            above = self.traits[dep]
            value = request.upstream[above.name]
            if above.is_map:
                assert value is None or all(each in (None, list(range(above.size))) for each in value)
            else:
                assert value in (None, list(range(above.size)))
            if self.by_name[task.node.partition("[")[0]].join is JoinMode.ALL_SUCCEEDED and "[" not in task.node:
                assert value is not None

    def act(self, number: int) -> None:
        """Do something to the run."""
        digits = Digits(number)
        verb, pick = digits.take(16), digits.number
        running = self.rig.executor.running
        node = self.traits[pick % len(self.traits)].name
        if verb <= 7:
            if running:
                self.play(running[pick % len(running)])
        elif verb == 8 and self.asked and pick % 4:
            self.asked.popleft()()
        elif verb == 8:
            self.rig.advance(5)
        else:
            try:
                self.steer(verb, pick, node)
            except TaskError:
                pass  # what is refused is refused
        self.settle()

    def steer(self, verb: int, pick: int, node: str) -> None:
        handle = self.run[node]
        match verb:
            case 9:
                self.run.skip(node)
            case 10:
                if handle.status is S.PAUSED:
                    if not self.live.paused:
                        handle.resume()
                else:
                    handle.pause(wait=False)
            case 11:
                self.run.pause(wait=False)
            case 12:
                self.run.resume()
            case 13:
                before = {each.node: each for each in self.run.snapshots()}
                names = self.run.retry_failed()
                assert all(before[name].status in BAD | {S.STOPPING} for name in names)
            case 14:
                if not self.live.paused:
                    handle.retry(force=True)
            case 15:
                if pick % 5 == 0:
                    self.run.stop(wait=False) if pick % 2 else self.run.cancel(wait=False)
                else:
                    handle.stop(wait=False) if pick % 2 else handle.cancel(wait=False)

    def drain(self) -> None:
        """Let everything come to its end."""
        self.run.resume()
        for _ in range(20 * (10 + sum(1 for _ in self.live.members()))):
            for live in list(self.live.members()):
                if live.draft.status is S.PAUSED:
                    self.rig.controller.resume(live.draft.task_id)
            while self.asked:
                self.asked.popleft()()
            running = list(self.rig.executor.running)
            for worker in running:
                self.play(worker)
            self.rig.settle()
            if not self.rig.executor.running:
                self.rig.advance(5)
                if not self.rig.executor.running and not self.asked and self.run.done():
                    break
        self.settle()
        self.check_rest()

    def check_rest(self) -> None:
        open_ones = [(each.node, each.status) for each in self.run.snapshots() if each.status not in TERMINAL]
        assert not open_ones, f"never ended: {open_ones}; {self.run!r}"
        assert self.run.status is self.folded()
        assert not self.rig.engine.ready.holding
        assert not len(self.rig.engine.ready)
        assert not self.live.held
        assert not self.live.tickets
        check_audit(self.rig.store, settled=True)

    def folded(self) -> PipelineRunStatus:
        """The status, from scratch."""
        tasks = self.run.snapshots()
        ends = [self.run[name].status for name in self.sinks]
        counts = Counter(task.status for task in tasks)
        return fold(
            self.policy,
            Standing(counts, len(tasks), len(ends), ends.count(S.SUCCEEDED), len(ends), asked=self.live.asked),
        )


def wanted(join: JoinMode, ends: list[TaskStatus]) -> Verdict | None:
    """What the design's table makes of upstream nodes."""
    bad, settled = any(end in BAD for end in ends), all(end in TERMINAL for end in ends)
    succeeded, skipped = S.SUCCEEDED in ends, S.SKIPPED in ends
    if not ends or (join is JoinMode.ANY_SUCCEEDED and succeeded):
        return Verdict.RUN
    if bad and join in (JoinMode.ALL_SUCCEEDED, JoinMode.NONE_FAILED):
        return Verdict.CANCEL
    if not settled:
        return None
    if join is JoinMode.ALL_DONE:
        return Verdict.RUN
    if join is JoinMode.ANY_SUCCEEDED:
        return Verdict.CANCEL if bad else Verdict.SKIP
    if join is JoinMode.ALL_SUCCEEDED:
        return Verdict.SKIP if skipped else Verdict.RUN
    return Verdict.RUN if succeeded else Verdict.SKIP


def expected(world: World) -> dict[str, TaskStatus]:
    """How every node ends when nobody interferes and independent branches go on."""
    found: dict[str, TaskStatus] = {}
    for traits in world.traits:
        ends = [found[f"n{dep}"] for dep in traits.deps]
        match wanted(traits.join, ends):
            case Verdict.CANCEL:
                found[traits.name] = S.CANCELLED
            case Verdict.SKIP:
                found[traits.name] = S.SKIPPED
            case _:
                found[traits.name] = _run_to_its_end(world, traits, ends)
    return found


def _run_to_its_end(world: World, traits: Traits, ends: list[TaskStatus]) -> TaskStatus:
    if traits.when == "raises":
        return S.FAILED
    if traits.when == "no":
        return S.SKIPPED
    if not traits.is_map:
        return _last_attempt(traits, 0)
    size = traits.size
    if traits.kind == "node":
        source = traits.deps[0]
        fan = world.live.maps.get(source)
        if fan is not None and fan.expanded:  # what did not succeed of a map is None in its list
            size = len(fan.tasks)
        elif ends[0] is S.SUCCEEDED:
            size = world.traits[source].size
        else:
            return S.FAILED  # it has no items
    tasks = {_last_attempt(traits, index) for index in range(size)}
    return S.CANCELLED if tasks - {S.SUCCEEDED} else S.SUCCEEDED


def _last_attempt(traits: Traits, index: int) -> TaskStatus:
    for attempt in range(1, traits.attempts + 1):
        end = end_of(traits, index, attempt)
        if end == "succeeds":
            return S.SUCCEEDED
        if end == "is lost":
            return S.LOST
    return S.FAILED


def dags(most: int) -> st.SearchStrategy[list[int]]:
    """The nodes of a pipeline."""
    half = st.integers(0, 2**20 - 1)  # of larger ranges Hypothesis draws small numbers mostly
    number = st.builds(lambda low, high: low + (high << 20), half, half)
    return st.integers(1, most).flatmap(lambda count: st.lists(number, min_size=count, max_size=count))


policies = st.integers(0, 8)
steered = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@settings(steered, max_examples=60)
@given(dags(60))
def test_runs_that_are_left_alone_end_as_their_nodes_say(numbers):
    """Every node ends as the joins, conditions, items and attempts of those before it make it."""
    world = World(numbers, 0)
    world.drain()
    assert world.run.statuses() == expected(world)


@settings(steered, max_examples=40)
@given(dags(40))
def test_to_retry_all_that_failed_one_by_one_is_to_retry_the_run(numbers):
    """Each of them lets wait again what it had blocked; the last one, what they had blocked together."""
    once, singly = World(numbers, 0), World(numbers, 0)
    for world in (once, singly):
        world.drain()
    once.run.retry_failed()
    for task in singly.run.snapshots():
        if task.status in (S.FAILED, S.LOST):
            singly.rig.controller.retry(task.task_id, force=True)
            singly.settle()
    for world in (once, singly):
        world.drain()
    assert singly.run.statuses() == once.run.statuses()


@settings(steered, max_examples=110)
@given(dags(40), policies, st.lists(st.integers(0, 2**20 - 1), max_size=60))
def test_runs_that_are_steered_come_to_rest(numbers, policy, script):
    """Whatever is skipped, paused, stopped, retried: no deadlock, no early or double start, no limit exceeded."""
    world = World(numbers, policy)
    for number in script:
        world.act(number)
    world.drain()
    for _ in range(2):
        before = {task.node: task for task in world.run.snapshots()}
        again = world.run.retry_failed()
        assert set(again) <= {name for name, task in before.items() if task.status in BAD}
        world.drain()
        for task in world.run.snapshots():
            if before.get(task.node, task).status is S.SUCCEEDED and task.node in before:
                assert task.status_version == before[task.node].status_version


@settings(steered, max_examples=200)
@given(dags(300), policies, st.lists(st.integers(0, 2**20 - 1), max_size=20))
def test_large_runs_come_to_rest(numbers, policy, script):
    """The same with up to 300 nodes."""
    world = World(numbers, policy)
    for number in script:
        world.act(number)
    world.drain()
