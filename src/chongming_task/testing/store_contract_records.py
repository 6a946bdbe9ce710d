"""The store contract: records, trails and attempts."""

from __future__ import annotations

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import TaskStore, Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import StoreError
from chongming_task.testing.contract_records import (
    TEXTS,
    a_record,
    an_attempt,
    an_edge,
    born,
    full_record,
    moment,
)
from chongming_task.testing.store_contract_base import StoreCase, raised

__all__ = ["RecordsContract"]

S = TaskStatus


class RecordsContract(StoreCase):
    """Of commit, touch, get, query, counts, transitions, attempts, prune and close."""

    # fidelity

    def test_every_field_comes_back(self) -> None:
        """Equal values of the same types, whatever the text; from another store on the records as well."""
        with self.two_stores() as (store, other):
            for number, text in enumerate(TEXTS):
                task = full_record(f"t{number}", text)
                assert not store.commit([Write(task, None)])
                for reader in (store, other):
                    assert_same(reader.get(task.task_id), task)
                    assert_same(reader.query(TaskQuery(limit=1))[0], task)

    def test_every_field_that_can_change_changes(self) -> None:
        """From nothing to something, and back to nothing."""
        with self.store() as store:
            full = full_record("t1", "明")
            life = TaskSnapshot._fields[TaskSnapshot._fields.index("status") :]
            fresh = full._replace(**{name: TaskSnapshot._field_defaults[name] for name in life})
            for task, version in ((fresh, None), (full, 0), (fresh._replace(status_version=8), 7)):
                assert not store.commit([Write(task, version)])
                assert_same(store.get("t1"), task)

    def test_nothing_comes_back_as_nothing(self) -> None:
        """None stays None, empty stays empty, and neither becomes the other."""
        with self.store() as store:
            bare = a_record()
            empty = a_record("t2", inputs={}, outcome=[], owner="", progress=Progress(), failure=Failure(KIND))
            zero = a_record("t3", outcome=0, bucket=0, pid=0, progress=Progress(0, 0.0), inputs=False)
            text = a_record("t4", outcome="", inputs="null")
            store.commit([Write(task, None) for task in (bare, empty, zero, text)])
            for task in (bare, empty, zero, text):
                assert_same(store.get(task.task_id), task)
            assert store.get("t5") is None
            assert not store.transitions("t5")
            assert not store.attempts("t5")

    def test_trail_and_attempts_come_back(self) -> None:
        """With every field, whatever the text."""
        with self.store() as store:
            for number, text in enumerate(TEXTS):
                task_id = f"t{number}"
                edge = an_edge(1, "running", "failed", task_id, trigger=text, actor=text, reason=text, at=moment(1))
                bare = an_attempt(1, task_id)
                full = an_attempt(
                    2,
                    task_id,
                    status=S.FAILED,
                    ended_at=moment(2),
                    seconds=0.1,
                    paused_seconds=1e-9,
                    failure=Failure(KIND, text, text, text, True, 137),
                    executor=text,
                    pid=1,
                    owner=text,
                    note=text,
                )
                store.commit([Write(a_record(task_id, status_version=1), None, (edge,), (bare, full))])
                assert_same(store.transitions(task_id)[0], edge)
                for found, stored in zip(store.attempts(task_id), (bare, full), strict=True):
                    assert_same(found, stored)
                swapped = (full._replace(attempt=1), bare._replace(attempt=2))
                store.commit([Write(a_record(task_id, status_version=2), 1, (), swapped)])
                assert store.attempts(task_id) == list(swapped)

    def test_what_is_read_is_a_copy(self) -> None:
        """Nobody can change the store by changing what it gave."""
        with self.two_stores() as (store, other):
            store.commit([born()])
            store.transitions("t1").clear()
            store.query(TaskQuery()).clear()
            assert len(other.transitions("t1")) == len(other.query(TaskQuery())) == 1

    # versions

    def test_a_write_that_lost_its_race_is_left_out_and_told(self) -> None:
        """The others of the transaction are stored; nothing of the loser is."""
        with self.store() as store:
            store.commit([Write(a_record(status_version=3), None, (an_edge(3),))])
            conflicts = store.commit(
                [
                    Write(a_record(status_version=9, name="loser"), 2, (an_edge(9),), (an_attempt(),)),
                    born("t2"),
                    Write(a_record(), None),
                    Write(a_record("t3", status_version=1), 0, (an_edge(1, task_id="t3"),)),
                ]
            )
            found = [(c.task_id, c.expected, c.found) for c in conflicts]
            assert found == [("t1", 2, 3), ("t1", None, 3), ("t3", 0, None)]
            assert store.get("t1") == a_record(status_version=3)
            assert store.transitions("t1") == [an_edge(3)]
            assert store.attempts("t1") == []
            assert store.get("t2") is not None
            assert store.get("t3") is None

    def test_writes_of_one_record_in_one_commit_follow_each_other(self) -> None:
        """Each is held against what the one before it left."""
        with self.store() as store:
            conflicts = store.commit(
                [
                    born(),
                    Write(a_record(status_version=2), 1, (an_edge(2),), (an_attempt(1), an_attempt(2))),
                    Write(a_record(status_version=9), 1, (an_edge(9),)),
                    Write(a_record(status_version=3, pid=5), 2, (an_edge(3),), (an_attempt(1, pid=7),), True),
                ]
            )
            assert [(c.expected, c.found) for c in conflicts] == [(1, 2)]
            assert store.get("t1") == a_record(status_version=3, pid=5)
            assert [edge.version for edge in store.transitions("t1")] == [1, 2, 3]
            assert store.attempts("t1") == [an_attempt(1, pid=7)]

    def test_a_second_try_after_a_lost_answer_is_told_by_conflicts(self) -> None:
        """And doubles nothing."""
        with self.store() as store:
            writes = [born(), born("t2")]
            assert not store.commit(writes)
            assert [(c.expected, c.found) for c in store.commit(writes)] == [(None, 1), (None, 1)]
            assert len(store.transitions("t1")) == 1
            assert len(store.changes()) == 2

    def test_a_failing_commit_stores_nothing(self) -> None:
        """A version that the trail holds already is refused, and with it the whole transaction."""
        with self.store() as store:
            store.commit([born()])
            forged = an_edge(1, "pending", "stopped")
            raised(
                StoreError,
                lambda: store.commit([born("t2"), Write(a_record(status_version=2), 1, (forged,), (an_attempt(),))]),
            )
            assert store.get("t2") is None
            assert not store.transitions("t2")
            assert not store.attempts("t1")
            assert store.transitions("t1") == [an_edge(1)]
            assert store.get("t1") == born().snapshot
            assert len(store.changes()) == 1
            assert not store.commit([born("t2")])

    def test_an_empty_commit_is_none(self) -> None:
        """So are an empty touch and no lines."""
        with self.store() as store:
            assert list(store.commit([])) == []
            store.touch([])
            store.append_output([])
            assert store.query(TaskQuery()) == []

    def test_the_trail_only_grows(self) -> None:
        """Attempts are replaced by number and forgotten by a reset; transitions never."""
        with self.store() as store:
            store.commit([Write(a_record(status_version=1), None, (an_edge(1),), (an_attempt(2), an_attempt(1)))])
            store.commit([Write(a_record(status_version=2), 1, (an_edge(2),), (an_attempt(1, seconds=2.5),))])
            assert [(a.attempt, a.seconds) for a in store.attempts("t1")] == [(1, 2.5), (2, None)]
            store.commit([Write(a_record(status_version=3), 2, (an_edge(3),), (an_attempt(1, pid=7),), True)])
            assert store.attempts("t1") == [an_attempt(1, pid=7)]
            assert [edge.version for edge in store.transitions("t1")] == [1, 2, 3]
            assert [edge.version for edge in store.transitions("t1", since_version=1)] == [2, 3]
            assert store.transitions("t1", since_version=3) == []

    # touch

    def test_a_touch_moves_no_version(self) -> None:
        """It sets what it names and leaves the rest; unknown ids and attempts are ignored."""
        with self.store() as store:
            store.commit([Write(a_record(status_version=4, pid=1), None, (), (an_attempt(),))])
            progress = Progress(3, 9, "files", "半", moment(2))
            store.touch([Touch("nobody", abandoned=True), Touch("t1", progress, moment(3), note=(1, "late"))])
            expected = a_record(status_version=4, pid=1, progress=progress, last_heartbeat_at=moment(3))
            assert_same(store.get("t1"), expected)
            assert store.attempts("t1") == [an_attempt(note="late")]
            store.touch([Touch("t1", heartbeat_at=moment(5), abandoned=True, note=(9, "no such attempt"))])
            store.touch([Touch("t1", abandoned=False), Touch("t1")])
            assert store.get("t1") == expected._replace(last_heartbeat_at=moment(5))
            assert store.transitions("t1") == []
            assert not store.commit([Write(a_record(status_version=5), 4)])

    # queries

    def test_queries_filter(self) -> None:
        """Status, tag, name, run, bucket; oldest first, the newest that many."""
        with self.store() as store:
            _six_records(store)

            def ids(**query: object) -> list[str]:
                return [task.task_id for task in store.query(TaskQuery.of(**query))]  # type: ignore[arg-type]

            assert ids() == [f"t{n}" for n in (5, 4, 3, 2, 1, 0)]
            assert ids(status="failed") == ["t2", "t1", "t0"]
            assert ids(status=["failed", "running"]) == ["t2", "t1", "t0"]
            assert ids(status=[]) == []
            assert ids(tag="x") == ["t5", "t4", "t2", "t1"]
            assert ids(tag="X") == ids(tag="") == []
            assert ids(name_prefix="n_1%") == ["t5", "t3", "t1"]
            assert ids(name_prefix="N") == []
            assert len(ids(name_prefix="")) == 6
            assert ids(pipeline_run_id="r1", limit=1) == ["t4"]
            assert ids(buckets=frozenset({0, 5})) == ["t5", "t0"]
            assert ids(buckets=frozenset()) == []
            assert ids(tag="x", status="failed", limit=1) == ["t1"]
            assert ids(limit=2) == ["t1", "t0"]
            assert ids(limit=0) == []
            assert ids(limit=100) == ids()

    def test_a_change_keeps_the_order(self) -> None:
        """The order is that of creation, whatever happens later."""
        with self.store() as store:
            store.commit([born("b"), born("a")])
            store.commit([Write(a_record("b", status_version=2), 1)])
            assert [task.task_id for task in store.query(TaskQuery())] == ["b", "a"]

    def test_counts(self) -> None:
        """By status, of all or of one run; a status without records is left out."""
        with self.store() as store:
            assert store.counts() == {}
            _six_records(store)
            assert store.counts() == {S.FAILED: 3, S.QUEUED: 3}
            assert all(type(status) is S for status in store.counts())
            assert store.counts("r1") == {S.QUEUED: 2}
            assert store.counts("r2") == {}

    # in the end

    def test_prune_drops_the_oldest_ended_records(self) -> None:
        """With all that belongs to them; what has not ended stays."""
        with self.store() as store:
            for number in range(6):
                status = S.QUEUED if number == 0 else sorted(TERMINAL)[number]
                store.commit([born(f"t{number}", status=status, tags=frozenset({"x"}))])
            assert store.prune(2) == 3
            for query in (TaskQuery(), TaskQuery(tag="x")):
                assert [task.task_id for task in store.query(query)] == ["t0", "t4", "t5"]
            assert store.get("t1") is None
            assert not store.transitions("t1")
            assert not store.attempts("t1")
            assert not store.output("t1")
            assert [change.transition.task_id for change in store.changes()] == ["t0", "t4", "t5"]
            assert store.prune(100) == 0
            assert store.prune(0) == 2
            assert not store.commit([born("t1")])
            assert [task.task_id for task in store.query(TaskQuery())] == ["t0", "t1"]
            assert [task.task_id for task in store.query(TaskQuery(tag="x"))] == ["t0"]

    def test_what_is_durable_survives(self) -> None:
        """Closing is idempotent, and another store finds everything."""
        store = self.make_store()
        other = self.open_again(store)
        try:
            store.commit([born()])
            store.close()
            store.close()
            if other is not None:
                assert other.get("t1") == born().snapshot
            assert store.durable or other is None
        finally:
            if other is not None:
                other.close()


KIND = FailureKind.EXCEPTION


def assert_same(found: object, stored: object) -> None:
    """Equal, and of equal types all the way down."""
    assert found == stored
    assert repr(found) == repr(stored) or isinstance(stored, TaskSnapshot)
    if isinstance(stored, TaskSnapshot) and isinstance(found, TaskSnapshot):
        for name, one, two in zip(stored._fields, found, stored, strict=True):
            assert type(one) is type(two), name
            assert isinstance(two, frozenset) or repr(one) == repr(two), name


def _six_records(store: TaskStore) -> None:
    for number in (5, 4, 3, 2, 1, 0):
        store.commit(
            [
                born(
                    f"t{number}",
                    name=f"n_{number % 2}%",
                    status=S.FAILED if number < 3 else S.QUEUED,
                    tags=frozenset({"x", "y"} if number % 3 else ()),
                    pipeline_run_id="r1" if number > 3 else None,
                    bucket=number,
                )
            ]
        )
