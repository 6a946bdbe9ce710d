"""Records as JSON documents: the keys of ``docs/cli.md``, which stay."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from chongming_task.core.failures import Failure
from chongming_task.core.records import AttemptRecord, Change, Command, OutputLine, Progress, TaskSnapshot, Transition

__all__ = [
    "attempt_document",
    "change_document",
    "command_document",
    "iso",
    "json_text",
    "line_document",
    "task_document",
    "transition_document",
]

Document = dict[str, Any]


def json_text(document: Any) -> str:
    """A document in one line of ASCII: no text in it can do anything to a terminal or a pipe."""
    return json.dumps(_finite(document), allow_nan=False, separators=(", ", ": "))


def _finite(value: Any) -> Any:
    """The same with null for what is no JSON: not a number, infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


def iso(at: datetime | None) -> str | None:
    """A time as ISO 8601 in UTC, with microseconds."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _progress(progress: Progress | None) -> Document | None:
    if progress is None:
        return None
    return {
        "done": progress.done,
        "total": progress.total,
        "fraction": progress.fraction,
        "unit": progress.unit,
        "message": progress.message,
        "updated_at": iso(progress.updated_at),
    }


def _failure(failure: Failure | None) -> Document | None:
    if failure is None:
        return None
    return {
        "kind": failure.kind.value,
        "message": failure.message,
        "exception_type": failure.exception_type,
        "exit_code": failure.exit_code,
        "retryable": failure.retryable,
        "traceback": failure.traceback,
    }


def task_document(task: TaskSnapshot, watched: bool | None) -> Document:
    """A record.

    Args:
        task: The record.
        watched: Whether its controller lives; None where that does not matter, since it has ended.
    """
    return {
        "id": task.task_id,
        "name": task.name,
        "task": task.spec_name,
        "status": task.status.value,
        "requested_action": None if task.requested_action is None else task.requested_action.value,
        "version": task.status_version,
        "attempt": task.attempt,
        "max_attempts": task.max_attempts,
        "progress": _progress(task.progress),
        "failure": _failure(task.failure),
        "result": task.outcome,
        **_times(task),
        **_place(task, watched),
    }


def _times(task: TaskSnapshot) -> Document:
    names = "created_at queued_at started_at ended_at retry_at grace_until last_heartbeat_at".split()  # noqa: SIM905
    return {name: iso(getattr(task, name)) for name in names}


def _place(task: TaskSnapshot, watched: bool | None) -> Document:
    return {
        "tags": sorted(task.tags),
        "priority": task.priority,
        "pipeline_run_id": task.pipeline_run_id,
        "node": task.node,
        "depends_on": list(task.depends_on),
        "bucket": task.bucket,
        "bucket_key": task.bucket_key,
        "executor": task.executor,
        "owner": task.owner,
        "watched": watched,
        "pid": task.pid,
        "live": task.live,
        "abandoned": task.abandoned,
        "overridden": task.overridden,
    }


def attempt_document(attempt: AttemptRecord) -> Document:
    """One try of a record."""
    return {
        "attempt": attempt.attempt,
        "status": attempt.status.value,
        "started_at": iso(attempt.started_at),
        "ended_at": iso(attempt.ended_at),
        "seconds": attempt.seconds,
        "paused_seconds": attempt.paused_seconds,
        "failure": _failure(attempt.failure),
        "executor": attempt.executor,
        "pid": attempt.pid,
        "owner": attempt.owner,
        "note": attempt.note,
    }


def transition_document(edge: Transition) -> Document:
    """One change of a record's status."""
    return {
        "task_id": edge.task_id,
        "version": edge.version,
        "from_status": edge.from_status.value,
        "to_status": edge.to_status.value,
        "trigger": edge.trigger,
        "actor": edge.actor,
        "reason": edge.reason,
        "at": iso(edge.at),
    }


def change_document(change: Change, name: str | None) -> Document:
    """One step of the feed.

    Args:
        change: The step; without a cursor, which is then 0, it was read from its record's trail.
        name: What its record is called; None when it is gone.
    """
    return {"cursor": change.cursor or None, "name": name, **transition_document(change.transition)}


def command_document(command: Command) -> Document:
    """What was asked of a record from elsewhere, and the answer."""
    return {
        "id": command.id,
        "verb": command.verb,
        "args": command.args,
        "actor": command.actor,
        "created_at": iso(command.created_at),
        "completed_at": iso(command.completed_at),
        "outcome": command.outcome,
    }


def line_document(line: OutputLine) -> Document:
    """A line that a task wrote or logged."""
    return {
        "task_id": line.task_id,
        "attempt": line.attempt,
        "seq": line.seq,
        "stream": line.stream,
        "level": line.level,
        "text": line.text,
        "at": iso(line.at),
    }
