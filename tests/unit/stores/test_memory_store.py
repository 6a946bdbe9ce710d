"""The memory store: the reference for the others."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from chongming_task import Failure, FailureKind, MemoryTaskStore, Progress, TaskStatus
from chongming_task.core.ports import Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition

AT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def store():
    return MemoryTaskStore()


def record(task_id="t1", **changes):
    return TaskSnapshot(task_id, "demo", AT)._replace(**changes)


def edge(version, source="pending", target="queued", task_id="t1"):
    return Transition(task_id, version, TaskStatus(source), TaskStatus(target), "user:start", "user", None, AT)


def attempt(number=1, **changes):
    return AttemptRecord("t1", number, TaskStatus.STARTING, AT)._replace(**changes)


def test_what_is_written_is_read(store):
    """Record, trail and attempts, as equal values of the same types."""
    task = record(
        status=TaskStatus.QUEUED, status_version=1, failure=Failure(FailureKind.LOST, "x"), outcome={"a": [1]}
    )
    assert store.commit([Write(task, None, (edge(1),), (attempt(),))]) == []
    assert store.get("t1") == task
    assert store.transitions("t1") == [edge(1)]
    assert store.attempts("t1") == [attempt()]
    assert store.get("t2") is None
    assert store.transitions("t2") == store.attempts("t2") == []


def test_a_write_that_lost_its_race_is_left_out_and_told(store):
    """The others of the transaction are stored; nothing of the loser is."""
    store.commit([Write(record(status_version=3), None)])
    conflicts = store.commit(
        [
            Write(record(status_version=9), 2, (edge(3),), (attempt(),)),
            Write(record("t2"), None),
            Write(record("t1"), None),
            Write(record("t3", status_version=1), 0),
        ]
    )
    assert [(c.task_id, c.expected, c.found) for c in conflicts] == [("t1", 2, 3), ("t1", None, 3), ("t3", 0, None)]
    assert store.get("t1").status_version == 3
    assert store.transitions("t1") == store.attempts("t1") == []
    assert store.get("t2") is not None
    assert "expected version 2, found 3" in str(conflicts[0])


def test_attempts_are_replaced_by_number_and_forgotten_by_a_reset(store):
    """The trail only grows."""
    store.commit([Write(record(), None, (edge(1),), (attempt(1), attempt(2)))])
    store.commit([Write(record(status_version=1), 0, (edge(2),), (attempt(1, seconds=2.5),))])
    assert [a.seconds for a in store.attempts("t1")] == [2.5, None]
    store.commit([Write(record(status_version=2), 1, (), (attempt(1, pid=7),), clear_attempts=True)])
    assert [a.pid for a in store.attempts("t1")] == [7]
    assert [t.version for t in store.transitions("t1")] == [1, 2]
    assert [t.version for t in store.transitions("t1", since_version=1)] == [2]


def test_a_touch_moves_no_version(store):
    """What it leaves out stays; unknown records and attempts are ignored."""
    store.commit([Write(record(status_version=1), None, (), (attempt(),))])
    store.touch([Touch("t1", Progress(1, 2), heartbeat_at=AT), Touch("t2", Progress(1, 2))])
    store.touch([Touch("t1", abandoned=True, note=(1, "gone")), Touch("t1", note=(7, "none such"))])
    task = store.get("t1")
    assert (task.progress, task.last_heartbeat_at, task.abandoned) == (Progress(1, 2), AT, True)
    assert task.status_version == 1
    assert [a.note for a in store.attempts("t1")] == ["gone"]
    store.touch([Touch("t1", abandoned=False)])
    assert store.get("t1").abandoned is False


def test_questions(store):
    """By status, tag, name, run, bucket; oldest first, the newest that many."""
    for number in range(6):
        task = record(
            f"t{number}",
            name=f"n{number % 2}",
            status=TaskStatus.FAILED if number < 3 else TaskStatus.QUEUED,
            tags=frozenset({"x"} if number % 3 else ()),
            pipeline_run_id="r1" if number > 3 else None,
            bucket=number,
        )
        store.commit([Write(task, None)])

    def ids(**query):
        return [task.task_id for task in store.query(TaskQuery.of(**query))]

    assert ids() == [f"t{n}" for n in range(6)]
    assert ids(status="failed") == ["t0", "t1", "t2"]
    assert ids(tag="x") == ["t1", "t2", "t4", "t5"]
    assert ids(name_prefix="n1") == ["t1", "t3", "t5"]
    assert ids(pipeline_run_id="r1", limit=1) == ["t5"]
    assert ids(buckets=frozenset({0, 5})) == ["t0", "t5"]
    assert ids(limit=2) == ["t4", "t5"]
    assert ids(limit=0) == []
    assert store.counts() == {TaskStatus.FAILED: 3, TaskStatus.QUEUED: 3}
    assert store.counts("r1") == {TaskStatus.QUEUED: 2}


def test_prune_drops_the_oldest_ended_records(store):
    """With all that belongs to them; what has not ended stays."""
    for number in range(6):
        status = TaskStatus.QUEUED if number == 0 else TaskStatus.SUCCEEDED
        store.commit([Write(record(f"t{number}", status=status), None, (edge(1, task_id=f"t{number}"),))])
    assert store.prune(2) == 3
    assert [task.task_id for task in store.query(TaskQuery())] == ["t0", "t4", "t5"]
    assert store.transitions("t1") == []
    assert store.prune(100) == 0
    assert store.prune(0) == 2


def test_it_says_that_nothing_survives_the_process(store):
    """And closing loses nothing that can still be read."""
    store.commit([Write(record(), None)])
    store.close()
    store.close()
    assert not store.durable
    assert store.get("t1") is not None


def test_many_threads_write_one_record(store):
    """Of those who expect the same version one wins; no version is lost."""
    store.commit([Write(record(), None)])
    barrier, won = threading.Barrier(8), []

    def race():
        barrier.wait(20)
        writes = (Write(record(status_version=n + 1), n, (edge(n + 1),)) for n in range(50))
        won.extend(write.expect_version for write in writes if not store.commit([write]))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(won) == len(set(won)) == store.get("t1").status_version
    assert [t.version for t in store.transitions("t1")] == list(range(1, len(won) + 1))
