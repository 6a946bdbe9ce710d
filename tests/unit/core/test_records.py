"""Records are values: changed by copies, shown by what differs, compared by all fields."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from tests.unit.core.situations import CREATED, SITUATIONS, record

FIELDS = sorted(set(TaskSnapshot._fields))


@given(st.dictionaries(st.sampled_from(FIELDS), st.integers() | st.none() | st.text(), max_size=8))
@settings(deadline=None)
def test_evolving_is_replacing(changes):
    """The quick way gives what the usual one gives, of the same class, and leaves the original alone."""
    before = record("RUNNING")
    values = tuple(before)
    after = before.evolve(changes)
    assert after == before._replace(**changes)
    assert type(after) is TaskSnapshot
    assert tuple(before) == values


def test_a_field_that_does_not_exist_cannot_be_changed():
    """A misspelt name is an error, not a loss."""
    with pytest.raises(KeyError):
        record("RUNNING").evolve({"statsu": 1})


def test_every_field_keeps_its_place():
    """One change moves nothing else."""
    before = record("RUNNING")
    for name in FIELDS:
        after = before.evolve({name: "new"})
        differing = [field for field in FIELDS if getattr(after, field) != getattr(before, field)]
        assert differing == [name]


def test_a_record_is_shown_by_what_differs():
    """Thirty-four fields would tell nobody anything."""
    assert (
        repr(TaskSnapshot("t1", "demo", CREATED)) == f"TaskSnapshot(task_id='t1', name='demo', created_at={CREATED!r})"
    )
    shown = repr(TaskSnapshot("t1", "demo", CREATED, status=TaskStatus.QUEUED, attempt=2))
    assert shown.endswith("status=<TaskStatus.QUEUED: 'queued'>, attempt=2)")


def test_a_record_tells_where_it_stands():
    """Ended, at rest, revivable: three questions, by the design's words."""
    ended = {"SUCCEEDED", "FAILED", "STOPPED", "CANCELLED", "SKIPPED", "LOST"}
    told = {name: record(name) for name in SITUATIONS}
    assert {name for name, task in told.items() if task.is_terminal} == ended
    assert {name for name, task in told.items() if task.is_at_rest} == ended | {
        *("PENDING", "BLOCKED", "PAUSED P°", "PAUSED P•")
    }
    assert {name for name, task in told.items() if task.is_revivable} == {"FAILED", "STOPPED", "CANCELLED", "LOST"}


@pytest.mark.parametrize(
    ("done", "total", "fraction"),
    [
        (None, 10, None),
        (3, None, None),
        (3, 0, None),
        (3, -1, None),
        (0, 10, 0.0),
        (3, 12, 0.25),
        (12, 12, 1.0),
        (13, 12, 1.0),
        (-1, 12, 0.0),
    ],
)
def test_a_fraction_stays_within_the_bar(done, total, fraction):
    """Unknown is not nothing."""
    assert Progress(done, total).fraction == fraction


def test_progress_that_says_the_same_is_no_news():
    """Whenever it was said."""
    one = Progress(1, 2, "rows", "loading", CREATED)
    assert one.says_the_same(Progress(1, 2, "rows", "loading"))
    assert not one.says_the_same(None)
    for other in (Progress(2, 2, "rows", "loading"), Progress(1, 3, "rows", "loading"),
                  Progress(1, 2, "files", "loading"), Progress(1, 2, "rows", "saving")):  # fmt: skip
        assert not one.says_the_same(other)
