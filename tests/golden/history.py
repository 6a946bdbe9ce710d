"""What a golden database holds: a record in every status, and everything else that a store keeps.

A file that was made from it is never made again. So a later schema may add to this history, under its number, but what
an earlier one wrote stays as it is.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import TaskStore, Touch, Write
from chongming_task.core.records import (
    AttemptRecord,
    BucketLease,
    Command,
    OutputLine,
    OwnerLease,
    Progress,
    TaskSnapshot,
    Transition,
)
from chongming_task.core.states import TERMINAL, RequestedAction, TaskStatus

AT = datetime(2026, 2, 3, 4, 5, 6, 789_012, UTC)
OWNERS = ("host-a:4711:123456", "host-b:815:99")
ODD = "重明鸟 · שלום · 🐦‍🔥 · 'quoted' \"twice\" %s :x ? \\"
RAISED = Failure(
    FailureKind.EXCEPTION, f"no such bird: {ODD}", "Traceback:\n  line 1\n\tValueError", "builtins.ValueError", True
)
KILLED = Failure(FailureKind.NONZERO_EXIT, "killed", exit_code=-9)
NUM_BUCKETS = "64"


class Tale(NamedTuple):
    """One record and how it got there."""

    task: TaskSnapshot
    trail: tuple[Transition, ...]
    attempts: tuple[AttemptRecord, ...]


def moment(seconds: float) -> datetime:
    """So many seconds after ``AT``."""
    return AT + timedelta(seconds=seconds)


def tale(name: str, steps: str, **fields: Any) -> Tale:
    """A record that took these steps, one a second: ``"queued user:start, starting scheduler:dispatch"``."""
    task_id = f"golden-{name}"
    task = TaskSnapshot(task_id, name, AT, owner=OWNERS[0], max_attempts=3)
    trail: list[Transition] = []
    attempts: list[AttemptRecord] = []
    for version, step in enumerate(filter(None, steps.split(", ")), 1):
        target, trigger, *reason = step.split(" ", 2)
        status, at = TaskStatus(target), moment(version)
        actor = "user:panel" if trigger.startswith("user:") else "engine"
        trail.append(
            Transition(task_id, version, task.status, status, trigger, actor, reason[0] if reason else None, at)
        )
        task = task._replace(status=status, status_version=version)
        if status is TaskStatus.QUEUED:
            task = task._replace(queued_at=at)
        elif trigger == "scheduler:dispatch":
            attempts.append(AttemptRecord(task_id, len(attempts) + 1, status, at, owner=OWNERS[0]))
            task = task._replace(attempt=len(attempts), live=True, started_at=at)
        elif task.live and (status in TERMINAL or status is TaskStatus.RETRY_WAIT):
            attempts[-1] = attempts[-1]._replace(
                status=TaskStatus.FAILED if status is TaskStatus.RETRY_WAIT else status,
                ended_at=at,
                seconds=version / 8,
                paused_seconds=0.125,
                failure=None if status is TaskStatus.SUCCEEDED else RAISED,
                executor="process",
                pid=4700 + version,
                note=ODD if status is TaskStatus.LOST else None,
            )
            task = task._replace(live=False)
        if status in TERMINAL:
            task = task._replace(ended_at=at)
    if task.live:
        attempts[-1] = attempts[-1]._replace(status=TaskStatus.RUNNING)
    return Tale(task._replace(**fields), tuple(trail), tuple(attempts))


_RUN = "queued user:start, starting scheduler:dispatch, running worker:started"
_AGAIN = _RUN.partition(", ")[2]
TALES = (
    tale(
        "pending",
        "",
        spec_name="golden.spec",
        pipeline_run_id="run-1",
        node="node 1",
        depends_on=("golden-queued", "golden-running"),
        tags=frozenset({"gpu", "nightly", ODD}),
        priority=-7,
        bucket=0,
        bucket_key=ODD,
        executor="process",
        inputs={"args": [1, 1.0, None, True, {"深": [ODD]}], "kwargs": {}},
        owner=None,
    ),
    tale("blocked", "blocked user:start", pipeline_run_id="run-1", depends_on=("golden-pending",), outcome={}),
    tale("queued", "queued user:start", tags=frozenset({"gpu"}), priority=2**31 - 1, bucket=63, outcome=0),
    tale("starting", _RUN.rpartition(", ")[0], outcome=""),
    tale(
        "running",
        _RUN,
        progress=Progress(3, 7.5, "files", ODD, moment(9.5)),
        last_heartbeat_at=moment(9.000_001),
        pid=4711,
        executor="process",
    ),
    tale("pausing", f"{_RUN}, pausing user:pause", requested_action=RequestedAction.PAUSE),
    tale("paused", f"{_RUN}, pausing user:pause, paused worker:held lunch"),
    tale(
        "retry_wait", f"{_RUN}, retry_wait worker:raised", failure=RAISED, retry_at=datetime(9999, 12, 31, tzinfo=UTC)
    ),
    tale(
        "stopping",
        f"{_RUN}, stopping user:stop {ODD}",
        requested_action=RequestedAction.STOP,
        grace_until=moment(30),
        owner=OWNERS[1],
    ),
    tale(
        "succeeded",
        f"{_RUN}, retry_wait worker:raised, {_AGAIN}, succeeded worker:returned",
        outcome=[ODD, 0, -1, 1.5, 1e300, 2**53, False, None, {"深": {"er": []}}],
        bucket=5,
    ),
    tale("failed", f"{_RUN}, failed retry:exhausted", failure=RAISED, max_attempts=1, pipeline_run_id="run-1"),
    tale("stopped", f"{_RUN}, stopping user:stop, stopped worker:obeyed", failure=Failure(FailureKind.CANCELLED)),
    tale("cancelled", "queued user:start, cancelled upstream:failed", failure=Failure(FailureKind.DEPENDENCY_FAILED)),
    tale("skipped", "queued user:start, skipped user:skip", failure=Failure(FailureKind.CONDITION_FALSE, "when=")),
    tale("lost", f"{_RUN}, lost reconcile:orphan", failure=KILLED, abandoned=True),
    tale("overridden", "queued user:start, succeeded force:override by hand", overridden=True),
)
"""In the order of their creation."""

LINES = tuple(
    OutputLine("golden-running", 1, seq, stream, text, moment(seq), level)
    for seq, stream, text, level in (
        (1, "stdout", "", None),
        (2, "stderr", ODD, None),
        (5, "log", "a gap before me", 30),
        (6, "stdout", "x" * 500, None),
    )
)

COMMANDS = (
    Command("c-done", "golden-running", "pause", {"a": [None]}, ODD, AT, OWNERS[0], None, moment(4), {"did": [1]}),
    Command("c-taken", "golden-stopping", "stop", {}, "operator", moment(1), OWNERS[1], moment(12)),
    Command("c-open", "golden-running", "stop", {"graceful": True, "reason": ODD}, "user", moment(2)),
)
BUCKET_LEASES = (BucketLease(0, OWNERS[0], moment(30)), BucketLease(63, OWNERS[1], moment(40)))
OWNER_LEASES = (  # since schema 2
    OwnerLease("a controller", None, moment(30), None),
    OwnerLease(OWNERS[0], OWNERS[0], moment(31), (0, 5)),
)


def write(store: TaskStore) -> None:
    """Make all of it, as it came to be."""
    store.fix_meta("num_buckets", NUM_BUCKETS)
    for task, trail, attempts in TALES:
        life = TaskSnapshot._fields[TaskSnapshot._fields.index("status") :]
        fresh = task._replace(**{name: TaskSnapshot._field_defaults[name] for name in life})
        running = task._replace(progress=None, last_heartbeat_at=None, abandoned=False)
        assert not store.commit([Write(fresh, None)])
        assert not store.commit([Write(running, 0, trail, attempts)])
        store.touch([Touch(task.task_id, task.progress, task.last_heartbeat_at, abandoned=task.abandoned)])
    store.append_output(LINES)
    for command in COMMANDS:
        store.submit_command(command._replace(lease_owner=None, lease_until=None, completed_at=None, outcome=None))
        if (taker := command.lease_owner) is not None:
            assert len(store.claim_commands(taker, now=moment(2), lease_seconds=10)) == 1
            if (at := command.completed_at) is not None:
                assert store.complete_command(command.id, taker, now=at, outcome=command.outcome)
    for bucket, owner, until in BUCKET_LEASES:
        store.claim_buckets(owner, [bucket], now=AT, lease_seconds=(until - AT).total_seconds())
    for lease in OWNER_LEASES:
        store.renew_owner(lease)
