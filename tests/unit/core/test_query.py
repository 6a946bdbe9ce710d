"""A query takes what callers write, and matches by all its conditions."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from chongming_task.core.query import TaskQuery, pipeline_of, status_of
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError
from tests.unit.core.situations import record

S = TaskStatus
TASK = record("RUNNING", name="load-7", tags=frozenset({"db", "nightly"}), pipeline_run_id="run-1", bucket=3)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, None),
        ("running", {S.RUNNING}),
        (S.RUNNING, {S.RUNNING}),
        (["running", S.LOST], {S.RUNNING, S.LOST}),
        ({S.LOST}, {S.LOST}),
        ((), set()),
    ],
)
def test_statuses_are_named_or_given(said, meant):
    """One or several."""
    assert TaskQuery.of(status=said).status == meant


@pytest.mark.parametrize("wrong", ["runing", "", "RUNNING", ["running", "gone"], [3]])
def test_a_status_that_is_none_is_told(wrong):
    """With those there are."""
    with pytest.raises(ConfigurationError, match="is no status; the statuses are pending, blocked"):
        TaskQuery.of(status=wrong)


def test_a_limit_is_not_negative():
    """Zero is a limit."""
    with pytest.raises(ConfigurationError, match="limit must be 0 or more, got -1"):
        TaskQuery.of(limit=-1)
    assert TaskQuery.of(limit=0).limit == 0


def test_a_status_by_name():
    """As the force verb takes it; the first releases' name is still understood."""
    assert status_of("lost") is S.LOST
    assert status_of("succeeded") is S.FINISHED


@pytest.mark.parametrize(
    ("conditions", "matches"),
    [
        ({}, True),
        ({"status": "running"}, True),
        ({"status": "queued"}, False),
        ({"status": []}, False),
        ({"tag": "db"}, True),
        ({"tag": "d"}, False),
        ({"name_prefix": "load"}, True),
        ({"name_prefix": "oad"}, False),
        ({"name_prefix": ""}, True),
        ({"pipeline_run_id": "run-1"}, True),
        ({"pipeline_run_id": "run-2"}, False),
        ({"buckets": frozenset({3, 4})}, True),
        ({"buckets": frozenset({4})}, False),
        ({"buckets": frozenset()}, False),
        ({"name": "load-7"}, True),
        ({"name": "load"}, False),
        ({"pipeline": "run-1"}, False),
        ({"in_run": True}, True),
        ({"task_ids": frozenset({TASK.task_id})}, True),
        ({"task_ids": frozenset()}, False),
        ({"since": TASK.created_at}, True),
        ({"since": TASK.created_at + timedelta(microseconds=1)}, False),
        ({"until": TASK.created_at}, False),
        ({"until": TASK.created_at + timedelta(microseconds=1)}, True),
        ({"status": "running", "tag": "db", "name_prefix": "load", "limit": 0}, True),
        ({"status": "running", "tag": "db", "name_prefix": "save"}, False),
    ],
)
def test_all_conditions_must_hold(conditions, matches):
    """The limit is the store's business."""
    assert TaskQuery.of(**conditions).matches(TASK) is matches


def test_a_record_without_a_bucket_is_in_none():
    """Asking for buckets leaves it out."""
    assert not TaskQuery(buckets=frozenset({0})).matches(TASK._replace(bucket=None))


def test_a_run_tells_its_pipeline():
    """Whatever colons the pipeline's name has."""
    assert pipeline_of("nightly:0193") == "nightly"
    assert pipeline_of("a:b:0193") == "a:b"
    assert pipeline_of(None) is None
    task = TASK._replace(pipeline_run_id="a:b:0193")
    assert TaskQuery(pipeline="a:b").matches(task)
    assert not TaskQuery(pipeline="a").matches(task)
    assert not TaskQuery(in_run=True).matches(task._replace(pipeline_run_id=None))


def test_a_window_takes_aware_times():
    """A naive one could mean anything."""
    for word in ("since", "until"):
        with pytest.raises(ConfigurationError, match=f"{word} takes a datetime with a time zone"):
            TaskQuery.of(**{word: datetime(2026, 1, 1)})


def test_times_apart_nothing_narrows():
    """What belongs to records can be read without looking for them."""
    assert not TaskQuery(limit=1, since=TASK.created_at, until=TASK.created_at).narrows
    assert TaskQuery(name="x").narrows
    assert TaskQuery(in_run=True).narrows
