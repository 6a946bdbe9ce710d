"""A course through a store: each look finds what has changed, however that is known, and little else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chongming_task import MemoryTaskStore
from chongming_task.api.attach_following import Course
from chongming_task.core.ports import Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import OwnerLease, Progress
from chongming_task.core.states import TaskStatus
from chongming_task.testing import FakeClock
from chongming_task.testing.contract_records import a_record, an_edge

S = TaskStatus
LONG = timedelta(days=1)


class Counting(MemoryTaskStore):
    """Counts the records that are read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def query(self, query: TaskQuery):
        found = super().query(query)
        self.read += len(found)
        return found


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(clock):
    """A store on which the controllers "a" and "b" live."""
    made = Counting()
    for owner in "ab":
        made.renew_owner(OwnerLease(owner, None, clock.now() + LONG))
    return made


def put(store, *tasks, steps=()):
    """New records."""
    assert not store.commit([Write(task, None, tuple(steps)) for task in tasks])


def running(task_id, owner="a", **fields):
    return a_record(task_id, status=S.RUNNING, live=True, owner=owner, started_at=a_record().created_at, **fields)


def ids(tasks):
    return [task.task_id for task in tasks]


def test_a_look_without_news_reads_nothing(store, clock):
    """However many records there are."""
    put(store, *(a_record(f"t{n}", owner="a") for n in range(1_000)))
    course = Course(store, clock)
    course.note(store.query(TaskQuery()))
    store.read = 0
    assert course.look() == []
    assert store.read == 0


def test_a_transition_is_read_once_and_the_rest_is_left_alone(store, clock):
    """One of a thousand has moved."""
    put(store, *(a_record(f"t{n}", owner="a") for n in range(1_000)))
    course = Course(store, clock)
    store.read = 0
    moved = store.get("t7").evolve({"status": S.QUEUED, "status_version": 1})
    store.commit([Write(moved, 0, (an_edge(1, task_id="t7"),))])
    assert course.look() == [moved]
    assert store.read < 5
    assert course.look() == []


@pytest.mark.parametrize("count", [1, 3, 64, 500])
def test_new_records_are_found_that_have_no_transition(store, clock, count):
    """From an empty store as well as from one that holds some."""
    course = Course(store, clock)
    put(store, *(a_record(f"t{n}", owner="a") for n in range(count)))
    assert ids(course.look()) == [f"t{n}" for n in range(count)]
    put(store, *(a_record(f"u{n}", owner="a") for n in range(count)))
    assert ids(course.look()) == [f"u{n}" for n in range(count)]
    assert course.look() == []


def test_progress_is_followed_of_what_runs_and_of_what_was_given_up(store, clock):
    """Also of records that began before, once they were shown."""
    put(store, running("old"), a_record("given up", status=S.LOST, abandoned=True, owner="a"), a_record("x", owner="a"))
    course = Course(store, clock)
    course.note(store.query(TaskQuery()))
    store.touch([Touch("old", progress=Progress(3)), Touch("given up", abandoned=False)])
    found = {task.task_id: task for task in course.look()}
    assert set(found) == {"old", "given up"}
    assert found["old"].progress.done == 3
    assert not found["given up"].abandoned
    store.touch([Touch("old", progress=Progress(4))])
    assert ids(course.look()) == ["old"]


def test_what_an_owner_leaves_is_told_when_it_goes_and_when_it_comes_back(store, clock):
    """By its lease, where its process cannot be seen."""
    put(store, running("r"), running("other", owner="b"), a_record("q", status=S.QUEUED, owner="a"))
    course = Course(store, clock)
    course.note(store.query(TaskQuery()))
    store.renew_owner(OwnerLease("a", None, clock.now()))
    clock.advance(60)
    lost, stuck = course.look()
    assert (lost.task_id, lost.status) == ("r", S.LOST)
    assert "nobody will start it" in stuck.progress.message
    store.renew_owner(OwnerLease("a", None, clock.now() + LONG))
    assert [(task.task_id, task.status) for task in course.look()] == [("r", S.RUNNING), ("q", S.QUEUED)]


def test_a_record_that_somebody_takes_over_is_told_though_nothing_tells_of_it(store, clock):
    """A change of owner is no transition."""
    put(store, a_record("q", status=S.QUEUED, owner="gone", created_at=clock.now()))
    clock.advance(60)
    course = Course(store, clock)
    course.note(store.query(TaskQuery()))
    assert "nobody will start it" in course.look()[0].progress.message
    taken = store.get("q").evolve({"owner": "b"})
    store.commit([Write(taken, 0)])
    clock.advance(2)
    assert course.look() == [taken]


def test_a_pruned_store_is_followed_on(store, clock):
    """Even when its newest record went."""
    put(store, *(a_record(f"t{n}", status=S.STOPPED, owner="a") for n in range(100)))
    course = Course(store, clock)
    store.prune(0)
    put(store, a_record("new", owner="a"))
    assert ids(course.look()) == ["new"]
