"""Which record a word means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chongming_task import ConfigurationError, MemoryTaskStore, UnknownTask
from chongming_task.cli.commands.events import newest_changes
from chongming_task.cli.lookup import find
from chongming_task.core.ports import Write
from chongming_task.core.records import TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus as S

AT = datetime(2030, 1, 1, tzinfo=UTC)
ONE, TWO = "01900000-aaaa-7000-8000-00000000abcd", "01900000-bbbb-7000-8000-11111111abcd"


@pytest.fixture
def store():
    made = MemoryTaskStore()
    made.commit([Write(TaskSnapshot(ONE, "load", AT), None), Write(TaskSnapshot(TWO, "beef", AT), None)])
    return made


@pytest.mark.parametrize("word", [ONE, "0000abcd", "0000ABCD", "01900000-aaaa", "load"])
def test_ids_ends_beginnings_and_names(store, word):
    """Any of them, as long as it means one record."""
    assert find(store, word).task_id == ONE


@pytest.mark.parametrize("word", ["abcd", "01900000"])
def test_several_are_refused_with_the_candidates(store, word):
    """Nothing is guessed."""
    with pytest.raises(ConfigurationError, match="means 2 tasks") as refused:
        find(store, word)
    assert "load" in str(refused.value)
    assert "beef" in str(refused.value)


def test_a_name_that_is_also_the_end_of_an_id_is_refused(store):
    """Either could be meant."""
    store.commit([Write(TaskSnapshot("01900000-cccc-7000-8000-22222222beef", "x", AT), None)])
    with pytest.raises(ConfigurationError, match="means 2"):
        find(store, "beef")


@pytest.mark.parametrize("word", ["", "ab", "cdab", "loa", "\x1b[31m"])
def test_what_means_none_is_told(store, word):
    """Also what is too short to mean anything; the escape is not obeyed."""
    with pytest.raises(UnknownTask) as unknown:
        find(store, word)
    assert "\x1b" not in str(unknown.value)


def test_the_newest_changes_are_found_across_gaps():
    """The feed is read forwards only."""
    store = MemoryTaskStore()
    for number in range(40):
        status = S.QUEUED if number < 5 else S.SUCCEEDED
        task = TaskSnapshot(f"t{number}", "x", AT, status=status, status_version=1)
        store.commit(
            [Write(task, None, (Transition(f"t{number}", 1, S.PENDING, S.QUEUED, "user:start", "me", None, AT),))]
        )
    end = store.changes()[-1].cursor
    assert [c.transition.task_id for c in newest_changes(store, end, 3)] == ["t37", "t38", "t39"]
    assert len(newest_changes(store, end, 1_000)) == 40
    assert newest_changes(store, end, 0) == []
    store.prune(1)
    assert [c.transition.task_id for c in newest_changes(store, end, 3)] == ["t3", "t4", "t39"]
