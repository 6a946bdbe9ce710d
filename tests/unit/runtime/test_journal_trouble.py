"""A store that fails for a while, and one that refuses a record: what waits, what goes on, what the log hears."""

from __future__ import annotations

import logging

import pytest

from chongming_task import MemoryTaskStore, StoreError
from chongming_task.core.ports import CommandAnswer, Touch, Write
from chongming_task.runtime.journal import Journal
from chongming_task.runtime.trouble import rest_seconds
from chongming_task.testing.contract_records import AT, a_line, a_record, an_edge, born


class Scripted(MemoryTaskStore):
    """Does what the test says, and keeps what it was asked."""

    def __init__(self):
        super().__init__()
        self.down = ""  # why it takes nothing
        self.poison = set()  # ids of records that it refuses
        self.tries = []  # ids, one list a commit

    def commit(self, writes):
        ids = [write.snapshot.task_id for write in writes]
        self.tries.append(ids)
        self.check(ids)
        return super().commit(writes)

    def append_output(self, lines, owner=None):
        self.check([line.task_id for line in lines])
        super().append_output(lines, owner)

    def touch(self, touches):
        self.check([])
        super().touch(touches)

    def check(self, ids):
        if self.down:
            raise StoreError(self.down)
        if self.poison.intersection(ids):
            raise StoreError("a value cannot be stored: int too large to convert")

    def held(self):
        return sorted(self._tasks)


@pytest.fixture
def store():
    return Scripted()


@pytest.fixture
def journal(store):
    return Journal(store)


@pytest.fixture
def told(caplog):
    """What the log was told: (level, text)."""
    caplog.set_level(logging.INFO, "chongming_task.store")
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


def run(journal, now, flushes=1):
    """Flush whenever the journal wants to, so many times at most; returns the time then."""
    for _ in range(flushes):
        again = journal.flush(now)
        if again is None:
            break
        now = max(again, now)
        assert journal.due(now)  # else nobody would come back
    return now


def step(task_id, version):
    """The next step of a record that was born with version 1."""
    return Write(a_record(task_id, status_version=version), version - 1, (an_edge(version, task_id=task_id),))


# how long it rests


def test_rests_grow_to_five_seconds():
    """Short at first, for most trouble is; and never so long that recovery goes unnoticed."""
    assert [rest_seconds(n) for n in range(1, 9)] == [0.25, 0.5, 1, 2, 4, 5, 5, 5]
    assert rest_seconds(100_000) == 5


def test_success_makes_rests_short_again(journal, store):
    """The next trouble is another one."""
    store.down = "no space left"
    journal.add([born("a")])
    now = run(journal, 0.0, flushes=5)
    store.down = ""
    assert journal.flush(now) is None
    store.down = "no space left"
    journal.add([born("b")])
    assert journal.flush(now) == now + 0.25


# what the log hears


def test_a_new_error_every_time_makes_one_line_a_second(journal, store, told):
    """A port or a time in the text does not fill the log; what was left out is counted."""
    for number in range(100):
        store.down = f"connection refused, port {number}"
        journal.add([born(f"t{number}")])
        journal.flush(number * 0.125)
    lines = [text for _, text in told()]
    assert len(lines) == 13
    assert "port 0" in lines[0]
    assert "port 8 (failures not logged before: 7)" in lines[1]
    assert len(journal.failures) >= 100


def test_the_same_error_is_told_once_a_minute(journal, store, told):
    """A store that is gone for the night leaves a trace, and no more."""
    store.down = "no space left"
    journal.add([born("a")])
    for second in range(0, 181, 5):
        journal.flush(float(second))
    assert len(told()) == 4
    assert "(failures not logged before: 11)" in told()[-1][1]


def test_recovery_is_told(journal, store, told):
    """Once, with what was outstanding and how long it took."""
    store.down = "no space left"
    journal.add([born("a"), born("b")])
    journal.flush(10.0)
    journal.flush(12.0)
    store.down = ""
    assert journal.flush(14.0) is None
    line = "the task store works again, after 4.0 s; changes that waited: 2 (failures not logged before: 1)"
    assert told()[1:] == [("INFO", line)]
    journal.add([born("c")])
    journal.flush(20.0)
    assert len(told()) == 2


def test_recovery_is_told_a_moment_later_when_a_line_has_just_been_logged(journal, store, told):
    """At most a line a second also then, and nobody is left with the bad news only."""
    store.down = "no space left"
    journal.add([born("a")])
    journal.flush(0.0)
    store.down = ""
    assert journal.flush(0.25) == 1.0
    assert len(told()) == 1
    assert not journal.due(0.9)
    assert journal.due(1.0)
    assert journal.flush(1.0) is None
    assert [level for level, _ in told()] == ["ERROR", "INFO"]


# a record that the store refuses


def test_a_poisonous_record_is_found_and_set_aside(journal, store, told):
    """The other ninety-nine are stored with the third try; why it is missing can be read."""
    store.poison = {"t50"}
    journal.add([born(f"t{n}") for n in range(100)])
    now = run(journal, 0.0, flushes=3)
    assert len(store.held()) == 99
    assert len(store.tries) < 40
    assert journal.behind == 0
    assert list(journal.set_aside.writes) == ["t50"]
    assert "t50" in journal.failures[-1]
    assert "too large" in journal.failures[-1]
    journal.add([born("later")])
    journal.flush(now)
    assert "later" in store.held()
    journal.flush(now + 1)
    assert "refuses record t50 and takes others, so it is set aside" in told()[-1][1]


def test_several_poisonous_records_first_in_line(journal, store):
    """More than are tried in a row: the next time others come first."""
    store.poison = {f"p{n}" for n in range(5)}
    journal.add([*map(born, sorted(store.poison)), *(born(f"t{n}") for n in range(20))])
    now = run(journal, 0.0, flushes=12)
    assert len(store.held()) == 20
    journal.add([born("one more")])
    run(journal, now, flushes=12)
    assert len(store.held()) == 21
    assert set(journal.set_aside.writes) == store.poison
    assert journal.behind == 0


def test_a_batch_that_was_gone_through_in_part_is_soon_gone_through(journal, store):
    """Six in a row are refused: the first three stop the search, and it does not begin with three failures again."""
    store.poison = {f"p{n}" for n in range(6)}
    journal.add([born("first"), *map(born, sorted(store.poison)), born("last")])
    now = run(journal, 0.0, flushes=3)
    assert store.held() == ["first"]
    assert len(journal.set_aside.writes) == 3
    run(journal, now, flushes=4)
    assert store.held() == ["first", "last"]
    assert set(journal.set_aside.writes) == store.poison


def test_a_store_that_is_down_costs_few_tries(journal, store):
    """Whatever waits: nothing is set aside for it, and three records at most are tried alone."""
    store.down = "no space left"
    journal.add([born(f"t{n}") for n in range(1_000)])
    run(journal, 0.0, flushes=9)
    assert len(store.tries) == 9 + 3 * 3
    assert journal.behind == 1_000
    store.down = ""
    assert journal.flush(60.0) is None
    assert len(store.held()) == 1_000
    assert not journal.set_aside.writes


def test_a_store_that_comes_back_while_records_are_tried_loses_none(journal, store):
    """What had failed alone is tried again when another was stored, before it is called refused."""
    store.down = "the database system is starting up"
    journal.add([born(f"t{n}") for n in range(10)])
    now = run(journal, 0.0, flushes=2)
    check, alone = store.check, []

    def back_after_two(ids):
        alone.extend(ids if len(ids) == 1 else [])
        store.down = store.down if len(alone) <= 2 else ""
        check(ids)

    store.check = back_after_two
    assert journal.flush(now) == 1.0  # there is a line to log
    assert len(store.held()) == 10
    assert not journal.set_aside.writes
    assert journal.behind == 0


def test_a_lone_record_waits_until_others_are_stored(journal, store):
    """It may be the store. When later ones are stored and it is not, it is set aside."""
    store.poison = {"p"}
    journal.add([born("p")])
    now = run(journal, 0.0, flushes=7)
    assert journal.behind == 1
    assert not journal.set_aside.writes
    assert journal.flush(now) == now + 5
    journal.add([born("t")])
    run(journal, now + 5, flushes=3)
    assert store.held() == ["t"]
    assert list(journal.set_aside.writes) == ["p"]


def poisoned(journal, store):
    """Record p was set aside; the time then."""
    store.poison = {"p"}
    journal.add([born("p"), born("t")])
    now = run(journal, 0.0, flushes=3)
    assert list(journal.set_aside.writes) == ["p"]
    return now


def test_what_was_set_aside_is_tried_again_with_what_has_changed(journal, store):
    """Every minute, on its own; a disk that has room again, or a change, may let it in. Its trail is whole."""
    poisoned(journal, store)
    journal.flush(1.0)  # logs it
    journal.add([step("p", 2)])
    assert journal.behind == 0
    again = journal.set_aside.again
    assert again == 60.75  # a minute after it was found out
    tried = len(store.tries)
    assert not journal.due(again - 1)
    assert journal.due(again)
    assert journal.flush(again) == again + 60
    assert store.tries[tried:] == [["p"]]
    store.poison = set()
    journal.flush(again + 60)
    assert store.get("p").status_version == 2
    assert [edge.version for edge in store.transitions("p")] == [1, 2]
    assert not journal.set_aside.writes
    journal.add([step("p", 3)])
    journal.flush(again + 61)
    assert store.get("p").status_version == 3


def test_what_was_set_aside_and_is_somebody_elses_by_now_is_news(journal, store):
    """As with every record."""
    poisoned(journal, store)
    MemoryTaskStore.commit(store, [Write(a_record("p", name="theirs", status_version=7), None)])
    store.poison = set()
    journal.flush(journal.set_aside.again)
    assert [found.task_id for found in journal.take_fenced()] == ["p"]
    assert not journal.set_aside.writes
    assert list(journal.desynced) == ["p"]


def test_a_record_read_anew_is_not_written_from_what_was_set_aside(journal, store):
    """It was adopted again: what the journal knew of it is out of date."""
    poisoned(journal, store)
    journal.resync("p")
    store.poison = set()
    journal.flush(1_000.0)
    assert store.held() == ["t"]
    journal.add([born("p")])
    journal.flush(1_001.0)
    assert store.held() == ["p", "t"]


def test_output_that_is_refused_holds_no_other_up(journal, store):
    """It waits, and so does no line of another record."""
    journal.add([born("p"), born("t")])
    journal.flush(0.0)
    store.poison = {"p"}
    journal.add_output([a_line(1, task_id="p"), a_line(1, task_id="t")])
    now = run(journal, 1.0, flushes=3)
    assert [len(store.output(task_id)) for task_id in ("p", "t")] == [0, 1]
    assert journal.behind == 1
    store.poison = set()
    journal.flush(now)
    assert len(store.output("p")) == 1


def test_an_answer_that_is_refused_holds_no_other_up(journal, store):
    """Others come first the next time."""
    done = []

    def complete(command_id, owner, *, now, outcome=None):
        if command_id == "p":
            raise StoreError("a value cannot be stored")
        done.append(command_id)

    store.complete_command = complete
    for command_id in ("p", "a", "b"):
        journal.answer(CommandAnswer(command_id, "me", AT))
    run(journal, 0.0, flushes=2)
    assert done == ["a", "b"]
    assert journal.behind == 1


def test_frequent_news_does_not_press_a_store_that_fails(journal, store):
    """After a failure it pauses for a second, and holds nothing else up; the next news tells recovery."""
    store.down = "the server is gone"
    asked = []
    store.touch = lambda touches: asked.append(1) or store.check([])
    for tick in range(20):
        journal.due(tick / 10)
        journal.touch([Touch("t", abandoned=False)])
    assert len(asked) == 2
    assert journal.trouble.since == 0.0
    assert journal.trouble.rests_until is None
    store.down = ""
    journal.due(3.0)
    journal.touch([Touch("t", abandoned=False)])
    assert journal.trouble.since is None


# the end


def test_what_is_lost_at_the_end_is_told_once(journal, store, told):
    """With its number and the records, also what was set aside."""
    now = poisoned(journal, store)
    store.down = "no space left"
    journal.add([born(f"t{n}") for n in range(9)])
    journal.flush(now)
    before = len(told())
    journal.finish(now + 0.1)
    last = [text for level, text in told()[before:] if "lost" in text and level == "ERROR"]
    assert len(last) == 1
    assert last[0].startswith("10 changes are lost: the task store has not taken them before the end (records: t0, ")
    assert "t4 and 5 more" in last[0]
    assert "no space left" in last[0]


def test_the_end_tries_everything_once_more_and_is_silent_when_all_is_stored(journal, store, told):
    """Although the store should rest, and the minute of what was set aside is not over."""
    now = poisoned(journal, store)
    store.down = "no space left"
    journal.add([born("u")])
    journal.flush(now)
    store.poison, store.down = set(), ""
    journal.finish(now + 0.1)
    assert store.held() == ["p", "t", "u"]
    assert not any("lost" in text for _, text in told())
