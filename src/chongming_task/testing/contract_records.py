"""Sample records for the store contract: every field set, and texts that stores choke on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import Write
from chongming_task.core.records import (
    AttemptRecord,
    Command,
    OutputLine,
    OwnerLease,
    Progress,
    TaskSnapshot,
    Transition,
)
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.core.text import NAME_LIMIT, clean

__all__ = [
    "AT",
    "TEXTS",
    "a_command",
    "a_line",
    "a_record",
    "an_attempt",
    "an_edge",
    "an_owner",
    "born",
    "full_record",
    "moment",
]

AT = datetime(2030, 1, 2, 3, 4, 5, 678_901, UTC)

TEXTS = (
    "",
    " ",
    '\'; DROP TABLE tasks; -- "%s" :x ? {}',
    "重明鸟 · naïve · שלום · 🐦‍🔥 · e\u0301",
    clean("NUL \x00, half a character \ud800, escape \x1b[31m, tab \t, line\nend"),
    "null",
    "x" * 200_000,
)
"""Texts as they reach a store: cleaned, and still a trial."""


def moment(seconds: float) -> datetime:
    """So many seconds after ``AT``."""
    return AT + timedelta(seconds=seconds)


def a_record(task_id: str = "t1", **fields: Any) -> TaskSnapshot:
    """A fresh record, but for ``fields``."""
    return TaskSnapshot(task_id, "demo", AT)._replace(**fields)


def full_record(task_id: str, text: str) -> TaskSnapshot:
    """A record with something in every field, and ``text`` wherever text can be, as long as it may be there."""
    long, text = text, clean(text, NAME_LIMIT)
    return TaskSnapshot(
        task_id,
        text,
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        spec_name=text,
        pipeline_run_id=text,
        node=text,
        depends_on=("b", "a", text),
        tags=frozenset({"tag", text}),
        priority=-(2**31),
        bucket=0,
        bucket_key=text,
        executor=text,
        inputs={"args": [1, 2.5, None, True, {text: [long]}], "": {}},
        status=TaskStatus.STOPPING,
        status_version=7,
        requested_action=RequestedAction.CANCEL,
        overridden=True,
        attempt=3,
        max_attempts=4,
        live=True,
        abandoned=True,
        queued_at=moment(1),
        started_at=moment(2),
        ended_at=moment(0.000_001),
        retry_at=datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
        grace_until=datetime(1, 1, 1, tzinfo=UTC),
        last_heartbeat_at=moment(6),
        progress=Progress(1, 2.0, text, text, moment(7)),
        failure=Failure(FailureKind.NONZERO_EXIT, long, long, text, True, -9),
        outcome=[long, 0, -1, 1.5, 1e300, 2**53, False, None, {"深": {"er": []}}],
        owner=text,
        pid=2**31 - 1,
    )


def an_edge(
    version: int, source: str = "pending", target: str = "queued", task_id: str = "t1", **fields: Any
) -> Transition:
    """A step of the audit trail."""
    edge = Transition(task_id, version, TaskStatus(source), TaskStatus(target), "user:start", "user", None, AT)
    return edge._replace(**fields)


def an_attempt(number: int = 1, task_id: str = "t1", **fields: Any) -> AttemptRecord:
    """An attempt that has begun."""
    return AttemptRecord(task_id, number, TaskStatus.STARTING, AT)._replace(**fields)


def a_line(seq: int, text: str = "hello", task_id: str = "t1", **fields: Any) -> OutputLine:
    """A line of output."""
    return OutputLine(task_id, 1, seq, "stdout", text, AT)._replace(**fields)


def a_command(command_id: str = "c1", task_id: str = "t1", **fields: Any) -> Command:
    """A stop, asked a second ago."""
    return Command(command_id, task_id, "stop", {"graceful": True, "reason": "想停"}, "user", AT)._replace(**fields)


def an_owner(owner: str = "a", at: float = 0.0, **fields: Any) -> OwnerLease:
    """The lease of a controller that works for all buckets, for ten seconds from then."""
    return OwnerLease(owner, f"host:1:{owner}", moment(at + 10))._replace(**fields)


def born(task_id: str = "t1", **fields: Any) -> Write:
    """The write that makes a record, queued, with its first transition."""
    fields = {"status": TaskStatus.QUEUED, "status_version": 1, "queued_at": AT} | fields
    return Write(a_record(task_id, **fields), None, (an_edge(1, task_id=task_id),))
