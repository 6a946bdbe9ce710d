"""The ready queue, rule by rule; and that a pick costs the same however many records wait behind full limits."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from chongming_task.runtime import ready_queue
from chongming_task.runtime.ready_queue import Limit, ReadyQueue


def queue(max_parallel: int | None = None, **limits: int) -> ReadyQueue:
    made = ReadyQueue(max_parallel)
    for name, size in limits.items():
        made.set_limit(name, size)
    return made


def picks(made: ReadyQueue) -> list[str]:
    return list(iter(made.pick, None))


def test_priority_comes_before_age():
    """Higher first; among equals, older first, whenever it was queued."""
    made = queue()
    for name, priority, age in (("young", 0, 3), ("old", 0, 1), ("urgent", 5, 4), ("later", -1, 0)):
        made.add(name, (), priority=priority, age=age)
    assert picks(made) == ["urgent", "old", "young", "later"]
    assert len(made) == 0
    assert made.pick() is None


def test_a_slot_is_held_until_it_is_given_back():
    """For all records together."""
    made = queue(max_parallel=2)
    for age, name in enumerate("abc"):
        made.add(name, (), priority=0, age=age)
    assert picks(made) == ["a", "b"]
    assert set(made.holding) == {"a", "b"}
    made.release("a")
    assert picks(made) == ["c"]


def test_a_record_takes_a_slot_of_everything_it_needs():
    """And waits for whichever is full, told by name."""
    made = queue(db=1, gpu=1)
    made.add("both", ("db", "gpu"), priority=0, age=1)
    made.add("db", ("db",), priority=0, age=2)
    made.add("gpu", ("gpu",), priority=0, age=3)
    made.add("free", (), priority=0, age=4)
    assert made.waits_for("db") == []
    assert picks(made) == ["both", "free"]
    assert (made.usage("db"), made.usage("gpu")) == ((1, 1), (1, 1))
    assert made.waits_for("db") == ["db"]
    made.release("both")
    assert picks(made) == ["db", "gpu"]


def test_a_full_limit_does_not_hold_up_the_rest():
    """However urgent what waits for it is."""
    made = queue(db=1)
    made.hold("adopted", ("db",))
    made.add("urgent", ("db",), priority=9, age=1)
    made.add("plain", (), priority=0, age=2)
    assert picks(made) == ["plain"]
    made.release("adopted")
    assert picks(made) == ["urgent"]


def test_one_slot_goes_to_the_best_of_those_that_wait():
    """Across combinations of limits."""
    made = queue(db=1, gpu=1)
    made.hold("x", ("db", "gpu"))
    made.add("b", ("db",), priority=0, age=2)
    made.add("a", ("db", "gpu"), priority=0, age=1)
    made.add("c", ("gpu",), priority=1, age=3)
    assert picks(made) == []
    made.release("x")
    assert picks(made) == ["c", "b"]


def test_a_limit_that_grows_lets_as_many_in():
    """And one that shrinks takes nobody's slot away."""
    made = queue(db=1)
    for age, name in enumerate("abcd"):
        made.add(name, ("db",), priority=0, age=age)
    assert picks(made) == ["a"]
    made.set_limit("db", 3)
    assert picks(made) == ["b", "c"]
    made.set_limit("db", 1)
    assert made.usage("db") == (3, 1)
    made.release("a")
    made.release("b")
    assert picks(made) == []
    made.release("c")
    assert picks(made) == ["d"]


def test_what_is_discarded_is_not_picked():
    """Also when it comes back, once."""
    made = queue(max_parallel=1)
    made.add("a", (), priority=0, age=1)
    made.add("b", (), priority=0, age=2)
    made.discard("a")
    made.discard("a")
    made.discard("nobody")
    assert "a" not in made
    made.add("a", (), priority=0, age=1)
    assert "a" in made
    assert len(made) == 2
    assert picks(made) == ["a"]
    made.release("a")
    assert picks(made) == ["b"]
    made.release("b")
    assert picks(made) == []


def test_queuing_again_moves():
    """To another priority or other limits, not to a second place."""
    made = queue(db=1)
    made.add("a", (), priority=0, age=1)
    made.add("b", (), priority=0, age=2)
    made.add("a", ("db",), priority=-1, age=1)
    assert len(made) == 2
    assert picks(made) == ["b", "a"]
    assert made.usage("db") == (1, 1)


def test_a_release_without_a_slot_is_no_error():
    """Nothing goes below zero."""
    made = queue(max_parallel=1, db=1)
    made.release("nobody")
    made.hold("a", ("db",))
    made.release("a")
    made.release("a")
    assert made.usage("db") == (0, 1)


def test_holding_twice_takes_one_slot():
    """Or the second could never be given back."""
    made = queue(max_parallel=2, db=2, gpu=1)
    made.hold("a", ("db",))
    made.hold("a", ("gpu",))
    assert (made.usage("db"), made.usage("gpu")) == ((0, 2), (1, 1))
    made.release("a")
    assert made.usage("gpu") == (0, 1)
    for age, name in enumerate("bc"):
        made.add(name, ("db",), priority=0, age=age)
    assert picks(made) == ["b", "c"]


def test_an_unknown_limit_is_an_error_and_leaves_nothing_behind():
    """Limits are set before they are needed."""
    made = queue()
    with pytest.raises(KeyError):
        made.add("a", ("db",), priority=0, age=1)
    with pytest.raises(KeyError):
        made.hold("a", ("db",))
    assert len(made) == 0
    assert not made.holding
    assert made.pick() is None


# cost


class Counted:
    """Counts the heap operations and the lines of code that the queue spends."""

    def __init__(self) -> None:
        self.heap_operations = 0
        self.lines = 0
        self.heapq = SimpleNamespace(
            heappush=self._of(heapq.heappush), heappop=self._of(heapq.heappop), heapify=self._of(heapq.heapify)
        )

    def _of(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any) -> Any:
            self.heap_operations += 1
            return operation(*args)

        return counting

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != ready_queue.__file__:
            return None
        self.lines += event == "line"
        return self._trace

    @contextmanager
    def counting(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        before = sys.gettrace()
        with monkeypatch.context() as patch:
            patch.setattr(ready_queue, "heapq", self.heapq)
            sys.settrace(self._trace)
            try:
                yield
            finally:
                sys.settrace(before)


PICKS = 1000


def behind_full_limits(waiting: int) -> ReadyQueue:
    """Records of many combinations of limits, all full, with mixed priorities; and some that need none."""
    made = queue(db=1, gpu=1)
    for bucket in range(16):
        made.set_limit(bucket, 1)
        made.hold(f"bucket {bucket}", (bucket,))
    made.hold("db", ("db",))
    made.hold("gpu", ("gpu",))
    for age in range(waiting):
        needs = [("db",), ("gpu",), ("db", "gpu"), ("db", age % 16), (age % 16,)][age % 5]
        made.add(f"waiting {age}", needs, priority=age % 3, age=age)
    for age in range(PICKS):
        made.add(f"free {age}", (), priority=0, age=waiting + age)
    return made


def cost_of_free_picks(waiting: int, monkeypatch: pytest.MonkeyPatch) -> Counted:
    made, counted = behind_full_limits(waiting), Counted()
    with counted.counting(monkeypatch):
        for age in range(PICKS):
            assert made.pick() == f"free {age}"
            made.release(f"free {age}")
    return counted


def cost_of_contended_picks(waiting: int, monkeypatch: pytest.MonkeyPatch) -> Counted:
    made, counted = behind_full_limits(waiting), Counted()
    while made.pick() is not None:
        pass
    with counted.counting(monkeypatch):
        made.release("db")
        for age in range(PICKS):
            picked = made.pick()
            assert picked is not None
            made.release(picked)
            made.add(picked, ("db",), priority=0, age=200_000 + age)
    return counted


@pytest.mark.parametrize("cost", [cost_of_free_picks, cost_of_contended_picks])
def test_a_pick_costs_the_same_however_many_wait(cost, monkeypatch):
    """A hundred times the records behind full limits: about the same heap operations, about the same code."""
    few, many = cost(1_000, monkeypatch), cost(100_000, monkeypatch)
    assert few.heap_operations >= PICKS
    assert many.heap_operations <= 1.5 * few.heap_operations
    assert many.lines <= 1.5 * few.lines
    assert many.heap_operations <= 20 * PICKS


def cost_of_lanes(lanes: int, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Every record needs the one slot, and something of its own that has room."""
    made, counted = queue(db=1), Counted()
    for lane in range(lanes):
        made.set_limit(lane, 10)
    made.hold("x", ("db",))
    for age in range(PICKS):
        made.add(f"t{age}", ("db", age % lanes), priority=0, age=age)
    assert made.pick() is None
    with counted.counting(monkeypatch):
        made.release("x")
        for age in range(PICKS):
            assert made.pick() == f"t{age}"
            assert made.pick() is None
            made.release(f"t{age}")
    return counted


def test_a_slot_that_is_given_back_wakes_one_of_those_that_wait(monkeypatch):
    """Not every combination of limits that could use it."""
    few, many = cost_of_lanes(5, monkeypatch), cost_of_lanes(200, monkeypatch)
    assert many.heap_operations <= 1.5 * few.heap_operations
    assert many.lines <= 1.5 * few.lines


def test_a_limit_that_grows_by_several_serves_the_best_of_all_that_wait():
    """After the first, the next may be of another combination."""
    made = queue(db=1, gpu=9)
    made.hold("x", ("db",))
    for name, needs, age in (("a", ("db",), 1), ("b", ("db", "gpu"), 2), ("c", ("db",), 3)):
        made.add(name, needs, priority=0, age=age)
    assert made.pick() is None
    made.set_limit("db", 4)
    assert picks(made) == ["a", "b", "c"]


def test_the_best_of_those_that_wait_may_have_left():
    """Then the next best of another combination comes first."""
    made = queue(db=1, gpu=9)
    made.hold("x", ("db",))
    for name, needs, age in (("a", ("db",), 1), ("b", ("db", "gpu"), 2), ("c", ("db",), 3)):
        made.add(name, needs, priority=0, age=age)
    assert made.pick() is None
    made.discard("a")
    made.release("x")
    assert made.pick() == "b"
    made.release("b")
    assert made.pick() == "c"


def test_the_best_may_leave_after_it_was_called():
    """A slot was free, its best taker was called, and is paused before the next pick: another one's turn has come."""
    made = queue(db=1, gpu=9)
    made.hold("x", ("db",))
    for name, needs, age in (("a", ("db",), 1), ("b", ("db", "gpu"), 2), ("c", ("db",), 3)):
        made.add(name, needs, priority=0, age=age)
    assert made.pick() is None
    made.release("x")
    made.discard("a")
    assert made.pick() == "b"


def test_pausing_and_resuming_over_and_over_keeps_no_trace(monkeypatch):
    """A record behind a full limit that leaves the queue and comes back ten thousand times is one record."""
    made = queue(db=1)
    made.hold("x", ("db",))
    made.add("other", ("db",), priority=1, age=0)
    for _ in range(10_000):
        made.add("a", ("db",), priority=0, age=1)
        made.discard("a")
    made.release("x")
    counted = Counted()
    with counted.counting(monkeypatch):
        assert picks(made) == ["other"]
        made.release("other")
        assert picks(made) == []
    assert counted.heap_operations < 1_000


def test_a_limit_that_records_bring_along():
    """Nobody has to name it before, and nothing of it is left behind."""
    made, own = ReadyQueue(), Limit(1, name=("map", "load"))
    for number in range(2):
        made.add(f"t{number}", (own,), priority=0, age=number)
    assert (made.pick(), made.pick()) == ("t0", None)
    assert made.waits_for("t1") == [own]
    assert made.usage(own) == (1, 1)
    made.release("t0")
    assert made.pick() == "t1"
    made.release("t1")
    assert made.pick() is None
    assert not made._lanes
