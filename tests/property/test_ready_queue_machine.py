"""The ready queue against a scan of everything: the same pick every time, whatever was queued, taken out, enlarged."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chongming_task.runtime.ready_queue import ReadyQueue

TAGS = ("db", "gpu")
BUCKETS = (0, 1)
LIMITS = (*TAGS, *BUCKETS)


@dataclass
class Queued:
    """What the model knows of a record."""

    needs: frozenset[object]
    priority: int
    age: int


needs = st.tuples(st.sets(st.sampled_from(TAGS)), st.none() | st.sampled_from(BUCKETS)).map(
    lambda both: frozenset(both[0]) | (frozenset() if both[1] is None else {both[1]})
)
priorities = st.integers(-2, 2)
sizes = st.integers(1, 5)


class AgainstAScan(RuleBasedStateMachine):
    """Everything the engine does to its queue."""

    def __init__(self) -> None:
        super().__init__()
        self.queued: dict[str, Queued] = {}
        self.holding: dict[str, frozenset[object]] = {}
        self.running: dict[str, Queued] = {}  # picked, and holding
        self.gone: dict[str, Queued] = {}  # taken out, and may come back at their old age
        self.sizes: dict[object, int] = {}
        self.submitted = 0

    @initialize(max_parallel=st.none() | st.integers(1, 8), several=st.lists(sizes, min_size=4, max_size=4))
    def make(self, max_parallel: int | None, several: list[int]) -> None:
        self.max_parallel = max_parallel
        self.queue = ReadyQueue(max_parallel)
        for name, size in zip(LIMITS, several, strict=True):
            self.sizes[name] = size
            self.queue.set_limit(name, size)

    # the model

    def used(self, name: object) -> int:
        return sum(name in taken for taken in self.holding.values())

    def full(self, name: object) -> bool:
        return self.used(name) >= self.sizes[name]

    def best(self) -> str | None:
        if self.max_parallel is not None and len(self.holding) >= self.max_parallel:
            return None
        able = [(-q.priority, q.age, name) for name, q in self.queued.items() if not any(map(self.full, q.needs))]
        return min(able)[2] if able else None

    # what is done

    @rule(needs=needs, priority=priorities)
    def submit(self, needs: frozenset[object], priority: int) -> None:
        self.submitted += 1
        self.put(f"t{self.submitted}", Queued(needs, priority, self.submitted))

    def put(self, name: str, entry: Queued) -> None:
        self.queued[name] = entry
        self.queue.add(name, entry.needs, priority=entry.priority, age=entry.age)

    @rule(several=st.lists(st.tuples(needs, priorities), min_size=3, max_size=8))
    def submit_many(self, several: list[tuple[frozenset[object], int]]) -> None:
        for needs, priority in several:
            self.submit(needs, priority)

    @precondition(lambda self: self.queued)
    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        """Often one of the best: those are what the queue has in its hand."""
        in_order = sorted(self.queued, key=lambda name: (-self.queued[name].priority, self.queued[name].age))
        name = in_order[data.draw(st.integers(0, len(in_order) - 1))]
        self.gone[name] = self.queued.pop(name)
        self.queue.discard(name)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def bring_back(self, data: st.DataObject) -> None:
        """Paused and resumed, or tried again: the same record at its old age."""
        name = data.draw(st.sampled_from(sorted(self.gone)))
        self.put(name, self.gone.pop(name))

    @precondition(lambda self: self.queued)
    @rule(data=st.data(), needs=st.none() | needs, priority=priorities)
    def move(self, data: st.DataObject, needs: frozenset[object] | None, priority: int) -> None:
        """Queued again while it is queued, elsewhere or with another priority."""
        name = data.draw(st.sampled_from(sorted(self.queued)))
        entry = self.queued[name]
        self.put(name, Queued(entry.needs if needs is None else needs, priority, entry.age))

    @rule(wanted=st.integers(1, 10))
    def pick(self, wanted: int) -> None:
        for _ in range(wanted):
            best = self.best()
            assert self.queue.pick() == best
            if best is None:
                break
            self.running[best] = self.queued.pop(best)
            self.holding[best] = self.running[best].needs

    @precondition(lambda self: self.holding)
    @rule(data=st.data(), wanted=st.integers(1, 4))
    def release(self, data: st.DataObject, wanted: int) -> None:
        names = st.lists(st.sampled_from(sorted(self.holding)), min_size=1, max_size=wanted, unique=True)
        for name in data.draw(names):
            del self.holding[name]
            self.queue.release(name)
            if name in self.running:
                self.gone[name] = self.running.pop(name)

    @rule(name=st.sampled_from(["t1", "nobody"]))
    def let_go_of_what_is_not_there(self, name: str) -> None:
        if name not in self.holding:
            self.queue.release(name)
        if name not in self.queued:
            self.queue.discard(name)

    @rule(needs=needs)
    def hold(self, needs: frozenset[object]) -> None:
        """A record that runs already, adopted: whether or not there is room."""
        self.submitted += 1
        name = f"t{self.submitted}"
        self.holding[name] = needs
        self.queue.hold(name, needs)

    @rule(name=st.sampled_from(LIMITS), size=sizes)
    def resize(self, name: object, size: int) -> None:
        self.sizes[name] = size
        self.queue.set_limit(name, size)
        self.pick(10)

    # what must hold

    @invariant()
    def both_know_the_same(self) -> None:
        assert len(self.queue) == len(self.queued)
        assert set(self.queue.holding) == set(self.holding)
        assert all(name in self.queue for name in self.queued)
        assert "nobody" not in self.queue
        for name in LIMITS:
            assert self.queue.usage(name) == (self.used(name), self.sizes[name])

    @invariant()
    def a_record_waits_for_what_is_full(self) -> None:
        for name, entry in self.queued.items():
            waits_for = self.queue.waits_for(name)
            assert len(waits_for) == len(set(waits_for))
            assert set(waits_for) == {limit for limit in entry.needs if self.full(limit)}
        assert self.queue.waits_for("nobody") == []

    def teardown(self) -> None:
        """In the end, everything that can run has run."""
        while self.queued:
            self.pick(1000)
            if self.holding:
                for name in sorted(self.holding):
                    self.queue.release(name)
                self.holding.clear()
                self.running.clear()


TestAgainstAScan = AgainstAScan.TestCase
TestAgainstAScan.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
