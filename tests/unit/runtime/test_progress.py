"""Progress: throttled, never wrong for want of a number, and the last one always arrives."""

from __future__ import annotations

import fractions
import threading

import pytest

from chongming_task import ProgressUpdated
from chongming_task.core.triggers import Held
from chongming_task.errors import TaskCancelled
from chongming_task.runtime.token import CancellationToken
from chongming_task.testing import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def reports():
    return []


@pytest.fixture
def token(clock, reports):
    return CancellationToken(1, reports.append, clock.monotonic)


@pytest.mark.parametrize("total", [100_000, 10, 0, -1, None, float("nan"), 1e-9, 10**400], ids=lambda n: f"{n!s:.8}")
def test_a_hundred_thousand_calls_are_few_reports(token, clock, reports, total):
    """One for each hundredth of the way or half second, also when the total is wrong or unknown."""
    for done in range(1, 100_001):
        token.report(done, total, "rows", None)
        clock.advance(0.0001)
    assert 1 <= len(reports) <= 100 + 20 + 1
    assert token.progress.done == 100_000  # whatever was reported, a look finds the last word


def test_each_percent_is_told_even_within_a_moment(token, reports):
    """A fast task is seen to move."""
    for done in range(1001):
        token.report(done, 1000, None, None)
    assert 99 <= len(reports) <= 102


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (3, 3),
        (2.5, 2.5),
        (fractions.Fraction(1, 2), 0.5),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (True, 1.0),
    ],
)
def test_numbers_are_made_plain(token, given, kept):
    """Numbers of other libraries too; what JSON cannot hold is left out."""
    token.report(given, given, None, None)
    assert (token.progress.done, token.progress.total) == (kept, kept)


def test_numpy_numbers_are_numbers(token):
    """Loops over arrays count in them."""
    numpy = pytest.importorskip("numpy")
    token.report(numpy.int64(5), numpy.int32(10), None, None)
    assert (token.progress.done, token.progress.total, type(token.progress.done)) == (5.0, 10.0, float)


def test_what_is_no_number_is_told_to_the_task(token):
    """It fails where the mistake is, not in the engine."""
    with pytest.raises(ValueError, match="half"):
        token.report("half", None, None, None)


class Loud:
    """Its text cannot be had."""

    def __str__(self):
        raise KeyError("no text")


def test_text_is_made_in_the_task(token):
    """An object as message becomes text in the worker; one that cannot is the task's own error."""
    token.report(1, None, 5, ["a", "b"])
    assert (token.progress.unit, token.progress.message) == ("5", "['a', 'b']")
    with pytest.raises(KeyError):
        token.report(1, None, None, Loud())
    token.report(2, None, None, "nul \x00 and \ud800")
    assert token.progress.message == "nul ␀ and �"
    token.report(2, None, None, "x" * 10_000)
    assert len(token.progress.message) == 200


def test_the_engine_tells_few_events_and_the_last(make_rig):
    """Through the engine and the bus: bounded, and the final word comes before the end."""
    rig = make_rig()
    heard = []
    done = threading.Event()
    with rig.controller.watch(
        lambda event: (heard.append(event), done.set() if event.progress.done == 999 else None), types=[ProgressUpdated]
    ):
        handle, worker = rig.running()
        for number in range(1000):
            worker.report(number, 999)
            rig.clock.advance(0.001)
            if number % 10 == 0:
                rig.settle()
        worker.finish()
        rig.settle()
        assert done.wait(10)
    assert len(heard) <= 103
    assert heard[-1].progress.fraction == 1.0
    assert rig.store.get(handle.id).progress.done == 999


def test_the_same_news_is_told_once(make_rig):
    """Looks that find nothing new are silent, and stop."""
    rig = make_rig()
    handle, worker = rig.running()
    worker.report(1, 2)
    rig.settle()
    told = handle.progress
    worker.report(1, 2)
    for _ in range(5):
        rig.advance(0.5)
    assert handle.progress is told
    assert len(rig.engine.timers) == 1  # the next look at checkpoints


# the token as a gate


def test_a_stop_is_sticky(token):
    """Every checkpoint after it raises again, whatever the task makes of it."""
    token.stop("stop")
    for _ in range(3):
        with pytest.raises(TaskCancelled):
            token.checkpoint()
    token.resume()
    with pytest.raises(TaskCancelled):
        token.checkpoint()


def test_a_pause_that_was_withdrawn_holds_nobody(token, reports):
    """The worker passes, and answers nothing."""
    token.pause(4)
    token.resume()
    token.checkpoint()
    assert reports == []


def test_a_held_worker_answers_each_request(clock):
    """Held by one pause, it goes over into the next without passing; a stop wakes it."""
    held, reports = threading.Semaphore(0), []

    def deliver(report):
        reports.append(report)
        held.release()

    token = CancellationToken(1, deliver, clock.monotonic)
    outcome = []

    def work():
        try:
            token.checkpoint()
        except TaskCancelled:
            outcome.append("cancelled")

    token.pause(4)
    worker = threading.Thread(target=work)
    worker.start()
    assert held.acquire(timeout=10)
    with token._lock:  # resume and pause again before the worker can wake
        token._pause = 7
        token._open_gate()
    assert held.acquire(timeout=10)
    token.stop("stop")
    worker.join(10)
    assert reports == [Held(1, 4), Held(1, 7)]
    assert outcome == ["cancelled"]


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_sleep_of_nothing_is_a_checkpoint(token, seconds):
    """It returns at once, or raises."""
    token.wait(seconds)
    token.stop("stop")
    with pytest.raises(TaskCancelled):
        token.wait(seconds)
