"""One heap for everything later: earliest first, one timer a key, no growth by setting again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.runtime.timers import Timers


def test_the_earliest_comes_first():
    """Up to now, and no further."""
    timers: Timers[str] = Timers()
    for key, due in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        timers.set(key, due)
    assert timers.next_due() == 1.0
    assert list(timers.pop_due(0.9)) == []
    assert list(timers.pop_due(2.0)) == ["a", "b"]
    assert len(timers) == 1
    assert timers.next_due() == 3.0


def test_at_the_same_moment_the_order_is_kept():
    """In which they were set; keys need no order of their own."""
    timers: Timers[object] = Timers()
    keys = [("x", 1), 7, None, ("x", 0), "a"]
    for key in keys:
        timers.set(key, 5.0)
    assert list(timers.pop_due(5.0)) == keys


def test_setting_again_replaces():
    """Later or earlier: the last word counts, and it fires once."""
    timers: Timers[str] = Timers()
    timers.set("later", 1.0)
    timers.set("later", 9.0)
    timers.set("sooner", 8.0)
    timers.set("sooner", 2.0)
    assert len(timers) == 2
    assert list(timers.pop_due(5.0)) == ["sooner"]
    assert timers.next_due() == 9.0
    assert list(timers.pop_due(100.0)) == ["later"]
    assert timers.next_due() is None


def test_a_cleared_timer_does_not_fire():
    """Nor does one that was never set; and one may be set anew, for the same moment."""
    timers: Timers[str] = Timers()
    timers.set("a", 1.0)
    timers.clear("a")
    timers.clear("a")
    timers.clear("nobody")
    assert timers.next_due() is None
    assert list(timers.pop_due(9.0)) == []
    timers.set("a", 1.0)
    assert list(timers.pop_due(9.0)) == ["a"]


def test_what_is_cleared_while_others_fire_does_not_fire():
    """The engine handles one and thereby ends the other."""
    timers: Timers[str] = Timers()
    timers.set("a", 1.0)
    timers.set("b", 2.0)
    fired = []
    for key in timers.pop_due(5.0):
        fired.append(key)
        timers.clear("b")
    assert fired == ["a"]


def test_what_is_set_while_others_fire_fires_when_due():
    """In the same go, where it is due already."""
    timers: Timers[str] = Timers()
    timers.set("a", 1.0)
    fired = []
    for key in timers.pop_due(5.0):
        fired.append(key)
        if key == "a":
            timers.set("now", 4.0)
            timers.set("later", 6.0)
    assert fired == ["a", "now"]
    assert timers.next_due() == 6.0


def test_setting_over_and_over_does_not_grow():
    """An idle limit is set at every look."""
    timers: Timers[str] = Timers()
    timers.set("other", 1e6)
    for number in range(10_000):
        timers.set("idle", float(number))
    assert len(timers._heap) < 100
    assert list(timers.pop_due(1e9)) == ["idle", "other"]
    for number in range(10_000):
        timers.set(str(number), float(number))
        timers.clear(str(number))
    timers.set("last", 0.0)
    assert len(timers._heap) < 100


CALLS = st.lists(
    st.tuples(st.just("set"), st.integers(0, 5), st.integers(0, 20))
    | st.tuples(st.just("clear"), st.integers(0, 5), st.just(0))
    | st.tuples(st.just("pop"), st.just(0), st.integers(0, 20)),
    max_size=150,
)


@given(CALLS)
@settings(deadline=None)
def test_it_does_what_a_dictionary_would(calls):
    """Against the plainest model: look at all of them, every time."""
    timers: Timers[int] = Timers()
    model: dict[int, tuple[int, int]] = {}
    for turn, (call, key, moment) in enumerate(calls):
        if call == "set":
            timers.set(key, moment)
            model[key] = (moment, turn)
        elif call == "clear":
            timers.clear(key)
            model.pop(key, None)
        else:
            due = sorted((at, k) for k, at in model.items() if at[0] <= moment)
            assert list(timers.pop_due(moment)) == [k for _, k in due]
            for _, k in due:
                del model[k]
        assert len(timers) == len(model)
        assert timers.next_due() == (min(model.values())[0] if model else None)
