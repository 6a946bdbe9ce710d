"""Who makes the engine tick: it goes on after a fault, and nobody waits for one that has ended."""

from __future__ import annotations

import threading

import pytest

from chongming_task.runtime.driver import ManualDriver, ThreadDriver
from chongming_task.testing import FakeClock

PATIENCE = 20


class StubEngine:
    """Counts its ticks; the first ones fail."""

    def __init__(self, failing=0):
        self.failing, self.ticks, self.flushed = failing, 0, 0
        self.calls, self.news = [], threading.Semaphore(0)
        self.clock, self.left = FakeClock(), []

    def call(self, function):
        self.calls.append(function)
        self.news.release()

    def tick(self, timeout=0.0):
        if timeout is None:
            assert self.news.acquire(timeout=PATIENCE)
        self.ticks += 1
        if self.ticks <= self.failing:
            raise ValueError("a tick that fails")
        if not self.calls:
            return False
        self.calls.pop(0)()
        return True

    def try_again(self):
        return self.left.pop(0) if self.left else None

    def flush(self):
        self.flushed += 1


def test_a_tick_that_fails_does_not_end_the_thread(caplog):
    """It is logged, and the next one comes."""
    driver, engine, done = ThreadDriver(), StubEngine(failing=2), threading.Event()
    driver.start(engine)
    engine.call(lambda: None)
    engine.call(lambda: None)
    engine.call(done.set)
    engine.news.release()
    engine.news.release()
    assert driver.wait(done, PATIENCE)
    driver.stop()
    assert caplog.text.count("a tick failed") == 2
    assert engine.flushed == 1


def test_nobody_waits_for_a_driver_that_has_ended():
    """What nobody will set is not waited for, however long one would."""
    driver, engine = ThreadDriver(), StubEngine()
    driver.start(engine)
    driver.stop()
    assert driver.wait(threading.Event()) is False
    already = threading.Event()
    already.set()
    assert driver.wait(already, 1e300) is True
    assert driver.wait(threading.Event(), 1e300) is False
    driver.stop()


def test_a_wait_of_any_length_is_a_wait():
    """Longer than the system can wait is as long as it can."""
    driver, engine, done = ThreadDriver(), StubEngine(), threading.Event()
    driver.start(engine)
    engine.call(done.set)
    assert driver.wait(done, 1e300)
    assert driver.wait(threading.Event(), 0) is False
    driver.stop()


def test_the_engine_does_not_wait_for_itself():
    """A callback on its thread that asks for something is told so, instead of holding everybody up for ever."""
    driver, engine, told = ThreadDriver(), StubEngine(), threading.Event()
    driver.start(engine)

    def ask():
        with pytest.raises(RuntimeError, match="cannot wait for the engine"):
            driver.wait(threading.Event())
        told.set()

    engine.call(ask)
    assert driver.wait(told, PATIENCE)
    driver.stop()


@pytest.mark.parametrize("driver", [ThreadDriver(), ManualDriver()], ids=lambda d: type(d).__name__)
def test_a_driver_that_never_started_can_be_stopped(driver):
    """Nothing to end."""
    driver.stop()


def test_a_manual_driver_asks_what_to_do_when_nothing_moves():
    """Until the event is set, or nothing is left."""
    left, done = [1, 2, 3], threading.Event()

    def idle():
        if not left:
            done.set()
            return False
        return bool(left.pop())

    driver = ManualDriver(idle)
    driver.start(StubEngine())
    assert driver.wait(done)
    assert left == []
    assert driver.wait(threading.Event()) is False


def test_a_store_that_comes_back_is_waited_for_at_the_end():
    """As long as it is to be tried again soon; then what is left is told."""
    engine, driver = StubEngine(), ThreadDriver()
    now = engine.clock.monotonic()
    engine.left = [now, now, now + 60, now]
    driver.start(engine)
    driver.stop()
    assert (engine.left, engine.flushed) == ([now], 1)
