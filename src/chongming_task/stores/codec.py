"""Records as rows of plain columns, and back. What both SQL stores write.

Times are integer microseconds UTC, structured values JSON text. Nothing is unpickled or imported by name: a row can at
worst be refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NoReturn

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import Row
from chongming_task.core.records import (
    AttemptRecord,
    BucketLease,
    Change,
    Command,
    OutputLine,
    OwnerLease,
    Progress,
    TaskSnapshot,
    Transition,
)
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.errors import StoreError

__all__ = [
    "attempt_from",
    "attempt_row",
    "bucket_lease_from",
    "change_from",
    "command_from",
    "command_row",
    "from_json",
    "from_micros",
    "line_from",
    "line_row",
    "owner_lease_from",
    "owner_lease_row",
    "progress_text",
    "task_from",
    "task_row",
    "task_update",
    "to_json",
    "to_micros",
    "transition_from",
    "transition_row",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS = {status.value: status for status in TaskStatus}
# ASCII: no text can make it fail, not even a lone surrogate.
_strict = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_lenient = json.JSONEncoder(separators=(",", ":")).encode  # for numbers that are shown and never computed with


@lru_cache(maxsize=256)  # most of what a tick writes is of a few moments
def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime.

    Raises:
        StoreError: For a datetime without a time zone: nobody could tell when it was.
    """
    if moment.tzinfo is None:
        raise StoreError(f"a store takes aware datetimes, such as datetime.now(UTC), got {moment!r}")
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_micros(micros: int) -> datetime:
    """The aware UTC datetime."""
    return _EPOCH + timedelta(microseconds=micros)


def to_json(value: Any) -> str | None:
    """JSON text; None for None.

    Raises:
        StoreError: For what is no JSON, which should have been found above the stores.
    """
    if value is None:
        return None
    try:
        return _strict(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"cannot be stored as JSON: {type(error).__name__}: {error}") from None


def from_json(text: str | None) -> Any:
    """What ``to_json`` was given."""
    return None if text is None else json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise StoreError(f"the store holds {name}, which is no JSON")


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


# snapshots


def task_row(task: TaskSnapshot) -> Row:
    """A new record's columns: its identity, then its life."""
    identity = (
        task.task_id,
        task.name,
        to_micros(task.created_at),
        task.spec_name,
        task.pipeline_run_id,
        task.node,
        _strict(task.depends_on) if task.depends_on else None,
        _strict(sorted(task.tags)) if task.tags else None,
        task.priority,
        task.bucket,
        task.bucket_key,
        task.executor,
        to_json(task.inputs),
    )
    return identity + _life(task)


def task_update(task: TaskSnapshot) -> Row:
    """What can change of a record, and its id. The identity is stored once: inputs can be large."""
    return (*_life(task), task.task_id)


def _life(task: TaskSnapshot) -> tuple[Any, ...]:
    asked, progress, failure = task.requested_action, task.progress, task.failure
    return (
        task.status._value_,
        task.status_version,
        None if asked is None else asked._value_,
        1 if task.overridden else 0,
        task.attempt,
        task.max_attempts,
        1 if task.live else 0,
        1 if task.abandoned else 0,
        None if task.queued_at is None else to_micros(task.queued_at),
        None if task.started_at is None else to_micros(task.started_at),
        None if task.ended_at is None else to_micros(task.ended_at),
        None if task.retry_at is None else to_micros(task.retry_at),
        None if task.grace_until is None else to_micros(task.grace_until),
        None if task.last_heartbeat_at is None else to_micros(task.last_heartbeat_at),
        None if progress is None else progress_text(progress),
        None if failure is None else _failure_text(failure),
        to_json(task.outcome),
        task.owner,
        task.pid,
    )


def task_from(row: Row) -> TaskSnapshot:
    """The snapshot of a row."""
    fields = list(row)
    fields[2] = from_micros(row[2])
    fields[6] = () if row[6] is None else tuple(json.loads(row[6]))
    fields[7] = frozenset(() if row[7] is None else json.loads(row[7]))
    fields[12] = from_json(row[12])
    fields[13] = _status(row[13])
    fields[15] = None if row[15] is None else RequestedAction(row[15])
    fields[16], fields[19], fields[20] = bool(row[16]), bool(row[19]), bool(row[20])
    for index in range(21, 27):
        if row[index] is not None:
            fields[index] = from_micros(row[index])
    fields[27] = _progress(row[27])
    fields[28] = _failure(row[28])
    fields[29] = from_json(row[29])
    return TaskSnapshot._make(fields)


def _status(value: str) -> TaskStatus:
    found = _STATUS.get(value)
    if found is None:
        raise StoreError(f"the store holds the status {value!r}, which this version does not know")
    return found


def progress_text(progress: Progress | None) -> str | None:
    """A progress as JSON text; numbers keep their type."""
    if progress is None:
        return None
    at = _micros(progress.updated_at)
    return _lenient([progress.done, progress.total, progress.unit, progress.message, at])


def _progress(text: str | None) -> Progress | None:
    if text is None:
        return None
    done, total, unit, message, at = json.loads(text)
    return Progress(done, total, unit, message, _moment(at))


def _failure_text(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return _strict(
        {
            "kind": failure.kind.value,
            "message": failure.message,
            "traceback": failure.traceback,
            "exception_type": failure.exception_type,
            "retryable": failure.retryable,
            "exit_code": failure.exit_code,
        }
    )


def _failure(text: str | None) -> Failure | None:
    if text is None:
        return None
    found = json.loads(text)
    found["kind"] = FailureKind(found["kind"])
    return Failure(**found)


# what belongs to a record


def transition_row(transition: Transition) -> Row:
    """A transition's columns."""
    task_id, version, source, target, trigger, actor, reason, at = transition
    return task_id, version, source._value_, target._value_, str(trigger), str(actor), reason, to_micros(at)


def transition_from(row: Row) -> Transition:
    """The transition of a row."""
    task_id, version, source, target, trigger, actor, reason, at = row
    return Transition(task_id, version, _status(source), _status(target), trigger, actor, reason, from_micros(at))


def change_from(row: Row) -> Change:
    """A place in the feed: the cursor, then the transition's columns."""
    return Change(row[0], transition_from(row[1:]))


def attempt_row(attempt: AttemptRecord) -> Row:
    """An attempt's columns."""
    row: list[Any] = list(attempt)
    row[2] = attempt.status._value_
    row[3] = to_micros(attempt.started_at)
    row[4] = _micros(attempt.ended_at)
    row[7] = _failure_text(attempt.failure)
    return row


def attempt_from(row: Row) -> AttemptRecord:
    """The attempt of a row."""
    fields = list(row)
    fields[2] = _status(row[2])
    fields[3] = from_micros(row[3])
    fields[4] = _moment(row[4])
    fields[7] = _failure(row[7])
    return AttemptRecord._make(fields)


def line_row(line: OutputLine) -> Row:
    """A line's columns."""
    return line.task_id, line.attempt, line.seq, line.stream, line.text, to_micros(line.at), line.level


def line_from(row: Row) -> OutputLine:
    """The line of a row."""
    task_id, attempt, seq, stream, text, at, level = row
    return OutputLine(task_id, attempt, seq, stream, text, from_micros(at), level)


# between processes


def command_row(command: Command) -> Row:
    """A command's columns."""
    row: list[Any] = list(command)
    row[2] = str(command.verb)
    row[3] = to_json(dict(command.args))
    row[5] = to_micros(command.created_at)
    row[7] = _micros(command.lease_until)
    row[8] = _micros(command.completed_at)
    row[9] = to_json(command.outcome)
    return row


def command_from(row: Row) -> Command:
    """The command of a row. What cannot be read gives way to what is refused by whoever takes it.

    Anybody may write a command, and one that raised here would hold up all behind it.
    """
    fields = list(row)
    fields[3] = _readable(_object_from, row[3], {"unreadable": str(row[3])[:100]})
    fields[5] = _readable(from_micros, row[5], _EPOCH)
    fields[7] = _readable(_moment, row[7], None)
    fields[8] = _readable(_moment, row[8], _EPOCH)
    fields[9] = _readable(from_json, row[9], None)
    return Command._make(fields)


def _object_from(text: str | None) -> dict[str, Any]:
    found = from_json(text)
    if not isinstance(found, dict):
        raise StoreError(f"the store holds {text!r:.100} where a JSON object belongs")
    return found


def _readable(read: Callable[[Any], Any], value: Any, instead: Any) -> Any:
    try:
        return read(value)
    except (StoreError, TypeError, ValueError, OverflowError, RecursionError):
        return instead


def bucket_lease_from(row: Row) -> BucketLease:
    """The lease of a row."""
    bucket, owner, until = row
    return BucketLease(bucket, owner, from_micros(until))


def owner_lease_row(lease: OwnerLease) -> Row:
    """A lease's columns."""
    buckets = None if lease.buckets is None else _strict(lease.buckets)
    return lease.owner, lease.process, to_micros(lease.lease_until), buckets


def owner_lease_from(row: Row) -> OwnerLease:
    """The lease of a row."""
    owner, process, until, buckets = row
    return OwnerLease(owner, process, from_micros(until), None if buckets is None else tuple(json.loads(buckets)))
