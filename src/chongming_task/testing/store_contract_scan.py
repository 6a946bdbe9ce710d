"""The store contract: many rows at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import TaskStore, Write
from chongming_task.core.query import Scan, Table, TaskQuery
from chongming_task.core.states import TaskStatus
from chongming_task.stores.codec import (
    attempt_from,
    attempt_row,
    line_from,
    line_row,
    task_from,
    task_row,
    transition_from,
    transition_row,
)
from chongming_task.testing.contract_records import TEXTS, a_line, a_record, an_attempt, an_edge, full_record, moment
from chongming_task.testing.store_contract_base import StoreCase

__all__ = ["ScanContract"]

S = TaskStatus
T = Table


class ScanContract(StoreCase):
    """Of scan."""

    def test_rows_are_those_of_the_codec(self) -> None:
        """Of every table, whatever the text; what is made of them equals what the other methods give."""
        with self.two_stores() as (store, other):
            writes, lines = [], []
            for number, text in enumerate(TEXTS):
                task_id = f"t{number}"
                failed = Failure(FailureKind.EXCEPTION, text, text, text, True, 137)
                attempt = an_attempt(2, task_id, ended_at=moment(2), seconds=0.1, failure=failed, note=text)
                edges = (an_edge(1, task_id=task_id, actor=text), an_edge(2, task_id=task_id, reason=text))
                writes.append(Write(full_record(task_id, text), None, edges, (an_attempt(1, task_id), attempt)))
                lines += [a_line(1, clipped(text), task_id), a_line(2, "x", task_id, level=20)]
            assert not store.commit([*writes, Write(a_record("bare"), None)])
            store.append_output(lines)
            tasks, attempts, edges_found, output = other.scan(*map(Scan, Table))
            assert plain(tasks) == plain(map(task_row, store.query(TaskQuery())))
            assert list(map(task_from, tasks)) == store.query(TaskQuery())
            ids = [f"t{number}" for number in range(len(TEXTS))]
            others: list[tuple[Any, ...]] = [
                (attempts, attempt_row, attempt_from, store.attempts),
                (edges_found, transition_row, transition_from, store.transitions),
                (output, line_row, line_from, store.output),
            ]
            for rows, row, back, read in others:
                stored = [record for task_id in ids for record in read(task_id)]
                assert plain(rows) == plain(map(row, stored))
                assert list(map(back, rows)) == stored

    def test_rows_of_many_records_come_in_one_order(self) -> None:
        """Tasks as they were made, transitions as they were committed, attempts and lines by time, then by id."""
        with self.store() as store:
            store.commit([born_at("b", 5), born_at("a", 9), born_at("B", 1)])
            store.commit([Write(a_record("a", status_version=2), 1, (an_edge(2, task_id="a", at=moment(0)),))])
            store.append_output([a_line(1, task_id="b"), a_line(2, task_id="b", at=moment(-1)), a_line(1, task_id="a")])
            assert ids(store, T.TASKS) == ["b", "a", "B"]
            assert ids(store, T.TRANSITIONS) == ["b", "a", "B", "a"]
            assert ids(store, T.ATTEMPTS) == ["B", "b", "a"]
            assert [(row[0], row[2]) for row in store.scan(Scan(T.OUTPUT))[0]] == [("b", 2), ("a", 1), ("b", 1)]
            store.commit([Write(a_record("b", status_version=2), 1, (), (an_attempt(2, "b", started_at=moment(9)),))])
            assert ids(store, T.ATTEMPTS) == ["B", "b", "a", "b"]

    def test_conditions_are_about_the_records(self) -> None:
        """All of them, for every table."""
        with self.store() as store:
            store.commit([born_at("a", 1, name="load", pipeline_run_id="nightly:1", bucket=1, tags=frozenset({"x"}))])
            store.commit([born_at("b", 2, name="load 2", pipeline_run_id="nightly:2", status=S.FAILED)])
            store.commit([born_at("c", 3, name="lo%d", pipeline_run_id="nightly:x:3", tags=frozenset({"x", "y"}))])
            store.commit([born_at("d", 4, name="Load", bucket=2)])
            store.append_output([a_line(1, task_id=task_id) for task_id in "abcd"])
            for table in Table:
                for wanted, query in CONDITIONS:
                    assert sorted(ids(store, table, **query)) == list(wanted), (table, query)
                    if table is T.TASKS:
                        found = store.query(TaskQuery.of(**query))
                        assert [task.task_id for task in found] == list(wanted)

    def test_since_and_until_are_about_the_rows(self) -> None:
        """From the first moment on, and before the second; to the microsecond. A limit takes the newest."""
        with self.store() as store:
            for number in range(5):
                at = moment(number)
                task = a_record(f"t{number}", created_at=at, status_version=1)
                edge, attempt = an_edge(1, task_id=task.task_id, at=at), an_attempt(1, task.task_id, started_at=at)
                store.commit([Write(task, None, (edge,), (attempt,))])
                store.append_output([a_line(1, task_id=task.task_id, at=at)])
            micro = timedelta(microseconds=1)
            for table in Table:
                assert ids(store, table, since=moment(1), until=moment(3)) == ["t1", "t2"]
                assert ids(store, table, since=moment(1) + micro) == ["t2", "t3", "t4"]
                assert ids(store, table, until=moment(1) + micro) == ["t0", "t1"]
                assert ids(store, table, until=moment(4), limit=2) == ["t2", "t3"]
                assert ids(store, table, since=moment(5)) == []
                assert ids(store, table, until=moment(3), name="demo", limit=1) == ["t2"]
            assert [task.task_id for task in store.query(TaskQuery(since=moment(3)))] == ["t3", "t4"]

    def test_nothing_gives_no_rows(self) -> None:
        """One empty list for each table that was asked for."""
        with self.store() as store:
            assert store.scan(Scan(T.TASKS), Scan(T.OUTPUT)) == [[], []]
            assert store.scan() == []

    def test_a_scan_sees_one_moment(self) -> None:
        """However many tables it reads, each by its own query."""
        with self.two_stores() as (store, other):
            store.commit([Write(a_record(), None)])
            for version in range(1, 20):
                store.commit([Write(a_record(status_version=version), version - 1, (an_edge(version),))])
                (task,), trail = other.scan(Scan(T.TASKS), Scan(T.TRANSITIONS))
                assert task_from(task).status_version == len(trail) == version
            tasks, trail = store.scan(Scan(T.TASKS, TaskQuery(limit=0)), Scan(T.TRANSITIONS, TaskQuery(limit=2)))
            assert (tasks, [row[1] for row in trail]) == ([], [18, 19])


CONDITIONS: list[tuple[str, dict[str, Any]]] = [
    ("abcd", {}),
    ("b", {"status": "failed"}),
    ("", {"status": []}),
    ("ac", {"tag": "x"}),
    ("a", {"name": "load"}),
    ("ab", {"name_prefix": "load"}),
    ("b", {"pipeline_run_id": "nightly:2"}),
    ("ab", {"pipeline": "nightly"}),
    ("c", {"pipeline": "nightly:x"}),
    ("abc", {"in_run": True}),
    ("", {"pipeline": "night"}),
    ("ad", {"buckets": frozenset({1, 2, 3})}),
    ("bd", {"task_ids": frozenset({"d", "b", "no such"})}),
    ("", {"task_ids": frozenset()}),
    ("c", {"tag": "x", "name": "lo%d", "pipeline": "nightly:x"}),
    ("cd", {"limit": 2}),
    ("a", {"name_prefix": "lo", "tag": "x", "buckets": frozenset({1}), "limit": 5}),
    ("", {"limit": 0}),
]


def born_at(task_id: str, seconds: float, **fields: Any) -> Write:
    """A record with one transition, and an attempt that began then."""
    task = a_record(task_id, **{"status": S.QUEUED, "status_version": 1} | fields)
    attempt = an_attempt(1, task_id, started_at=moment(seconds))
    return Write(task, None, (an_edge(1, task_id=task_id),), (attempt,))


def ids(store: TaskStore, table: Table, **query: Any) -> list[str]:
    """The record of every row that is found."""
    (rows,) = store.scan(Scan(table, TaskQuery.of(**query)))
    return [row[0] for row in rows]


def plain(rows: Any) -> list[tuple[Any, ...]]:
    """Rows as tuples, with the type of every value."""
    return [tuple((type(value), value) for value in row) for row in rows]


def clipped(text: str) -> str:
    """As much of a text as a line may hold with others."""
    return text[:1_000]
