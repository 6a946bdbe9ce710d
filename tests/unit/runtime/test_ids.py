"""Ids are UUIDv7: they sort by the time they were made, and no two are the same."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from types import SimpleNamespace

import pytest

from chongming_task.runtime import ids
from chongming_task.runtime.ids import new_id


@pytest.fixture
def clock(monkeypatch):
    """A wall clock in milliseconds, and a generator that has seen no other."""
    made = SimpleNamespace(millis=1_900_000_000_000)
    monkeypatch.setattr(ids, "time", SimpleNamespace(time_ns=lambda: made.millis * 1_000_000 + 999_999))
    monkeypatch.setattr(ids, "_generator", ids._Generator())
    return made


def millis_of(text: str) -> int:
    return uuid.UUID(text).int >> 80


def assert_in_order(made: list[str]) -> None:
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    for text in made:
        parsed = uuid.UUID(text)
        assert str(parsed) == text
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)


def test_an_id_tells_when_it_was_made():
    """In milliseconds since 1970, in its first 48 bits."""
    before = time.time_ns() // 1_000_000
    made = [new_id() for _ in range(2_000)]
    assert_in_order(made)
    # A clock that went back earlier in this process may keep the ids ahead of it.
    assert millis_of(made[-1]) >= before
    assert millis_of(made[0]) <= millis_of(made[-1])


def test_ids_of_one_millisecond_are_in_order(clock):
    """Thousands can be made before the clock moves."""
    made = [new_id() for _ in range(5_000)]
    assert_in_order(made)
    assert {millis_of(text) for text in made} == {clock.millis}


def test_ids_stay_in_order_when_the_clock_goes_back(clock):
    """It counts on from where it was until the clock has caught up."""
    made = []
    for step in (0, 5, -10_000, 1, 1, -1, 20_000, 0):
        clock.millis += step
        made += [new_id() for _ in range(3)]
    assert_in_order(made)
    assert millis_of(made[-1]) == clock.millis


def test_the_counter_never_runs_over(clock):
    """Should a millisecond have no more room, the next one begins."""
    made = [new_id()]
    generator = ids._generator
    generator._count = ids._ROOM - 3
    made += [new_id() for _ in range(10)]
    assert_in_order(made)
    assert [millis_of(text) - clock.millis for text in made] == [0] * 3 + [1] * 8
    clock.millis += 1
    made += [new_id() for _ in range(3)]
    clock.millis += 1
    made += [new_id() for _ in range(3)]
    assert_in_order(made)


def test_two_generators_do_not_meet(clock):
    """Two processes in the same millisecond: chance keeps them apart."""
    first = [new_id() for _ in range(1_000)]
    ids._generator = ids._Generator()
    second = [new_id() for _ in range(1_000)]
    assert not set(first) & set(second)


def test_threads_share_one_order():
    """Each sees its own ids in order, and nobody sees one twice."""
    found: list[list[str]] = [[] for _ in range(8)]
    gate = threading.Barrier(8)

    def make(mine: list[str]) -> None:
        gate.wait(10)
        mine += [new_id() for _ in range(500)]

    threads = [threading.Thread(target=make, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for mine in found:
        assert_in_order(mine)
    assert len({text for mine in found for text in mine}) == 8 * 500


FORK = """
import os, signal
from types import SimpleNamespace
from chongming_task.runtime import ids
ids.time = SimpleNamespace(time_ns=lambda: 1_900_000_000_000_000_000)  # all in one millisecond
ids.new_id()
ids._generator._lock.acquire()  # as another thread may, at the moment of the fork
read, write = os.pipe()
if os.fork() == 0:
    signal.alarm(20)
    os.write(write, "\\n".join(ids.new_id() for _ in range(50)).encode())
    os._exit(0)
ids._generator._lock.release()
os.close(write)
os.wait()
theirs = open(read).read().split()
ours = [ids.new_id() for _ in range(50)]
print(len(theirs), len(set(ours) & set(theirs)))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork on this platform")
def test_a_forked_process_makes_ids_of_its_own():
    """It begins where its parent stood, and must not go on as its parent does; nor wait for a lock nobody will open."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["50", "0"], done.stderr
