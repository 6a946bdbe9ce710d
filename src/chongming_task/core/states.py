"""The fifteen states, the edges between them, and what every verb does in every state. Data, no code that decides.

``TRANSITIONS`` says which edges exist, ``VERB_TABLE`` what a caller's verb does; the documentation draws its diagram
and both tables from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

__all__ = [
    "BROKEN",
    "OCCUPIED",
    "OPEN",
    "REVIVABLE",
    "REVIVALS",
    "TERMINAL",
    "TRANSITIONS",
    "VERB_TABLE",
    "Outcome",
    "RequestedAction",
    "Rule",
    "TaskStatus",
    "Verb",
    "VerbRow",
    "edge_exists",
    "rule_for",
    "situation_index",
]


class TaskStatus(StrEnum):
    """Where a record is in its life. Retries, progress and health are separate dimensions of the snapshot.

    Example:
        >>> TaskStatus("running") is TaskStatus.RUNNING, TaskStatus.RUNNING == "running"
        (True, True)
        >>> [status.value for status in TaskStatus if status in TERMINAL]
        ['succeeded', 'failed', 'stopped', 'cancelled', 'skipped', 'lost']
    """

    PENDING = "pending"  # created, not started
    BLOCKED = "blocked"  # waits for upstream records
    QUEUED = "queued"  # ready, waits for a slot
    STARTING = "starting"  # a worker was asked for; user code may have begun
    RUNNING = "running"
    PAUSING = "pausing"  # asked to pause, has not reached a checkpoint yet
    PAUSED = "paused"  # before its start, or in place at a checkpoint (its slot is kept)
    RETRY_WAIT = "retry_wait"  # an attempt failed; the back-off runs
    STOPPING = "stopping"  # asked to stop; the grace window runs
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # ended with an error, and no retry is left or allowed
    STOPPED = "stopped"  # a person stopped it
    CANCELLED = "cancelled"  # a consequence: of an upstream failure, of a pipeline that was cancelled
    SKIPPED = "skipped"  # its condition was false, or a person passed over it
    LOST = "lost"  # the worker is out of reach; what it did, or still does, is unknown

    FINISHED = "succeeded"  # alias of the first releases

    __hash__ = str.__hash__  # an Enum hashes in Python; these are looked up ten times for every task


class RequestedAction(StrEnum):
    """What somebody wants the record to become, while it is on the way.

    Example:
        >>> [action.value for action in RequestedAction]
        ['stop', 'cancel', 'pause']
    """

    STOP = "stop"
    CANCEL = "cancel"
    PAUSE = "pause"


class Verb(StrEnum):
    """What a caller can ask of a record.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     print([verb.value for verb in Verb if handle.can(verb)[0]])
        ['reset']
    """

    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    SKIP = "skip"
    RESET = "reset"

    __hash__ = str.__hash__  # as above


S = TaskStatus


def _edges(table: Mapping[TaskStatus, str]) -> Mapping[TaskStatus, frozenset[TaskStatus]]:
    return MappingProxyType({s: frozenset(TaskStatus[name] for name in table.get(s, "").split()) for s in S})


TRANSITIONS: Mapping[TaskStatus, frozenset[TaskStatus]] = _edges(
    {
        S.PENDING: "BLOCKED QUEUED SKIPPED CANCELLED STOPPED",
        S.BLOCKED: "QUEUED SKIPPED CANCELLED STOPPED",
        S.QUEUED: "STARTING PAUSED SKIPPED STOPPED CANCELLED",
        S.STARTING: "RUNNING RETRY_WAIT PAUSING STOPPING FAILED LOST",
        S.RUNNING: "SUCCEEDED FAILED RETRY_WAIT PAUSING STOPPING LOST",
        S.PAUSING: "PAUSED RUNNING FAILED STOPPING LOST",
        S.PAUSED: "QUEUED RUNNING STOPPED CANCELLED STOPPING LOST",
        S.RETRY_WAIT: "STARTING QUEUED PAUSED STOPPED FAILED CANCELLED",
        S.STOPPING: "STOPPED SUCCEEDED FAILED LOST CANCELLED",
    }
)

TERMINAL: frozenset[TaskStatus] = frozenset(s for s in S if not TRANSITIONS[s])

OPEN: frozenset[TaskStatus] = frozenset(S) - TERMINAL
"""States of records that have not ended."""

BROKEN: frozenset[TaskStatus] = frozenset({S.FAILED, S.LOST})
"""How a record can end that somebody should look at."""

REVIVABLE: frozenset[TaskStatus] = frozenset({S.FAILED, S.STOPPED, S.CANCELLED, S.LOST})
"""Terminal states that ``retry`` leads out of."""

OCCUPIED: frozenset[TaskStatus] = frozenset({S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING})
"""States that always hold a worker. PAUSED holds one when it was paused in place: the snapshot's ``live`` tells."""


class Outcome(Enum):
    """What a verb meets in a state."""

    ACT = "act"
    NOOP = "noop"  # accepted, nothing to do
    REFUSED = "refused"  # raises InvalidTransition


class Rule(NamedTuple):
    """What one verb does in one state."""

    outcome: Outcome
    targets: tuple[TaskStatus, ...] = ()  # where it leads, the usual one first
    through: TaskStatus | None = None  # the in-between state on the way there


class VerbRow(NamedTuple):
    """One line of the verb table."""

    status: TaskStatus
    in_place: bool | None  # PAUSED only: does it still hold its worker?
    rules: Mapping[Verb, Rule]


_SAME = Rule(Outcome.NOOP)
_NO = Rule(Outcome.REFUSED)


def _now(*targets: TaskStatus) -> Rule:
    return Rule(Outcome.ACT, targets)


def _via(through: TaskStatus, target: TaskStatus) -> Rule:
    return Rule(Outcome.ACT, (target,), through)


_STOP, _CANCEL, _PENDING, _SKIP = _now(S.STOPPED), _now(S.CANCELLED), _now(S.PENDING), _now(S.SKIPPED)
_STOPPING, _CANCELLING = _via(S.STOPPING, S.STOPPED), _via(S.STOPPING, S.CANCELLED)
_PAUSE, _PAUSING = _now(S.PAUSED), _via(S.PAUSING, S.PAUSED)
_QUEUE, _RUN, _START = _now(S.QUEUED), _now(S.RUNNING), _now(S.QUEUED, S.BLOCKED)


def _row(status: TaskStatus, *rules: Rule, in_place: bool | None = None) -> VerbRow:
    return VerbRow(status, in_place, MappingProxyType(dict(zip(Verb, rules, strict=True))))


# fmt: off
VERB_TABLE: tuple[VerbRow, ...] = (
    #                  start   stop       pause     resume  cancel       retry   skip   reset
    _row(S.PENDING,    _START, _STOP,     _NO,      _NO,    _CANCEL,     _NO,    _SKIP, _SAME),
    _row(S.BLOCKED,    _SAME,  _STOP,     _NO,      _NO,    _CANCEL,     _NO,    _SKIP, _PENDING),
    _row(S.QUEUED,     _SAME,  _STOP,     _PAUSE,   _SAME,  _CANCEL,     _SAME,  _SKIP, _PENDING),
    _row(S.STARTING,   _SAME,  _STOPPING, _PAUSING, _SAME,  _CANCELLING, _NO,    _NO,   _NO),
    _row(S.RUNNING,    _SAME,  _STOPPING, _PAUSING, _SAME,  _CANCELLING, _NO,    _NO,   _NO),
    _row(S.PAUSING,    _SAME,  _STOPPING, _SAME,    _RUN,   _CANCELLING, _NO,    _NO,   _NO),
    _row(S.PAUSED,     _SAME,  _STOP,     _SAME,    _QUEUE, _CANCEL,     _NO,    _NO,   _PENDING, in_place=False),
    _row(S.PAUSED,     _SAME,  _STOPPING, _SAME,    _RUN,   _CANCELLING, _NO,    _NO,   _NO,      in_place=True),
    _row(S.RETRY_WAIT, _SAME,  _STOP,     _PAUSE,   _NO,    _CANCEL,     _QUEUE, _NO,   _PENDING),
    _row(S.STOPPING,   _SAME,  _SAME,     _NO,      _NO,    _SAME,       _NO,    _NO,   _NO),
    _row(S.SUCCEEDED,  _NO,    _NO,       _NO,      _NO,    _NO,         _NO,    _NO,   _PENDING),
    _row(S.FAILED,     _NO,    _NO,       _NO,      _NO,    _NO,         _QUEUE, _SKIP, _PENDING),
    _row(S.STOPPED,    _NO,    _SAME,     _NO,      _NO,    _NO,         _QUEUE, _NO,   _PENDING),
    _row(S.CANCELLED,  _NO,    _NO,       _NO,      _NO,    _SAME,       _QUEUE, _NO,   _PENDING),
    _row(S.SKIPPED,    _NO,    _NO,       _NO,      _NO,    _NO,         _NO,    _SAME, _PENDING),
    _row(S.LOST,       _NO,    _NO,       _NO,      _NO,    _NO,         _QUEUE, _NO,   _PENDING),
)
# fmt: on

_SITUATIONS: Mapping[tuple[TaskStatus, bool], int] = {
    (row.status, live): index
    for index, row in enumerate(VERB_TABLE)
    for live in (False, True)
    if row.in_place is None or row.in_place is live
}


def situation_index(status: TaskStatus, live: bool) -> int:
    """The row of ``VERB_TABLE`` that holds for a record.

    Args:
        status: The record's status.
        live: Whether an attempt of it holds a worker.
    """
    return _SITUATIONS[status, live]


def rule_for(status: TaskStatus, live: bool, verb: Verb) -> Rule:
    """What ``verb`` does to a record in that state."""
    return VERB_TABLE[_SITUATIONS[status, live]].rules[verb]


REVIVALS: Mapping[Verb, frozenset[tuple[TaskStatus, TaskStatus]]] = MappingProxyType(
    {
        verb: frozenset((row.status, t) for row in VERB_TABLE for t in row.rules[verb].targets)
        for verb in (Verb.RETRY, Verb.RESET, Verb.SKIP)
    }
)
"""Edges that only these verbs walk, beside ``TRANSITIONS``: out of terminal states, and back to PENDING."""


def edge_exists(source: TaskStatus, target: TaskStatus, trigger: str) -> bool:
    """Whether the audit trail may hold this edge with this trigger (``user:retry``, ``retry:due``, ...).

    Overrides (``force:...``) may hold any edge; an end is left by a caller's verb only.
    """
    if trigger.startswith("force:") or target in TRANSITIONS[source]:
        return True
    asker, _, verb = trigger.partition(":")
    return asker == "user" and verb in REVIVALS and (source, target) in REVIVALS[Verb(verb)]
