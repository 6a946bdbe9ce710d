"""What callers may ask of a record, why not, and what their verbs change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chongming_task.core.draft import Draft
from chongming_task.core.effects import ClearTimer, SetTimer, Signal, StopReason, TellWorker
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import Outcome, RequestedAction, Rule, TaskStatus, Verb, rule_for
from chongming_task.core.triggers import Asked, Timer
from chongming_task.errors import AttemptsExhausted, InvalidTransition, StillRunning

__all__ = ["ask", "refusal"]

S = TaskStatus
_RERUNS = frozenset({Verb.RETRY, Verb.RESET})
_ENDS = {Verb.STOP: S.STOPPED, Verb.CANCEL: S.CANCELLED}
_TRIGGERS = {verb: f"user:{verb}" for verb in Verb}
_STANDS = {  # how a record is, in words; the others "are"
    S.SUCCEEDED: "it has succeeded",
    S.FAILED: "it has failed",
    S.STOPPED: "it was stopped",
    S.CANCELLED: "it was cancelled",
    S.SKIPPED: "it was skipped",
    S.LOST: "it was lost",
    S.RETRY_WAIT: "it waits for its next attempt (retry_wait)",
}
_WIPED = (  # by a reset
    "attempt",
    "queued_at",
    "started_at",
    "ended_at",
    "retry_at",
    "progress",
    "failure",
    "outcome",
    "overridden",
    "pid",
)


def refusal(task: TaskSnapshot, verb: Verb, *, force: bool = False) -> InvalidTransition | None:
    """Why ``verb`` cannot be done to ``task``; None when it can, or when there is nothing left to do.

    Args:
        task: The record.
        verb: What is asked.
        force: Retry past the last attempt, or beside a worker that was given up and still runs.
    """
    rule = rule_for(task.status, task.live, verb)
    if rule.outcome is Outcome.REFUSED:
        outcomes = {each.value: rule_for(task.status, task.live, each).outcome for each in Verb}
        said = _STANDS.get(task.status, f"it is {task.status}")
        return InvalidTransition(
            f"cannot {verb} {task.name!r}: {said}; {_way_out([v for v in outcomes if outcomes[v] is Outcome.ACT])}",
            current=task.status,
            requested=verb,
            allowed=[each for each in outcomes if outcomes[each] is not Outcome.REFUSED],
        )
    if force or rule.outcome is Outcome.NOOP or verb not in _RERUNS:
        return None
    if task.abandoned:
        return StillRunning(
            f"cannot {verb} {task.name!r}: its worker was given up and still runs in the background, "
            f"so two copies would run at once; {verb} with force=True to accept that",
            current=task.status,
            requested=verb,
        )
    if verb is Verb.RETRY and task.attempt >= task.max_attempts:
        return AttemptsExhausted(
            f"cannot retry {task.name!r}: {task.attempt} of {task.max_attempts} attempts are used; "
            "retry with force=True to grant one more",
            current=task.status,
            requested=verb,
        )
    return None


def _way_out(verbs: list[str]) -> str:
    """What to do instead: the verbs that would change something."""
    if not verbs:
        return "wait until it has ended"
    if verbs == [Verb.RESET]:
        return "to run it again: reset(confirm=True), then start()"
    return f"it takes {', '.join(verbs)}"


def ask(draft: Draft, asked: Asked) -> None:
    """Do what a caller asked, or raise why not.

    Raises:
        InvalidTransition: When the verb table refuses; or one of its two special cases.
    """
    refused = refusal(draft.task, asked.verb, force=asked.force)
    if refused is not None:
        raise refused
    rule = rule_for(draft.task.status, draft.task.live, asked.verb)
    if rule.outcome is Outcome.ACT:
        _ACTIONS[asked.verb](draft, asked, rule)
    elif draft.status is S.STOPPING and not draft.task.live and asked.verb in _ENDS:
        _end_workerless(draft, asked, _ENDS[asked.verb])
    elif draft.status is S.STOPPING and not asked.graceful:
        draft.want(SetTimer(Timer.STOP_WINDOW, 0.0))  # asked again, with less patience


def _move(draft: Draft, asked: Asked, to: TaskStatus) -> None:
    draft.move(to, _TRIGGERS[asked.verb], asked.actor, asked.reason)


def _start(draft: Draft, asked: Asked, rule: Rule) -> None:
    if asked.blocked:
        _move(draft, asked, S.BLOCKED)
    else:
        draft.changes["queued_at"] = draft.now.utc
        _move(draft, asked, S.QUEUED)


def _stop(draft: Draft, asked: Asked, rule: Rule) -> None:
    """Stop and cancel: at once when no worker is held, else through STOPPING and its grace window."""
    (target,) = rule.targets
    if rule.through is None:
        word = "stopped" if target is S.STOPPED else "cancelled"
        failure = Failure(FailureKind.CANCELLED, asked.reason or f"{word} while {draft.status}")
        draft.want(ClearTimer(Timer.RETRY))
        draft.changes["failure"] = failure
        draft.end(target, _TRIGGERS[asked.verb], asked.actor, asked.reason)
        return
    window = asked.window if asked.graceful else 0.0
    stop = asked.verb is Verb.STOP
    draft.changes["requested_action"] = RequestedAction.STOP if stop else RequestedAction.CANCEL
    draft.changes["grace_until"] = draft.now.after(window)
    _move(draft, asked, rule.through)
    if not draft.task.live:
        _end_workerless(draft, asked, target)
        return
    draft.want(
        ClearTimer(Timer.PAUSE_WINDOW),
        TellWorker(Signal.STOP, StopReason.STOP if stop else StopReason.CANCEL),
        SetTimer(Timer.STOP_WINDOW, window),
    )


def _end_workerless(draft: Draft, asked: Asked, target: TaskStatus) -> None:
    """End a record whose status was set by hand: nothing runs that could obey."""
    draft.changes["failure"] = Failure(FailureKind.CANCELLED, asked.reason or "it held no worker")
    draft.end(target, _TRIGGERS[asked.verb], asked.actor, asked.reason)


def _pause(draft: Draft, asked: Asked, rule: Rule) -> None:
    if rule.through is None:
        draft.want(ClearTimer(Timer.RETRY))
        draft.changes["retry_at"] = None
        _move(draft, asked, S.PAUSED)
        return
    draft.changes["requested_action"] = RequestedAction.PAUSE
    _move(draft, asked, rule.through)
    if not draft.task.live:  # as above: nothing that could be held
        draft.changes["requested_action"] = None
        draft.move(S.RUNNING, "pause:withdrawn", asked.actor, "it holds no worker")
        return
    request = draft.transitions[-1].version
    # In this order: a worker that says at once that it cannot be held shortens the window.
    draft.want(SetTimer(Timer.PAUSE_WINDOW, asked.window), TellWorker(Signal.PAUSE, request=request))


def _resume(draft: Draft, asked: Asked, rule: Rule) -> None:
    (target,) = rule.targets
    if target is S.QUEUED:
        draft.changes["queued_at"] = draft.now.utc
        _move(draft, asked, S.QUEUED)
        return
    draft.changes["requested_action"] = None
    _move(draft, asked, S.RUNNING)
    draft.want(ClearTimer(Timer.PAUSE_WINDOW), TellWorker(Signal.RESUME))


def _retry(draft: Draft, asked: Asked, rule: Rule) -> None:
    task = draft.task
    draft.want(ClearTimer(Timer.RETRY))
    draft.changes |= dict.fromkeys(("ended_at", "retry_at", "failure", "outcome", "progress"))
    draft.changes["queued_at"] = draft.now.utc
    draft.changes["max_attempts"] = max(task.max_attempts, task.attempt + 1)  # more only with force: see refusal
    _move(draft, asked, S.QUEUED)


def _skip(draft: Draft, asked: Asked, rule: Rule) -> None:
    draft.end(S.SKIPPED, _TRIGGERS[Verb.SKIP], asked.actor, asked.reason)


def _reset(draft: Draft, asked: Asked, rule: Rule) -> None:
    draft.want(ClearTimer(Timer.RETRY))
    draft.clear_attempts = True
    blank = TaskSnapshot._field_defaults
    draft.changes |= {name: blank[name] for name in _WIPED}
    _move(draft, asked, S.PENDING)


_ACTIONS: Mapping[Verb, Callable[[Draft, Asked, Rule], None]] = {
    Verb.START: _start,
    Verb.STOP: _stop,
    Verb.PAUSE: _pause,
    Verb.RESUME: _resume,
    Verb.CANCEL: _stop,
    Verb.RETRY: _retry,
    Verb.SKIP: _skip,
    Verb.RESET: _reset,
}
