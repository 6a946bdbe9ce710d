"""One honest sentence about the store, from any thread."""

from __future__ import annotations

import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from chongming_task import Controller, Health, StoreError
from chongming_task.api.health import health_of
from chongming_task.core.ports import Write
from chongming_task.runtime.journal import Journal
from chongming_task.stores.memory import MemoryTaskStore
from chongming_task.testing import FakeClock
from chongming_task.testing.contract_records import a_record, born
from chongming_task.testing.shaky import ShakyStore
from tests.support.rig import Rig

AT = datetime(2030, 1, 1, 10, 31, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("health", "sentence"),
    [
        (Health(True, AT), "the store takes everything"),
        (
            Health(False, AT, 12, AT - timedelta(seconds=4), "StoreError: disk full", AT + timedelta(seconds=4.2)),
            "12 changes wait: the store has failed since 10:31:05 UTC (StoreError: disk full); next try in 4 s",
        ),
        (
            Health(False, AT, 1, AT, "StoreError: disk full", AT + timedelta(seconds=0.25)),
            "1 change waits: the store has failed since 10:31:09 UTC (StoreError: disk full); next try in 0.2 s",
        ),
        (
            Health(False, AT, 0, AT - timedelta(days=1), "StoreError: disk full"),
            "no change waits: the store has failed since 2029-12-31 10:31:09 UTC (StoreError: disk full)",
        ),
        (
            Health(False, AT, desynced=("a", "b", "c", "d")),
            "the store takes everything else; not stored any more: a, b, c and 1 more",
        ),
        (
            Health(False, AT, 3, unanswered_since=AT - timedelta(seconds=4)),
            "3 changes wait: the store has not answered since 10:31:05 UTC",
        ),
        (
            Health(False, AT, unheard_since=AT - timedelta(seconds=4)),
            "no write has failed; what others ask is not heard since 10:31:05 UTC",
        ),
    ],
    ids=["well", "failing", "failing for a moment", "failing for long", "desynced", "hanging", "deaf"],
)
def test_it_is_told_in_a_sentence(health, sentence):
    """For a log line or a panel."""
    assert str(health) == sentence


def test_it_follows_the_store():
    """Well, failing since, next try, and well again."""
    rig = Rig(ShakyStore())
    assert rig.controller.health == Health(True, rig.clock.now())
    rig.store.down = True
    began = rig.clock.now()
    rig.submit()
    rig.clock.advance(0.125)
    health = rig.controller.health
    assert (health.ok, health.behind, health.failing_since) == (False, 1, began)
    assert health.next_try_at == began + timedelta(seconds=0.25)
    assert health.last_failure == "StoreError: simulated: the store is down"
    rig.store.down = False
    rig.advance(1)
    health = rig.controller.health
    assert (health.ok, health.behind, health.failing_since, health.next_try_at) == (True, 0, None, None)
    rig.end()


def test_a_record_that_is_not_stored_is_no_good_health():
    """Whether somebody else wrote it or the store refuses it."""
    journal, clock = Journal(MemoryTaskStore()), FakeClock()
    journal.store.commit([born("t1")])
    journal.add([Write(a_record("t1", status_version=9), 8)])
    journal.flush(0.0)
    journal.set_aside.add(born("t2"), 0.0)
    health = health_of(journal, clock)
    assert not health.ok
    assert health.desynced == ("t1", "t2")
    assert health.failing_since is None


def test_it_can_be_read_while_the_engine_works():
    """From another thread, at any moment, without a lock: it never raises."""
    journal, clock = Journal(ShakyStore()), FakeClock()
    over = threading.Event()
    faults: list[BaseException] = []

    def read():
        while not over.is_set():
            try:
                str(health_of(journal, clock))
            except BaseException as error:
                faults.append(error)
                return

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=read)
    thread.start()
    try:
        for number in range(3_000):
            journal.store.down = number % 3 == 0
            journal.add([Write(a_record(f"t{number % 50}", status_version=3), 2)])
            journal.flush(float(number))
            journal.set_aside.add(born(f"p{number % 7}"), float(number))
            journal.resync(f"t{number % 50}")
            journal.set_aside.drop(f"p{number % 5}")
    finally:
        over.set()
        thread.join(10)
        sys.setswitchinterval(before)
    assert not faults


class StuckStore(MemoryTaskStore):
    """Does not come back from some calls until it is let go; others raise."""

    def __init__(self):
        super().__init__()
        self.free = threading.Event()
        self.free.set()
        self.entered = threading.Event()
        self.deaf = False

    def commit(self, writes):
        if not self.free.is_set():
            self.entered.set()
            self.free.wait(20)
        return super().commit(writes)

    def claim_commands(self, *args, **options):
        if self.deaf:
            self.entered.set()
            raise StoreError("simulated: cannot be read")
        return super().claim_commands(*args, **options)


def test_a_store_that_does_not_come_back_is_told():
    """It raises nothing, so nothing else would say why nothing goes on."""
    store, clock = StuckStore(), FakeClock()
    journal = Journal(store)
    store.free.clear()
    journal.add([born("t1")])
    flushing = threading.Thread(target=journal.flush, args=(clock.monotonic(),))
    flushing.start()
    assert store.entered.wait(20)
    began = clock.now()
    clock.advance(1)
    assert health_of(journal, clock).ok  # a slow moment is no news
    clock.advance(2)
    health = health_of(journal, clock)
    assert (health.ok, health.unanswered_since, health.behind) == (False, began, 1)
    store.free.set()
    flushing.join(20)
    assert health_of(journal, clock) == Health(True, clock.now())


def test_who_hears_nothing_from_the_store_is_not_well():
    """Others are not heard, and may soon take this controller for dead, though all it writes is stored."""
    store = StuckStore()
    with Controller(store, echo=False) as controller:
        assert controller.submit(len, args=("abc",)).result(20) == 3
        assert controller.health.ok
        store.deaf = True
        until = time.monotonic() + 20
        while controller.health.ok and time.monotonic() < until:
            store.entered.clear()
            controller.submit(len, args=("abc",))
            store.entered.wait(2)
        health = controller.health
        assert not health.ok
        assert health.unheard_since is not None
        assert health.failing_since is None
