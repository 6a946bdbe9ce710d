"""The store contract: what tasks write."""

from __future__ import annotations

from chongming_task.core.output import LINE_LIMIT, OUTPUT_CHARACTERS, OUTPUT_LINES
from chongming_task.core.ports import Write
from chongming_task.testing.contract_records import TEXTS, a_line, a_record, born, moment
from chongming_task.testing.store_contract_base import StoreCase

__all__ = ["OutputContract"]


class OutputContract(StoreCase):
    """Of append_output and output."""

    def test_lines_come_back(self) -> None:
        """In order, with every field, whatever the text."""
        with self.two_stores() as (store, other):
            store.commit([born()])
            lines = [
                a_line(n, text, attempt=n, stream="log", at=moment(n), level=20) for n, text in enumerate(TEXTS, 1)
            ]
            store.append_output([*lines, a_line(99)])
            assert other.output("t1") == [*lines, a_line(99)]
            assert store.output("t1", after=len(lines)) == [a_line(99)]
            assert store.output("t1", limit=2) == [lines[-1], a_line(99)]
            assert store.output("t1", after=1, limit=100) == [*lines[1:], a_line(99)]
            assert store.output("t1", limit=0) == store.output("t2") == []

    def test_lines_are_appended_once(self) -> None:
        """What is known is ignored, so that a failed append can be tried again; so are lines of unknown records."""
        with self.store() as store:
            store.commit([born(), born("t2")])
            store.append_output([a_line(1), a_line(3), a_line(1, task_id="t2")])
            store.append_output([a_line(2, "late"), a_line(3, "again"), a_line(4), a_line(4, "twice")])
            store.append_output([a_line(1, task_id="nobody"), a_line(2, task_id="t2")])
            assert store.output("t1") == [a_line(1), a_line(3), a_line(4)]
            assert [line.seq for line in store.output("t2")] == [1, 2]
            assert store.output("nobody") == []

    def test_lines_of_a_former_owner_are_ignored(self) -> None:
        """And take no numbers from the record's new one; without an owner nobody asks."""
        with self.store() as store:
            store.commit([Write(a_record(owner="new"), None), Write(a_record(task_id="t2", owner="old"), None)])
            store.append_output([a_line(5, "late"), a_line(1, task_id="t2")], owner="old")
            assert store.output("t1") == []
            assert store.output("t2") == [a_line(1, task_id="t2")]
            store.append_output([a_line(1, "ours")], owner="new")
            store.append_output([a_line(2, "anybody's")])
            assert [line.text for line in store.output("t1")] == ["ours", "anybody's"]

    def test_many_lines_are_bounded(self) -> None:
        """The oldest give way, of one record only; what went leaves a gap."""
        with self.store() as store:
            store.commit([born(), born("t2")])
            store.append_output([a_line(1, task_id="t2")])
            for start in range(1, OUTPUT_LINES + 1_001, 1_000):
                store.append_output([a_line(seq) for seq in range(start, start + 1_000)])
            kept = store.output("t1")
            assert (kept[0].seq, kept[-1].seq, len(kept)) == (1_001, OUTPUT_LINES + 1_000, OUTPUT_LINES)
            assert len(store.output("t2")) == 1

    def test_much_text_is_bounded(self) -> None:
        """By characters, not bytes; within one append as well."""
        with self.store() as store:
            store.commit([born()])
            fit = OUTPUT_CHARACTERS // LINE_LIMIT
            store.append_output([a_line(seq, "明" * LINE_LIMIT) for seq in range(1, fit + 1)])
            assert len(store.output("t1")) == fit
            store.append_output([a_line(fit + 1, "x")])
            assert [line.seq for line in store.output("t1")] == list(range(2, fit + 2))

    def test_a_reset_forgets_the_lines(self) -> None:
        """And their numbers may begin anew."""
        with self.store() as store:
            store.commit([born()])
            store.append_output([a_line(1), a_line(2)])
            store.commit([Write(a_record(status_version=2), 1, (), (), clear_attempts=True)])
            assert store.output("t1") == []
            store.append_output([a_line(1, "new")])
            assert store.output("t1") == [a_line(1, "new")]
