"""When an attempt is out of time: from three limits, the pauses left out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.failures import FailureKind
from chongming_task.core.limits import AttemptWatch, next_limit
from chongming_task.core.policies import Timeout

START, ATTEMPT, IDLE = FailureKind.TIMEOUT_START, FailureKind.TIMEOUT_ATTEMPT, FailureKind.TIMEOUT_IDLE
ALL = Timeout(start=10, per_attempt=60, idle=20)


def test_the_start_limit_runs_from_the_launch_until_user_code_begins():
    """No other limit runs meanwhile, and this one is over then."""
    watch = AttemptWatch(launched=100)
    assert next_limit(ALL, watch, None) == (110, START)
    assert next_limit(Timeout(per_attempt=1, idle=1), watch, None) is None
    watch.started = 104
    assert next_limit(Timeout(start=10), watch, None) is None


def test_the_earliest_limit_is_told():
    """Idle from the last checkpoint, the attempt's from its start."""
    watch = AttemptWatch(launched=100, started=104)
    assert next_limit(ALL, watch, None) == (124, IDLE)
    assert next_limit(ALL, watch, 130) == (150, IDLE)
    assert next_limit(ALL, watch, 150) == (164, ATTEMPT)
    assert next_limit(Timeout(per_attempt=60), watch, 150) == (164, ATTEMPT)
    assert next_limit(Timeout(idle=20), watch, 150) == (170, IDLE)


def test_no_limit_is_no_limit():
    """Before the start, while running, and after a pause."""
    watch = AttemptWatch(launched=0)
    assert next_limit(Timeout(), watch, None) is None
    watch.started = 1
    assert next_limit(Timeout(), watch, 5) is None


def test_a_checkpoint_before_the_start_does_not_count():
    """Moments are compared, not taken on trust."""
    watch = AttemptWatch(launched=100, started=104)
    assert next_limit(Timeout(idle=20), watch, 50) == (124, IDLE)


def test_no_limit_runs_while_it_is_held():
    """However long that takes."""
    watch = AttemptWatch(launched=100, started=104)
    watch.hold(110)
    assert next_limit(ALL, watch, 109) is None


def test_time_spent_paused_is_not_counted():
    """The attempt's limit moves by the pauses; idle begins anew at the end of the last one."""
    watch = AttemptWatch(launched=100, started=104)
    watch.hold(110)
    watch.go_on(1110)
    assert next_limit(Timeout(per_attempt=60), watch, 110) == (1164, ATTEMPT)
    assert next_limit(Timeout(idle=20), watch, 110) == (1130, IDLE)
    watch.hold(1120)
    watch.go_on(1125)
    assert next_limit(Timeout(per_attempt=60), watch, 1119) == (1169, ATTEMPT)
    assert next_limit(Timeout(idle=20), watch, 1140) == (1160, IDLE)


def test_who_was_told_is_not_told_again():
    """The grace has its own timer."""
    watch = AttemptWatch(launched=100, started=104, overdue=True)
    assert next_limit(ALL, watch, None) is None


def test_the_watch_tells_both_times():
    """Pauses included, and the pauses alone, also in the middle of one."""
    watch = AttemptWatch(launched=100)
    assert (watch.seconds(105), watch.paused_seconds(105)) == (5, 0)
    watch.hold(110)
    assert (watch.seconds(113), watch.paused_seconds(113)) == (13, 3)
    watch.go_on(120)
    watch.hold(130)
    assert watch.paused_seconds(131) == 11


def test_a_pause_that_begins_or_ends_twice_counts_once():
    """Doubled reports."""
    watch = AttemptWatch(launched=0)
    watch.hold(10)
    watch.hold(15)
    watch.go_on(20)
    watch.go_on(30)
    assert watch.held_seconds == 10
    assert watch.resumed == 20


def test_no_duration_is_negative():
    """Should a moment come out of order."""
    watch = AttemptWatch(launched=100)
    watch.hold(110)
    assert (watch.seconds(90), watch.paused_seconds(90)) == (0, 0)
    watch.go_on(90)
    assert watch.held_seconds == 0


GAPS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 500)), max_size=6)


@given(GAPS, st.integers(1, 100))
@settings(deadline=None)
def test_pauses_move_the_limit_by_exactly_their_length(gaps, per_attempt):
    """Running for ``per_attempt`` seconds in all, however it is cut up."""
    watch, now, ran = AttemptWatch(launched=0, started=0), 0.0, 0.0
    for running, paused in gaps:
        now, ran = now + running, ran + running
        watch.hold(now)
        now += paused
        watch.go_on(now)
    due = next_limit(Timeout(per_attempt=per_attempt), watch, None)
    assert due is not None
    assert due[0] - now == pytest.approx(per_attempt - ran)
    assert watch.seconds(now) - watch.paused_seconds(now) == pytest.approx(ran)


def test_what_was_held_before_it_began_is_no_part_of_its_time():
    """A worker that was held on its way to user code has its whole limit from there."""
    watch = AttemptWatch(launched=0.0)
    watch.hold(1.0)
    watch.go_on(5.0)
    watch.start(6.0)
    assert next_limit(Timeout(per_attempt=9), watch, None) == (15.0, FailureKind.TIMEOUT_ATTEMPT)
    watch.hold(7.0)
    watch.go_on(9.0)
    assert next_limit(Timeout(per_attempt=9), watch, None) == (17.0, FailureKind.TIMEOUT_ATTEMPT)
