"""The store contract: whose records are whose. Leases of owners, and a fence against those who were taken for dead."""

from __future__ import annotations

from chongming_task.core.ports import CommandAnswer, Touch, Write
from chongming_task.core.records import Progress
from chongming_task.core.states import TaskStatus
from chongming_task.testing.contract_records import (
    TEXTS,
    a_command,
    a_record,
    an_attempt,
    an_edge,
    an_owner,
    born,
    moment,
)
from chongming_task.testing.store_contract_base import StoreCase

__all__ = ["OwnersContract"]


def adoption(task_id: str, former: str, owner: str, version: int = 1) -> Write:
    """Take a record over: same version, no step, another owner."""
    taken = born(task_id, owner=owner, status_version=version).snapshot
    return Write(taken, version, expect_owner=former)


class OwnersContract(StoreCase):
    """Of ``OwnerLeases``, ``Write.expect_owner`` and ``Touch.owner``."""

    # leases

    def test_owner_leases_come_back(self) -> None:
        """By owner, with every field, whatever the text; also when they are over."""
        with self.two_stores() as (store, other):
            assert store.owner_leases() == []
            assert not store.release_owner("nobody")
            leases = [an_owner(f"o{n}{text[:500]}", process=text) for n, text in enumerate(TEXTS)]
            odd = [an_owner("", process=None, buckets=()), an_owner("B", -1e9, buckets=(63, 0)), an_owner("a")]
            for lease in (*reversed(leases), *odd):
                store.renew_owner(lease)
            found = other.owner_leases()
            assert found == [odd[0], odd[1], odd[2], *leases]
            assert [type(lease.buckets) for lease in found[:3]] == [tuple, tuple, type(None)]

    def test_an_owner_has_one_lease(self) -> None:
        """The newest; what was released is gone, whoever releases it, and can come again."""
        with self.two_stores() as (store, other):
            store.renew_owner(an_owner("a"))
            other.renew_owner(an_owner("b"))
            renewed = an_owner("a", 5, process=None, buckets=(1, 2))
            store.renew_owner(renewed)
            assert other.owner_leases() == [renewed, an_owner("b")]
            store.renew_owner(an_owner("a"))
            assert other.release_owner("a")
            assert not store.release_owner("a")
            assert store.owner_leases() == [an_owner("b")]
            store.renew_owner(renewed)
            assert other.owner_leases() == [renewed, an_owner("b")]

    def test_a_lease_is_nothing_but_a_lease(self) -> None:
        """Records stay as they are when it comes, goes, or is not there at all."""
        with self.store() as store:
            store.commit([born(owner="a")])
            store.renew_owner(an_owner("a"))
            store.prune(0)
            assert store.owner_leases() == [an_owner("a")]
            store.release_owner("a")
            assert store.get("t1") == born(owner="a").snapshot
            assert len(store.changes()) == 1

    # the fence

    def test_a_write_for_another_owners_record_is_left_out_and_told(self) -> None:
        """With whoever holds it now, also when the version is another one as well; nothing of it is stored."""
        with self.two_stores() as (store, other):
            store.commit([born(owner="a")])
            store.submit_command(a_command())
            store.claim_commands("a", now=moment(0), lease_seconds=10)
            assert not other.commit([adoption("t1", "a", "b")])
            answer = CommandAnswer("c1", "a", moment(1), "stopped")
            late = a_record(status=TaskStatus.STOPPED, status_version=2, owner="a")
            edge = an_edge(2, "queued", "stopped")
            for version in (1, 7):
                write = Write(late, version, (edge,), (an_attempt(),), True, (answer,), expect_owner="a")
                [conflict] = store.commit([write])
                assert (conflict.task_id, conflict.expected, conflict.found) == ("t1", version, 1)
                assert conflict.owner == "b"
                assert "taken over by b" in str(conflict)
            assert store.get("t1") == adoption("t1", "a", "b").snapshot
            assert store.transitions("t1") == [an_edge(1)]
            assert store.attempts("t1") == []
            assert (command := store.command("c1")) is not None
            assert command.completed_at is None

    def test_a_lost_race_for_the_version_names_no_owner(self) -> None:
        """When the record is still the writer's, or the writer asks for no owner, or there is no record."""
        with self.store() as store:
            store.commit([born(owner="a"), born("free")])
            second = a_record(status_version=2, owner="a")
            writes = [
                Write(second, 7, expect_owner="a"),
                Write(second, 7),
                Write(second, None, expect_owner="a"),
                Write(second._replace(task_id="gone"), 1, expect_owner="a"),
            ]
            told = [(c.expected, c.found, c.owner) for c in store.commit(writes)]
            assert told == [(7, 1, None), (7, 1, None), (None, 1, None), (1, None, None)]

    def test_who_expects_an_owner_means_what_is_stored(self) -> None:
        """A new record is nobody's yet; one without an owner is not the writer's; None asks for nothing."""
        with self.store() as store:
            assert not store.commit([born(owner="a")._replace(expect_owner="a"), born("free")])
            [conflict] = store.commit([adoption("free", "a", "b")])
            assert (conflict.expected, conflict.found, conflict.owner) == (1, 1, None)
            assert not store.commit([adoption("free", "a", "b")._replace(expect_owner=None)])
            record = store.get("free")
            assert record is not None
            assert record.owner == "b"

    def test_a_record_is_adopted_without_a_step(self) -> None:
        """Same version, no transition: all that may change of it changes, and the feed tells nothing."""
        with self.two_stores() as (store, other):
            store.commit([born(owner="a", inputs={"args": []})])
            taken = born(owner="b", pid=7, inputs={"args": []}).snapshot
            assert not other.commit([Write(taken, 1, expect_owner="a")])
            assert store.get("t1") == taken
            assert store.transitions("t1") == [an_edge(1)]
            assert len(store.changes()) == 1
            [again] = other.commit([Write(taken, 1, expect_owner="a")])  # as after a lost answer
            assert again.owner == "b"
            step = Write(taken._replace(status_version=2), 1, (an_edge(2),), expect_owner="b")
            assert not other.commit([step])

    def test_a_later_write_of_a_commit_sees_the_owner_of_the_earlier(self) -> None:
        """As it does the version."""
        with self.store() as store:
            store.commit([born(owner="a")])
            third = Write(a_record(status_version=2, owner="b"), 1, (an_edge(2),), expect_owner="b")
            conflicts = store.commit(
                [adoption("t1", "a", "b"), adoption("t1", "a", "c"), third, adoption("t1", "b", "d", version=2)]
            )
            assert [(c.expected, c.found, c.owner) for c in conflicts] == [(1, 1, "b")]
            record = store.get("t1")
            assert record is not None
            assert (record.owner, record.status_version) == ("d", 2)
            new = [born("t2", owner="x"), adoption("t2", "y", "z"), adoption("t2", "x", "y")]
            assert [c.owner for c in store.commit(new)] == ["x"]
            assert (record := store.get("t2")) is not None
            assert record.owner == "y"

    def test_the_others_of_a_commit_are_stored(self) -> None:
        """What is fenced off takes nobody with it, in whatever order they come."""
        with self.store() as store:
            store.commit([born(f"t{n}", owner="ab"[n % 2]) for n in range(6)])
            step = [Write(born(f"t{n}", status_version=2, owner="a").snapshot, 1, expect_owner="a") for n in range(6)]
            conflicts = store.commit([*step, born("t9", owner="a")])
            assert [(c.task_id, c.owner) for c in conflicts] == [("t1", "b"), ("t3", "b"), ("t5", "b")]
            versions = [(record := store.get(f"t{n}")) and record.status_version for n in (*range(6), 9)]
            assert versions == [2, 1, 2, 1, 2, 1, 1]

    def test_a_touch_of_a_former_owner_is_ignored(self) -> None:
        """All of it, its note as well; without an owner it is anybody's."""
        with self.store() as store:
            store.commit([born(owner="a")._replace(attempts=(an_attempt(),)), born("free"), born("t3", owner="a")])
            store.commit([adoption("t1", "a", "b")])
            late = Touch("t1", Progress(9), moment(9), abandoned=True, note=(1, "late"), owner="a")
            store.touch([late, late._replace(task_id="free"), Touch("no such", owner="a"), Touch("t3", owner="a")])
            assert store.get("t1") == adoption("t1", "a", "b").snapshot
            assert store.attempts("t1") == [an_attempt()]
            assert store.get("free") == born("free").snapshot
            for touch in (late._replace(owner="b"), late._replace(owner=None, progress=Progress(10), note=(1, "b"))):
                store.touch([touch])
                record = store.get("t1")
                assert record is not None
                assert (record.progress, record.abandoned, record.owner) == (touch.progress, True, "b")
                assert touch.note is not None
                assert store.attempts("t1") == [an_attempt(note=touch.note[1])]
            store.touch([late._replace(task_id="free", owner=None)])
            record = store.get("free")
            assert record is not None
            assert record.last_heartbeat_at == moment(9)
