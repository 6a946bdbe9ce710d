"""The store contract: many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from chongming_task.core.ports import TaskStore, Write
from chongming_task.core.query import TaskQuery
from chongming_task.testing.contract_records import AT, a_command, a_line, a_record, an_edge, born
from chongming_task.testing.store_contract_base import StoreCase

__all__ = ["ThreadsContract"]


class ThreadsContract(StoreCase):
    """Threads write, read and wait at the same time."""

    def together(self, *calls: Callable[[], Any]) -> None:
        """Run calls at once, and raise what any of them raised.

        Args:
            calls: What each thread does.
        """
        barrier = threading.Barrier(len(calls))
        errors: list[BaseException] = []

        def run(call: Callable[[], Any]) -> None:
            try:
                barrier.wait(self.patience)
                call()
            except BaseException as error:  # told below, by the thread that runs the test
                errors.append(error)

        threads = [threading.Thread(target=run, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(self.patience)
            assert not thread.is_alive()
        if errors:
            raise errors[0]

    def test_of_those_who_expect_one_version_one_wins(self) -> None:
        """No version is lost or doubled."""
        with self.two_stores() as (store, other):
            store.commit([Write(a_record(), None)])
            won: list[int] = []

            def race(mine: TaskStore) -> None:
                writes = (Write(a_record(status_version=n + 1), n, (an_edge(n + 1),)) for n in range(25))
                won.extend(write.snapshot.status_version for write in writes if not mine.commit([write]))

            self.together(*(lambda mine=mine: race(mine) for mine in (store, other) * 3))
            record = store.get("t1")
            assert record is not None
            assert len(won) == len(set(won)) == record.status_version
            assert [t.version for t in store.transitions("t1")] == list(range(1, len(won) + 1))

    def test_of_those_who_adopt_a_record_one_wins(self) -> None:
        """No version moves, and still nobody else is told that it was theirs; the losers hear who it is."""
        with self.two_stores() as (store, other):
            names = [f"t{n}" for n in range(20)]
            store.commit([born(name, owner="dead") for name in names])
            won: dict[str, list[str]] = {}
            told: set[tuple[str, str | None]] = set()

            def adopt(mine: TaskStore, owner: str, order: list[str]) -> None:
                for name in order:
                    conflicts = mine.commit([Write(born(name, owner=owner).snapshot, 1, expect_owner="dead")])
                    told.update((conflict.task_id, conflict.owner) for conflict in conflicts)
                    if not conflicts:
                        won.setdefault(name, []).append(owner)

            takers = ((store, "a", names), (other, "b", names), (store, "c", names[::-1]), (other, "d", names[::-1]))
            self.together(*(lambda taker=taker: adopt(*taker) for taker in takers))
            holders = {name: (record := store.get(name)) and record.owner for name in names}
            assert {name: [owner] for name, owner in holders.items()} == won
            assert told == set(holders.items())
            assert len(store.changes()) == len(names)

    def test_the_feed_skips_nobody(self) -> None:
        """A reader that follows meets every transition once, however the commits overlap."""
        with self.two_stores() as (store, other):
            writers, rounds = 4, 25
            told: list[str] = []

            def write(mine: TaskStore, name: int) -> None:
                for n in range(rounds):
                    mine.commit([born(f"w{name}-{n}-{m}") for m in range(3)])

            def follow() -> None:
                cursor, mark = 0, store.wait_for_change(0)
                while len(told) < writers * rounds * 3:
                    page = store.changes(cursor, 7)
                    told.extend(change.transition.task_id for change in page)
                    if page:
                        cursor = page[-1].cursor
                    else:
                        seen, mark = mark, store.wait_for_change(self.patience, mark)
                        assert mark != seen, f"nothing new after {len(told)}"

            calls = [lambda n=n: write((store, other)[n % 2], n) for n in range(writers)]
            self.together(follow, *calls)
            assert len(set(told)) == len(told) == writers * rounds * 3
            assert len(store.query(TaskQuery())) == len(told)

    def test_commands_are_shared_out(self) -> None:
        """Each to one taker."""
        with self.two_stores() as (store, other):
            for n in range(60):
                store.submit_command(a_command(f"c{n}"))
            taken: list[str] = []

            def take(mine: TaskStore, owner: str) -> None:
                while found := mine.claim_commands(owner, now=AT, lease_seconds=60, limit=7):
                    taken.extend(command.id for command in found)

            self.together(*(lambda n=n: take((store, other)[n % 2], f"o{n}") for n in range(4)))
            # Somebody may have been refused a batch that another was about to take: what is left is taken now.
            take(store, "last")
            assert sorted(taken) == sorted(f"c{n}" for n in range(60))

    def test_buckets_are_shared_out(self) -> None:
        """Each to one owner, whoever asks in whatever order."""
        with self.two_stores() as (store, other):
            won: dict[str, frozenset[int]] = {}

            def take(mine: TaskStore, owner: str, buckets: list[int]) -> None:
                won[owner] = mine.claim_buckets(owner, buckets, now=AT, lease_seconds=60)

            many = list(range(32))
            self.together(
                lambda: take(store, "a", many),
                lambda: take(other, "b", many[::-1]),
                lambda: take(store, "c", many[16:] + many[:16]),
            )
            assert sorted(bucket for buckets in won.values() for bucket in buckets) == many

    def test_readers_read_while_others_write(self) -> None:
        """They see whole transactions."""
        with self.two_stores() as (store, other):
            store.commit([born()])

            def write() -> None:
                for n in range(1, 30):
                    store.commit([Write(a_record(status_version=n + 1), n, (an_edge(n + 1),))])
                    store.append_output([a_line(n)])

            def read(mine: TaskStore) -> None:
                for _ in range(40):
                    before = mine.get("t1")
                    trail = mine.transitions("t1")
                    after = mine.get("t1")
                    assert before is not None
                    assert after is not None
                    assert before.status_version <= len(trail) <= after.status_version
                    assert [edge.version for edge in trail] == list(range(1, len(trail) + 1))

            self.together(write, lambda: read(store), lambda: read(other))
            assert len(store.output("t1")) == 29

    def test_closing_ends_a_wait(self) -> None:
        """Whoever waits for a change of a store that is closed goes on."""
        store = self.make_store()
        waited = threading.Event()

        def wait() -> None:
            store.wait_for_change(self.patience * 10)
            waited.set()

        thread = threading.Thread(target=wait)
        thread.start()
        store.close()
        assert waited.wait(self.patience)
        thread.join(self.patience)
