"""The store contract: commands, bucket leases, the feed, what is agreed on."""

from __future__ import annotations

from chongming_task.core.ports import CommandAnswer, TaskStore, Touch, Write
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import BucketLease
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError
from chongming_task.testing.contract_records import (
    AT,
    TEXTS,
    a_command,
    a_line,
    a_record,
    an_edge,
    an_owner,
    born,
    moment,
)
from chongming_task.testing.store_contract_base import StoreCase, raised

__all__ = ["SharingContract"]


def claim(store: TaskStore, owner: str, at: float = 0.0, **options: object) -> list[str]:
    """Take commands for ten seconds; their ids."""
    taken = store.claim_commands(owner, now=moment(at), lease_seconds=10, **options)  # type: ignore[arg-type]
    assert all((c.lease_owner, c.lease_until) == (owner, moment(at + 10)) for c in taken)
    return [command.id for command in taken]


class SharingContract(StoreCase):
    """Of ``core.coordination``."""

    # commands

    def test_commands_come_back(self) -> None:
        """With every field, whatever the text; a second submission changes nothing."""
        with self.two_stores() as (store, other):
            for number, text in enumerate(TEXTS):
                full = a_command(f"c{number}", args={text: [text, None, 1.5]}, actor=text, verb="skip")
                store.submit_command(full)
                store.submit_command(full._replace(actor="somebody else"))
                assert other.command(full.id) == full
            assert [command.id for command in other.commands("t1")] == [f"c{n}" for n in range(len(TEXTS))]
            assert store.command("no such") is None
            assert store.commands("no such") == []

    def test_a_command_is_taken_once(self) -> None:
        """Oldest first, no more than asked for, and by nobody else within the lease."""
        with self.two_stores() as (store, other):
            for number in (3, 1, 2):
                store.submit_command(a_command(f"c{number}"))
            assert claim(store, "a", limit=0) == []
            assert claim(store, "a", limit=2) == ["c3", "c1"]
            assert claim(other, "b") == ["c2"]
            assert claim(store, "a", 9.9) == claim(other, "b", 9.9) == []
            held = store.command("c1")
            assert held == a_command("c1", lease_owner="a", lease_until=moment(10))

    def test_a_lease_that_is_over_is_taken_again(self) -> None:
        """By anybody; the late one is not heard any more."""
        with self.two_stores() as (store, other):
            store.submit_command(a_command())
            assert claim(store, "dead") == ["c1"]
            assert claim(other, "b", 10) == ["c1"]
            assert not store.complete_command("c1", "dead", now=moment(11), outcome="late")
            assert other.complete_command("c1", "b", now=moment(12), outcome={"did": [1]})
            expected = a_command(lease_owner="b", completed_at=moment(12), outcome={"did": [1]})
            assert store.command("c1") == expected
            assert claim(store, "a", 1_000) == []

    def test_completing_twice_is_once(self) -> None:
        """The first outcome stays; a holder whose lease is over may complete as long as nobody else took it."""
        with self.store() as store:
            store.submit_command(a_command())
            assert not store.complete_command("c1", "a", now=AT)
            assert not store.complete_command("no such", "a", now=AT)
            claim(store, "a")
            assert store.complete_command("c1", "a", now=moment(99), outcome=None)
            assert store.complete_command("c1", "a", now=moment(100), outcome="again")
            assert not store.complete_command("c1", "b", now=moment(100), outcome="other")
            assert store.command("c1") == a_command(lease_owner="a", completed_at=moment(99))

    def test_commands_are_taken_for_ones_own_records(self) -> None:
        """Whoever watches a record is its owner; commands for nobody's records are for who asks for all."""
        with self.store() as store:
            store.commit([born("mine", owner="a"), born("theirs", owner="b"), born("nobodys")])
            for task_id in ("theirs", "mine", "nobodys", "unknown"):
                store.submit_command(a_command(f"for {task_id}", task_id))
            assert claim(store, "a", records_of={"a"}) == ["for mine"]
            assert claim(store, "a", records_of=()) == []
            assert claim(store, "c", records_of=["b", "c"]) == ["for theirs"]
            assert claim(store, "a") == ["for nobodys", "for unknown"]

    def test_released_commands_are_for_others(self) -> None:
        """All, or some, but the owner's only, and not what is done."""
        with self.store() as store:
            for number in range(4):
                store.submit_command(a_command(f"c{number}"))
            claim(store, "a", limit=3)
            claim(store, "b")
            store.complete_command("c0", "a", now=AT)
            assert store.release_commands("a", ["c1", "c3"]) == 1
            assert claim(store, "b") == ["c1"]
            assert store.release_commands("a") == 1
            assert store.release_commands("a") == 0
            assert claim(store, "b") == ["c2"]
            released = store.release_commands("b", [])
            assert released == 0

    def test_a_write_completes_its_command_with_it(self) -> None:
        """In the same transaction: a write that loses its race completes nothing."""
        with self.store() as store:
            store.commit([born()])
            store.submit_command(a_command())
            claim(store, "a")
            answer = CommandAnswer("c1", "a", moment(1), "stopped")
            stopped = a_record(status=TaskStatus.STOPPED, status_version=2)
            store.commit([Write(stopped, 5, (an_edge(2, "queued", "stopped"),), answers=(answer,))])
            assert (command := store.command("c1")) is not None
            assert command.completed_at is None
            assert not store.commit([Write(stopped, 1, (an_edge(2, "queued", "stopped"),), answers=(answer,))])
            done = a_command(lease_owner="a", completed_at=moment(1), outcome="stopped")
            assert store.command("c1") == done
            late = CommandAnswer("c1", "b", moment(2), "stolen")
            assert not store.commit([Write(stopped._replace(status_version=3), 2, answers=(late,))])
            assert store.command("c1") == done

    def test_commands_go_with_their_record(self) -> None:
        """When it is pruned; at the latest with the next prune, when they are about no record at all."""
        with self.store() as store:
            store.commit([born(status=TaskStatus.STOPPED), born("t2", status=TaskStatus.STOPPED), born("t3")])
            for task_id in ("t1", "t2", "t3", "no such"):
                store.submit_command(a_command(f"for {task_id}", task_id))
            assert store.prune(1) == 1
            assert store.commands("t1") == store.commands("no such") == []
            store.submit_command(a_command("late", "t1"))
            assert store.command("late") is not None
            assert store.prune(1) == 0
            assert store.command("late") is None
            assert claim(store, "a") == ["for t2", "for t3"]

    # buckets

    def test_a_bucket_has_one_owner(self) -> None:
        """Free ones are taken, one's own are prolonged, others' are not, until their lease is over."""
        with self.two_stores() as (store, other):
            assert store.claim_buckets("a", [0, 1, 2], now=AT, lease_seconds=10) == {0, 1, 2}
            assert other.claim_buckets("b", range(1, 5), now=moment(9), lease_seconds=10) == {3, 4}
            assert store.claim_buckets("a", [2, 3], now=moment(5), lease_seconds=10) == {2}
            assert other.claim_buckets("b", [0, 2], now=moment(10), lease_seconds=10) == {0}
            assert store.claim_buckets("a", [], now=AT, lease_seconds=10) == frozenset()
            assert other.bucket_leases() == [
                BucketLease(0, "b", moment(20)),
                BucketLease(1, "a", moment(10)),
                BucketLease(2, "a", moment(15)),
                BucketLease(3, "b", moment(19)),
                BucketLease(4, "b", moment(19)),
            ]

    def test_buckets_are_renewed_and_released(self) -> None:
        """Only the owner's, also late ones as long as nobody took them."""
        with self.two_stores() as (store, other):
            store.claim_buckets("a", [0, 1, 2], now=AT, lease_seconds=10)
            other.claim_buckets("b", [1, 7], now=moment(10), lease_seconds=10)
            assert store.renew_buckets("a", now=moment(30), lease_seconds=10) == {0, 2}
            assert store.renew_buckets("nobody", now=AT, lease_seconds=10) == frozenset()
            assert store.release_buckets("a", [0, 1, 7]) == 1
            assert [(lease.bucket, lease.owner) for lease in other.bucket_leases()] == [(1, "b"), (2, "a"), (7, "b")]
            assert other.release_buckets("b") == 2
            assert store.bucket_leases() == [BucketLease(2, "a", moment(40))]

    # the feed

    def test_the_feed_tells_everything_once_in_order(self) -> None:
        """Page by page, from wherever a reader stood, also through another store."""
        with self.two_stores() as (store, other):
            assert store.changes() == []
            assert store.last_change() == 0
            for number in range(5):
                store.commit([born(f"t{number}"), born(f"u{number}")])
            told = other.changes()
            assert [c.transition.task_id for c in told] == [f"{x}{n}" for n in range(5) for x in "tu"]
            assert told[0].transition == an_edge(1, task_id="t0")
            cursors = [change.cursor for change in told]
            assert cursors == sorted(set(cursors))
            assert cursors[0] > 0
            page = store.changes(limit=3)
            assert page == told[:3]
            assert store.changes(page[-1].cursor, 4) == told[3:7]
            assert store.changes(cursors[-1]) == store.changes(limit=0) == []
            assert store.last_change() == other.last_change() == cursors[-1]
            other.commit([Write(a_record("t0", status_version=2), 1, (an_edge(2, task_id="t0"),))])
            assert [c.transition for c in store.changes(cursors[-1])] == [an_edge(2, task_id="t0")]

    def test_the_feed_keeps_the_order_within_a_commit(self) -> None:
        """Whatever the rows look like; so does the order of creation."""
        with self.store() as store:
            steps = [("queued", "why"), ("paused", None), ("queued", "why not"), ("stopped", None)]
            edges, source = [], "pending"
            for version, (target, reason) in enumerate(steps, 1):
                edges.append(an_edge(version, source, target, reason=reason))
                source = target
            stopped = a_record(status=TaskStatus.STOPPED, status_version=4, ended_at=AT)
            odd = [born(f"o{n}", **({"pid": n} if n % 2 else {"owner": "a"})) for n in range(6)]
            store.commit([Write(stopped, None, tuple(edges)), *odd])
            assert [change.transition for change in store.changes(limit=4)] == edges
            assert [task.task_id for task in store.query(TaskQuery())] == ["t1", *(f"o{n}" for n in range(6))]

    def test_cursors_are_not_used_again(self) -> None:
        """What is pruned leaves the feed, and a reader still hears of all that is new."""
        with self.store() as store:
            store.commit([born("t1", status=TaskStatus.STOPPED)])
            last = store.changes()[-1].cursor
            store.prune(0)
            assert store.changes() == []
            store.commit([born("t2")])
            assert [change.transition.task_id for change in store.changes(last)] == ["t2"]

    def test_every_change_is_noticed(self) -> None:
        """Whatever it is, and whoever makes it: the mark moves."""
        with self.two_stores() as (store, other):
            store.renew_owner(an_owner("a"))
            mark = other.wait_for_change(0)
            for change in (
                lambda: store.commit([born()]),
                lambda: store.touch([Touch("t1", heartbeat_at=AT)]),
                lambda: store.append_output([a_line(1)]),
                lambda: store.submit_command(a_command()),
                lambda: store.claim_commands("a", now=AT, lease_seconds=1),
                lambda: store.complete_command("c1", "a", now=AT),
                lambda: store.claim_buckets("a", [1], now=AT, lease_seconds=1),
                lambda: store.release_buckets("a"),
                lambda: store.release_owner("a"),
            ):
                change()
                seen, mark = mark, other.wait_for_change(self.patience, mark)
                assert mark != seen

    # what is agreed on

    def test_the_first_to_come_decides(self) -> None:
        """Whoever wants something else is told both values."""
        with self.two_stores() as (store, other):
            assert set(store.meta()) >= {"schema_version"}
            store.fix_meta("num_buckets", "64")
            other.fix_meta("num_buckets", "64")
            error = raised(ConfigurationError, lambda: other.fix_meta("num_buckets", "128"))
            assert "64" in str(error)
            assert "128" in str(error)
            assert other.meta()["num_buckets"] == "64"
