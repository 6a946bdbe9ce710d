"""Records as rows and back: equal values in equal types, whatever they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task import ConfigurationError, Failure, FailureKind, Progress, RequestedAction, StoreError, TaskStatus
from chongming_task.core.commands import trigger_of
from chongming_task.core.records import (
    AttemptRecord,
    BucketLease,
    Change,
    Command,
    OutputLine,
    OwnerLease,
    TaskSnapshot,
    Transition,
)
from chongming_task.core.text import clean
from chongming_task.stores import codec
from tests.support.sameness import assert_same

text = st.text(max_size=30).map(clean)
maybe_text = st.none() | text
number = st.integers(-(2**63), 2**63 - 1)
moment = st.datetimes(timezones=st.just(UTC)).map(lambda when: when.replace(fold=0))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
amounts = st.none() | st.integers() | st.floats(allow_nan=False)
failures = st.none() | st.builds(
    Failure, st.sampled_from(FailureKind), text, maybe_text, maybe_text, st.booleans(), st.none() | number
)
statuses = st.sampled_from(TaskStatus)
seconds = st.none() | st.floats(0, 1e9)

snapshots = st.builds(
    TaskSnapshot,
    text,
    text,
    moment,
    spec_name=maybe_text,
    pipeline_run_id=maybe_text,
    node=maybe_text,
    depends_on=st.lists(text, max_size=3).map(tuple),
    tags=st.frozensets(text, max_size=3),
    priority=number,
    bucket=st.none() | number,
    bucket_key=maybe_text,
    executor=maybe_text,
    inputs=json_values,
    status=statuses,
    status_version=number,
    requested_action=st.none() | st.sampled_from(RequestedAction),
    overridden=st.booleans(),
    attempt=number,
    max_attempts=number,
    live=st.booleans(),
    abandoned=st.booleans(),
    queued_at=st.none() | moment,
    started_at=st.none() | moment,
    ended_at=st.none() | moment,
    retry_at=st.none() | moment,
    grace_until=st.none() | moment,
    last_heartbeat_at=st.none() | moment,
    progress=st.none() | st.builds(Progress, amounts, amounts, maybe_text, maybe_text, st.none() | moment),
    failure=failures,
    outcome=json_values,
    owner=maybe_text,
    pid=st.none() | number,
)
attempts = st.builds(
    AttemptRecord,
    text,
    number,
    statuses,
    moment,
    st.none() | moment,
    seconds,
    st.floats(0, 1e9),
    failures,
    maybe_text,
    st.none() | number,
    maybe_text,
    maybe_text,
)
transitions = st.builds(Transition, text, number, statuses, statuses, text, text, maybe_text, moment)
lines = st.builds(OutputLine, text, number, number, text, text, moment, st.none() | number)
commands = st.builds(
    Command,
    text,
    text,
    text,
    st.dictionaries(text, json_values, max_size=3),
    text,
    moment,
    maybe_text,
    st.none() | moment,
    st.none() | moment,
    json_values,
)
owners = st.builds(OwnerLease, text, maybe_text, moment, st.none() | st.lists(number, max_size=3).map(tuple))


def plain(row):
    """Nothing but what any database takes."""
    assert all(type(value) in (str, int, float, type(None)) for value in row), row
    return tuple(row)


@settings(max_examples=60, deadline=None)
@given(snapshots)
def test_snapshots_come_back(task):
    """All 32 fields."""
    assert_same(codec.task_from(plain(codec.task_row(task))), task)
    assert plain(codec.task_update(task)) == (*codec.task_row(task)[13:], task.task_id)


@settings(max_examples=40, deadline=None)
@given(attempts, transitions, lines, commands, number)
def test_the_other_records_come_back(attempt, transition, line, command, cursor):
    """Attempts, transitions, lines, commands, changes and leases."""
    assert_same(codec.attempt_from(plain(codec.attempt_row(attempt))), attempt)
    row = plain(codec.transition_row(transition))
    assert_same(codec.transition_from(row), transition)
    assert_same(codec.change_from((cursor, *row)), Change(cursor, transition))
    assert_same(codec.line_from(plain(codec.line_row(line))), line)
    assert_same(codec.command_from(plain(codec.command_row(command))), command)
    lease = BucketLease(cursor, line.text, line.at)
    assert_same(codec.bucket_lease_from((cursor, line.text, codec.to_micros(line.at))), lease)


@settings(max_examples=20, deadline=None)
@given(owners)
def test_the_leases_of_owners_come_back(lease):
    """No buckets and all buckets are not the same."""
    assert_same(codec.owner_lease_from(plain(codec.owner_lease_row(lease))), lease)


def test_times_are_utc_microseconds():
    """Exact at both ends of the calendar; another zone is the same moment; no zone is nobody's moment."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert [codec.from_micros(codec.to_micros(t)) for t in (first, last)] == [first, last]
    assert codec.to_micros(datetime(1970, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))) == 0
    with pytest.raises(StoreError, match="aware datetimes"):
        codec.to_micros(datetime(2030, 1, 1))


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), object(), {1, 2}, [b"x"]], ids=["nan", "inf", "object", "set", "bytes"]
)
def test_what_is_no_json_is_refused(value):
    """As it should have been above the stores."""
    with pytest.raises(StoreError, match="cannot be stored as JSON"):
        codec.to_json(value)


def test_a_row_of_a_stranger_is_refused():
    """Never guessed at, and never executed."""
    row = list(codec.task_row(TaskSnapshot("t", "n", datetime(2030, 1, 1, tzinfo=UTC))))
    row[13] = "dancing"
    with pytest.raises(StoreError, match="'dancing'"):
        codec.task_from(row)
    with pytest.raises(StoreError, match="NaN"):
        codec.from_json("[NaN]")


@pytest.mark.parametrize(
    ("column", "found"),
    [(3, text) for text in ("no JSON", "[1]", "null", "5", '{"window": NaN}', "[" * 100_000, "9" * 5_000, None, b"x")]
    + [(column, moment) for column in (5, 7, 8) for moment in ("soon", 2**62, b"x")]
    + [(9, "no JSON")],
)
def test_a_command_of_a_stranger_can_be_read(column, found):
    """Else nobody could hand it out to be refused, and it would hold up those behind it."""
    row = list(codec.command_row(Command("c", "t", "stop", {}, "me", datetime(2030, 1, 1, tzinfo=UTC))))
    row[column] = found
    command = codec.command_from(row)
    assert command.id == "c"
    if column == 3:
        with pytest.raises(ConfigurationError):
            trigger_of(command)
    assert (command.completed_at is None) == (column != 8)  # one that was completed is not handed out again
