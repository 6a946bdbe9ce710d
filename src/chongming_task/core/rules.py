"""``step``: the only function that changes a status. Pure: same record, trigger and moment, same step.

A trigger that comes too late (from an attempt that no longer counts, or a timer whose time has passed by other means)
changes nothing and raises nothing: races end here, in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chongming_task.core.draft import Draft, Step
from chongming_task.core.effects import ClearTimer, Detach, Kill, Launch, SetTimer, Signal, StopReason, TellWorker
from chongming_task.core.failures import RETRIED_KINDS, TIMEOUT_KINDS, Failure, FailureKind
from chongming_task.core.policies import TaskPolicy
from chongming_task.core.records import AttemptRecord, TaskSnapshot
from chongming_task.core.states import OCCUPIED, TERMINAL, RequestedAction, TaskStatus
from chongming_task.core.triggers import (
    Asked,
    Dispatched,
    Elapsed,
    Ended,
    Forced,
    Held,
    Now,
    Orphaned,
    Resolved,
    Started,
    Timer,
    Trigger,
)
from chongming_task.core.verbs import ask
from chongming_task.errors import AttemptsExhausted, ConfigurationError

__all__ = ["KILL_SECONDS", "Step", "step"]

S = TaskStatus
KILL_SECONDS = 5.0  # a worker that was killed and is not gone by then is lost

_ENGINE = "engine"  # who acts where no caller does
_OBEYED = TIMEOUT_KINDS | {FailureKind.CANCELLED}
_ENDS: Mapping[FailureKind, str] = {
    FailureKind.EXCEPTION: "worker:raised",
    FailureKind.NONZERO_EXIT: "worker:exited",
    FailureKind.TIMEOUT_START: "timeout:start",
    FailureKind.TIMEOUT_ATTEMPT: "timeout:attempt",
    FailureKind.TIMEOUT_IDLE: "timeout:idle",
    FailureKind.CANCELLED: "worker:cancelled",
    FailureKind.LOST: "worker:lost",
}


def step(task: TaskSnapshot, trigger: Trigger, now: Now, policy: TaskPolicy) -> Step:
    """What ``trigger`` makes of ``task``.

    Args:
        task: The record as it stands.
        trigger: What happened.
        now: The moment, and a random number for jitter.
        policy: The record's retry and timeout policies.

    Returns:
        The new snapshot, its transitions in order, and the effects to perform once they are durable. A trigger that no
        longer matters gives the same snapshot and no transitions.

    Raises:
        InvalidTransition: For a verb that the state refuses.
        ConfigurationError: For an override without actor or reason.
    """
    draft = Draft(task, policy, now)
    _HANDLERS[type(trigger)](draft, trigger)
    return draft.step()


_FRESH = dict.fromkeys(("ended_at", "last_heartbeat_at", "progress", "failure", "pid"))  # of a new attempt


def _dispatched(draft: Draft, trigger: Dispatched) -> None:
    task = draft.task
    if draft.status is not S.QUEUED:
        return
    if task.attempt >= task.max_attempts:
        raise AttemptsExhausted(
            f"{task.name!r} has used its {task.max_attempts} attempts", current=task.status, requested=S.STARTING
        )
    number, now = task.attempt + 1, draft.now.utc
    draft.changes |= _FRESH
    draft.changes["attempt"] = number
    draft.changes["live"] = True
    draft.changes["started_at"] = now
    draft.move(S.STARTING, "scheduler:dispatch", _ENGINE)
    draft.attempt = AttemptRecord(
        task.task_id, number, S.STARTING, now, None, None, 0.0, None, task.executor, None, task.owner
    )
    draft.want(Launch(number))


def _counts(draft: Draft, attempt: int) -> bool:
    """Whether news from that attempt still matters."""
    return draft.task.live and draft.task.attempt == attempt


def _started(draft: Draft, trigger: Started) -> None:
    if not _counts(draft, trigger.attempt):
        return
    if trigger.pid not in (None, draft.task.pid):
        draft.changes["pid"] = trigger.pid
    if draft.status is S.STARTING:
        draft.changes["last_heartbeat_at"] = draft.now.utc
        draft.move(S.RUNNING, "worker:started", _ENGINE)


def _held(draft: Draft, trigger: Held) -> None:
    if not _counts(draft, trigger.attempt):
        return
    if draft.status is S.PAUSING and trigger.request == draft.task.status_version:
        draft.changes["requested_action"] = None
        draft.move(S.PAUSED, "worker:held", _ENGINE)
        draft.want(ClearTimer(Timer.PAUSE_WINDOW))


def _ended(draft: Draft, trigger: Ended) -> None:
    if not _counts(draft, trigger.attempt):
        return
    if draft.status is S.STOPPING:
        _ended_while_stopping(draft, trigger)
        return
    failure = trigger.failure
    lost = failure is not None and failure.kind is FailureKind.LOST
    if draft.status in (S.PAUSING, S.PAUSED) and not lost:
        # It ended before the pause came true, or its held worker died: the pause is withdrawn first.
        draft.changes["requested_action"] = None
        draft.move(S.RUNNING, "pause:withdrawn", _ENGINE)
    elif draft.status is S.STARTING and failure is None:
        draft.move(S.RUNNING, "worker:started", _ENGINE)
    if failure is None:
        _succeed(draft, trigger)
    elif lost:
        _finish(draft, trigger, S.LOST, _ENDS[failure.kind], failure=failure, reason=failure.message)
    else:
        _fail(draft, trigger, failure)


def _ended_while_stopping(draft: Draft, trigger: Ended) -> None:
    """Whichever won the race is told: a value, the stop, or an error of the clean-up. Never a retry."""
    failure = trigger.failure
    if failure is None:
        _succeed(draft, trigger, f"asked to {draft.task.requested_action or 'stop'}; it returned all the same")
    elif failure.kind in _OBEYED:
        cancel = draft.task.requested_action is RequestedAction.CANCEL
        told = replace(failure, kind=FailureKind.CANCELLED, retryable=False)
        _finish(draft, trigger, S.CANCELLED if cancel else S.STOPPED, "worker:obeyed", failure=told)
    else:
        to = S.LOST if failure.kind is FailureKind.LOST else S.FAILED
        _finish(draft, trigger, to, _ENDS.get(failure.kind, "worker:failed"), failure=failure)


def _fail(draft: Draft, trigger: Ended, failure: Failure) -> None:
    task = draft.task
    cause = _ENDS.get(failure.kind, "worker:failed")
    reason = _first_line(failure.message)
    retried = failure.retryable and failure.kind in RETRIED_KINDS
    if not retried or task.attempt >= task.max_attempts:
        exhausted = retried and task.max_attempts > 1
        _finish(draft, trigger, S.FAILED, "retry:exhausted" if exhausted else cause, failure=failure, reason=reason)
        return
    seconds = trigger.retry_after
    if seconds is None:
        seconds = draft.policy.retry.delay(task.attempt, draft.now.chance)
    draft.close_attempt(S.FAILED, failure, trigger.seconds, trigger.paused_seconds)
    draft.changes["retry_at"] = draft.now.after(seconds)
    draft.changes["failure"] = failure
    draft.move(S.RETRY_WAIT, cause, _ENGINE, reason)
    draft.want(SetTimer(Timer.RETRY, seconds))


def _succeed(draft: Draft, trigger: Ended, reason: str | None = None) -> None:
    draft.close_attempt(S.SUCCEEDED, None, trigger.seconds, trigger.paused_seconds)
    draft.changes["outcome"] = trigger.outcome
    draft.end(S.SUCCEEDED, "worker:returned", _ENGINE, reason)


def _finish(
    draft: Draft, trigger: Ended | Elapsed, to: TaskStatus, cause: str, *, failure: Failure, reason: str | None = None
) -> None:
    draft.close_attempt(to, failure, trigger.seconds, trigger.paused_seconds)
    draft.changes["failure"] = failure
    draft.end(to, cause, _ENGINE, reason)


def _elapsed(draft: Draft, trigger: Elapsed) -> None:
    if trigger.timer is Timer.RETRY:
        if draft.status is S.RETRY_WAIT and trigger.attempt == draft.task.attempt:
            draft.changes["queued_at"] = draft.now.utc
            draft.changes["retry_at"] = None
            draft.move(S.QUEUED, "retry:due", _ENGINE)
    elif not _counts(draft, trigger.attempt):
        return
    elif trigger.timer is Timer.PAUSE_WINDOW:
        if draft.status is S.PAUSING:
            draft.changes["requested_action"] = None
            draft.move(S.RUNNING, "pause:timeout", _ENGINE, "no checkpoint in time")
            draft.want(TellWorker(Signal.RESUME))
    elif trigger.timer is Timer.LIMIT:
        if draft.status in (S.STARTING, S.RUNNING, S.PAUSING):
            assert trigger.limit is not None
            draft.want(
                TellWorker(Signal.STOP, StopReason(trigger.limit)),
                SetTimer(Timer.OVERDUE, draft.policy.timeout.grace),
            )
    elif trigger.timer is Timer.OVERDUE:
        if draft.status is not S.STOPPING:  # not even PAUSED: it was told to stop, whatever it was held for
            assert trigger.limit is not None
            _end_by_force(draft, trigger, StopReason(trigger.limit), _overrun(draft, trigger.limit), trigger.limit)
    elif trigger.timer is Timer.STOP_WINDOW:
        if draft.status is S.STOPPING:
            cancel = draft.task.requested_action is RequestedAction.CANCEL
            _end_by_force(draft, trigger, StopReason.CANCEL if cancel else StopReason.STOP, "was asked to stop")
    elif trigger.timer is Timer.KILL_WINDOW:
        _lose(draft, trigger, "was killed and is not gone")


def _overrun(draft: Draft, limit: FailureKind) -> str:
    name = limit.partition("_")[2]
    return f"overran its {name} limit of {draft.policy.limit(limit):g} s"


def _end_by_force(
    draft: Draft, trigger: Elapsed, reason: StopReason, why: str, kind: FailureKind = FailureKind.LOST
) -> None:
    """The grace is over: a process is killed, a thread cannot be and is given up."""
    if trigger.killable:
        draft.want(Kill(reason), SetTimer(Timer.KILL_WINDOW, KILL_SECONDS))
    else:
        _lose(draft, trigger, f"{why} and reached no checkpoint within its grace", kind)


def _lose(draft: Draft, trigger: Elapsed, why: str, kind: FailureKind = FailureKind.LOST) -> None:
    name = "" if trigger.worker is None else f"{trigger.worker} "
    failure = Failure(kind, f"the worker {name}{why}; it may still be running")
    draft.want(Detach(draft.task.attempt))
    draft.changes["abandoned"] = True
    _finish(draft, trigger, S.LOST, f"timer:{trigger.timer}", failure=failure, reason=failure.message)


_RESOLUTIONS: Mapping[TaskStatus, str] = {
    S.QUEUED: "upstream:ready",
    S.CANCELLED: "upstream:failed",
    S.SKIPPED: "upstream:skipped",
}


def _resolved(draft: Draft, trigger: Resolved) -> None:
    if draft.status not in (S.PENDING, S.BLOCKED):
        return
    failure, cause = trigger.failure, _RESOLUTIONS[trigger.to]
    if trigger.to is S.QUEUED:
        draft.changes["queued_at"] = draft.now.utc
        draft.move(S.QUEUED, cause, _ENGINE)
        return
    if failure is not None and failure.kind is FailureKind.CONDITION_FALSE:
        cause = "condition:false"
    draft.changes["failure"] = failure
    draft.end(trigger.to, cause, _ENGINE, failure.message if failure else None)


def _orphaned(draft: Draft, trigger: Orphaned) -> None:
    if draft.status in TERMINAL:
        return
    live = draft.task.live
    lost = live or draft.status in OCCUPIED  # it may have run; what never ran is only cancelled
    failure = Failure(FailureKind.LOST if lost else FailureKind.CANCELLED, trigger.reason)
    if live:
        draft.close_attempt(S.LOST, failure)
        assert draft.attempt is not None
        draft.attempt = draft.attempt._replace(owner=trigger.owner)  # not whoever has found it
    draft.changes["failure"] = failure
    draft.changes["abandoned"] = False  # a worker that was given up went with its process
    draft.end(S.LOST if lost else S.CANCELLED, "reconcile:orphan", trigger.actor, trigger.reason)


_LEADS_TO_AN_ATTEMPT = frozenset({S.PENDING, S.BLOCKED, S.QUEUED, S.PAUSED, S.RETRY_WAIT})


def _forced(draft: Draft, trigger: Forced) -> None:
    if not (_says_something(trigger.actor) and _says_something(trigger.reason)):
        raise ConfigurationError("force_transition needs an actor and a reason: it goes into the audit trail")
    task, to, now = draft.task, trigger.to, draft.now.utc
    changes = draft.changes
    changes |= {"overridden": True, "requested_action": None, "retry_at": None, "grace_until": None}
    if task.live:
        draft.close_attempt(to if to in TERMINAL else S.LOST, note=f"detached: set to {to} by {trigger.actor}")
        draft.want(Detach(task.attempt))
        changes["abandoned"] = True
    if task.status is S.RETRY_WAIT:
        draft.want(ClearTimer(Timer.RETRY))
    changes["ended_at"] = now if to in TERMINAL else None
    if to is S.SUCCEEDED:
        changes["failure"] = None
    elif to is S.FAILED and task.failure is None:
        changes["failure"] = Failure(FailureKind.EXCEPTION, f"set to failed by {trigger.actor}: {trigger.reason}")
    elif to is S.RETRY_WAIT:
        changes["retry_at"] = now
        draft.want(SetTimer(Timer.RETRY, 0.0))
    elif to is S.QUEUED:
        changes["queued_at"] = now
    if to in _LEADS_TO_AN_ATTEMPT:
        changes["max_attempts"] = max(task.max_attempts, task.attempt + 1)
    if to in OCCUPIED and task.started_at is None:
        changes["started_at"] = now
    draft.move(to, "force:override", trigger.actor, trigger.reason)


def _says_something(word: object) -> bool:
    return isinstance(word, str) and bool(word.strip())


def _first_line(text: str) -> str | None:
    return text.strip().partition("\n")[0][:200] or None


_HANDLERS: Mapping[type, Callable[[Draft, Any], None]] = {
    Asked: ask,
    Dispatched: _dispatched,
    Started: _started,
    Held: _held,
    Ended: _ended,
    Elapsed: _elapsed,
    Resolved: _resolved,
    Orphaned: _orphaned,
    Forced: _forced,
}
