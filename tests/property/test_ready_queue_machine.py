"""The ready queue against a scan of everything: the same pick every time, whatever was queued, taken out, enlarged.

Twice: by rules that Hypothesis can shrink to a short story, and by long dense histories from a seed, which get into
corners that short stories seldom reach.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chongming_task.runtime.ready_queue import ReadyQueue

TAGS = ("db", "gpu")
BUCKETS = (0, 1)
LIMITS = (*TAGS, *BUCKETS)
Needs = frozenset[object]


@dataclass(frozen=True)
class Queued:
    """What the model knows of a record."""

    needs: Needs
    priority: int
    age: int

    @property
    def order(self) -> tuple[int, int]:
        return -self.priority, self.age


class Both:
    """A queue and its model, to which everything is done alike."""

    def __init__(self, max_parallel: int | None, sizes: dict[object, int]) -> None:
        self.max_parallel = max_parallel
        self.sizes = sizes
        self.queue = ReadyQueue(max_parallel)
        for name, size in sizes.items():
            self.queue.set_limit(name, size)
        self.queued: dict[str, Queued] = {}
        self.running: dict[str, Queued] = {}  # hold their slots
        self.gone: dict[str, Queued] = {}  # taken out, or done; they may come back at their old age
        self.submitted = 0

    def full(self, name: object) -> bool:
        return self.used(name) >= self.sizes[name]

    def used(self, name: object) -> int:
        return sum(name in taken.needs for taken in self.running.values())

    def best(self) -> str | None:
        if self.max_parallel is not None and len(self.running) >= self.max_parallel:
            return None
        full = {name for name in self.sizes if self.full(name)}
        able = [name for name, entry in self.queued.items() if not entry.needs & full]
        return min(able, key=lambda name: self.queued[name].order, default=None)

    def in_order(self) -> list[str]:
        return sorted(self.queued, key=lambda name: self.queued[name].order)

    def new(self, needs: Needs, priority: int) -> tuple[str, Queued]:
        self.submitted += 1
        return f"t{self.submitted}", Queued(needs, priority, self.submitted)

    def put(self, name: str, entry: Queued) -> None:
        self.queued[name] = entry
        self.queue.add(name, entry.needs, priority=entry.priority, age=entry.age)

    def discard(self, name: str) -> None:
        self.gone[name] = self.queued.pop(name)
        self.queue.discard(name)

    def bring_back(self, name: str) -> None:
        self.put(name, self.gone.pop(name))

    def pick(self, wanted: int) -> None:
        for _ in range(wanted):
            best = self.best()
            assert self.queue.pick() == best
            if best is None:
                break
            self.running[best] = self.queued.pop(best)

    def hold(self, needs: Needs) -> None:
        name, entry = self.new(needs, 0)
        self.running[name] = entry
        self.queue.hold(name, needs)

    def release(self, name: str) -> None:
        self.gone[name] = self.running.pop(name)
        self.queue.release(name)

    def resize(self, name: object, size: int) -> None:
        self.sizes[name] = size
        self.queue.set_limit(name, size)


needs = st.tuples(st.sets(st.sampled_from(TAGS)), st.none() | st.sampled_from(BUCKETS)).map(
    lambda both: frozenset(both[0]) | (frozenset() if both[1] is None else {both[1]})
)
priorities = st.integers(-2, 2)
sizes = st.integers(1, 5)


class AgainstAScan(RuleBasedStateMachine):
    """Everything the engine does to its queue."""

    @initialize(max_parallel=st.none() | st.integers(1, 8), several=st.tuples(*[sizes] * len(LIMITS)))
    def make(self, max_parallel: int | None, several: tuple[int, ...]) -> None:
        self.both = Both(max_parallel, dict(zip(LIMITS, several, strict=True)))

    @rule(several=st.lists(st.tuples(needs, priorities), min_size=1, max_size=6))
    def submit(self, several: list[tuple[Needs, int]]) -> None:
        for needs, priority in several:
            self.both.put(*self.both.new(needs, priority))

    @precondition(lambda self: self.both.queued)
    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        """Often one of the best: those are what the queue has in its hand."""
        in_order = self.both.in_order()
        self.both.discard(in_order[data.draw(st.integers(0, len(in_order) - 1))])

    @precondition(lambda self: self.both.gone)
    @rule(data=st.data())
    def bring_back(self, data: st.DataObject) -> None:
        """Paused and resumed, or tried again: the same record at its old age."""
        self.both.bring_back(data.draw(st.sampled_from(sorted(self.both.gone))))

    @precondition(lambda self: self.both.queued)
    @rule(data=st.data(), needs=st.none() | needs, priority=priorities)
    def move(self, data: st.DataObject, needs: Needs | None, priority: int) -> None:
        """Queued again while it is queued, elsewhere or with another priority."""
        name = data.draw(st.sampled_from(sorted(self.both.queued)))
        entry = self.both.queued[name]
        self.both.put(name, replace(entry, needs=entry.needs if needs is None else needs, priority=priority))

    @rule(wanted=st.integers(1, 10))
    def pick(self, wanted: int) -> None:
        self.both.pick(wanted)

    @precondition(lambda self: self.both.running)
    @rule(data=st.data(), wanted=st.integers(1, 4))
    def release(self, data: st.DataObject, wanted: int) -> None:
        running = st.sampled_from(sorted(self.both.running))
        for name in data.draw(st.lists(running, min_size=1, max_size=wanted, unique=True)):
            self.both.release(name)

    @rule()
    def let_go_of_what_is_not_there(self) -> None:
        self.both.queue.release("nobody")
        self.both.queue.discard("nobody")

    @rule(needs=needs)
    def hold(self, needs: Needs) -> None:
        """A record that runs already, adopted: whether or not there is room."""
        self.both.hold(needs)

    @rule(name=st.sampled_from(LIMITS), size=sizes)
    def resize(self, name: object, size: int) -> None:
        self.both.resize(name, size)

    @invariant()
    def both_know_the_same(self) -> None:
        if not hasattr(self, "both"):
            return
        both = self.both
        assert len(both.queue) == len(both.queued)
        assert set(both.queue.holding) == set(both.running)
        assert all(name in both.queue for name in both.queued)
        assert "nobody" not in both.queue
        for name in LIMITS:
            assert both.queue.usage(name) == (both.used(name), both.sizes[name])

    @invariant()
    def a_record_waits_for_what_is_full(self) -> None:
        if not hasattr(self, "both"):
            return
        for name, entry in self.both.queued.items():
            waits_for = self.both.queue.waits_for(name)
            assert len(waits_for) == len(set(waits_for))
            assert set(waits_for) == {limit for limit in entry.needs if self.both.full(limit)}
        assert self.both.queue.waits_for("nobody") == []

    def teardown(self) -> None:
        """In the end, everything that can run has run."""
        while hasattr(self, "both") and self.both.queued:
            self.both.pick(1000)
            for name in sorted(self.both.running):
                self.both.release(name)


TestAgainstAScan = AgainstAScan.TestCase
TestAgainstAScan.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)


WEIGHTS = {"submit": 35, "discard": 15, "back": 10, "move": 5, "resize": 5, "hold": 2, "release": 15, "pick": 13}


def dense_history(dice: random.Random, steps: int) -> None:
    """Many records, few slots: nearly every step meets a full limit or a head that has left."""
    names = ("db", "gpu", "net", 0, 1, 2)
    both = Both(dice.choice([None, None, 3, 6]), {name: dice.randint(1, 4) for name in names})

    def some_needs() -> Needs:
        tags: list[object] = list(dice.sample(("db", "gpu", "net"), dice.choice([0, 1, 1, 2, 3])))
        return frozenset(tags + ([dice.randint(0, 2)] if dice.random() < 0.5 else []))

    for _ in range(steps):
        (what,) = dice.choices(list(WEIGHTS), list(WEIGHTS.values()))
        if what == "submit":
            for _ in range(dice.randint(1, 4)):
                both.put(*both.new(some_needs(), dice.randint(-1, 1)))
        elif what == "discard" and both.queued:
            both.discard(dice.choice(both.in_order()[:4]))
        elif what == "back" and both.gone:
            both.bring_back(dice.choice(list(both.gone)))
        elif what == "move" and both.queued:
            name = dice.choice(list(both.queued))
            both.put(name, replace(both.queued[name], needs=some_needs(), priority=dice.randint(-1, 1)))
        elif what == "resize":
            both.resize(dice.choice(names), dice.randint(1, 5))
        elif what == "hold":
            both.hold(some_needs())
        elif what == "release":
            for name in dice.sample(list(both.running), min(len(both.running), dice.randint(1, 3))):
                both.release(name)
        elif what == "pick":
            both.pick(dice.randint(1, 6))


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_long_history_agrees_with_a_scan(seed):
    """Three hundred steps from a seed."""
    dense_history(random.Random(seed), 300)
