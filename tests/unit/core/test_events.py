"""Events are facts with an id: told twice, they are known."""

from __future__ import annotations

import pytest

from chongming_task.core.events import AttemptStarted, TaskHeartbeat
from tests.unit.core.situations import NOW


def test_a_fact_told_twice_is_one_fact():
    """By its id, whatever else was said; so a set of them is free of doubles."""
    one = AttemptStarted(event_id="t1/1", at=NOW, task_id="t1", attempt=1)
    again = AttemptStarted(event_id="t1/1", at=NOW, task_id="t1", attempt=1)
    other = TaskHeartbeat(event_id="t1/2", at=NOW, task_id="t1")
    assert one == again
    assert one != other
    assert one != "t1/1"
    assert {one, again, other} == {one, other}


def test_a_fact_cannot_be_changed():
    """Every subscriber gets the same object."""
    event = TaskHeartbeat(event_id="t1/2", at=NOW, task_id="t1")
    with pytest.raises(AttributeError):
        event.task_id = "t2"  # type: ignore[misc]
