"""How a record stood at some moment, told by its trail. Pure.

The trail tells status, version, attempt, the times of queueing, start and end, what was asked, whether a worker was
held, and whether a status was set by hand. It does not tell progress, failure, outcome, heartbeats, pid, owner, the end
of a back-off, nor how many attempts were allowed then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chongming_task.core.ports import Row
from chongming_task.core.states import OCCUPIED, TERMINAL, RequestedAction, TaskStatus

__all__ = ["FIELDS", "Life"]

S = TaskStatus

FIELDS = (
    "status",
    "status_version",
    "requested_action",
    "overridden",
    "attempt",
    "live",
    "queued_at",
    "started_at",
    "ended_at",
    "changed_at",
    "trigger",
    "actor",
    "reason",
)
"""What ``Life.row`` gives, in order; times in microseconds."""


class Life:
    """A record on its way, edge by edge."""

    __slots__ = FIELDS

    def __init__(self) -> None:
        self.status = S.PENDING.value
        self.status_version = self.attempt = 0
        self.overridden = self.live = False
        self.requested_action: str | None = None
        self.queued_at: int | None = None
        self.started_at: int | None = None
        self.ended_at: int | None = None
        self.changed_at: int | None = None
        self.trigger: str | None = None
        self.actor: str | None = None
        self.reason: str | None = None

    def row(self) -> Sequence[Any]:
        """How it stands now."""
        return [getattr(self, field) for field in FIELDS]

    def take(self, edge: Row) -> None:
        """Go along one edge: a row of the table of transitions."""
        _, version, _, to, trigger, actor, reason, at = edge
        if version <= self.status_version:  # the clock was set back, and a later edge bears an earlier time
            return
        self.status, self.status_version, self.changed_at = to, version, at
        self.trigger, self.actor, self.reason = trigger, actor, reason
        self.requested_action = _ASKED.get(to)
        if to == S.STOPPING and trigger.endswith(":cancel"):
            self.requested_action = RequestedAction.CANCEL.value
        if trigger == "force:override":
            self._forced(to, at)
        elif trigger == "scheduler:dispatch":
            self.attempt += 1
            self.live, self.started_at, self.ended_at = True, at, None
        elif to in TERMINAL:
            self.live, self.ended_at = False, at
        elif to == S.QUEUED:
            self.queued_at, self.ended_at = at, None
        elif to == S.PENDING:  # a reset
            self.attempt, self.overridden = 0, False
            self.queued_at = self.started_at = self.ended_at = None
        elif to == S.BLOCKED:
            self.ended_at = None
        elif to == S.RETRY_WAIT:
            self.live = False

    def _forced(self, to: str, at: int) -> None:
        self.overridden, self.live, self.requested_action = True, False, None
        self.ended_at = at if to in TERMINAL else None
        if to == S.QUEUED:
            self.queued_at = at
        if to in OCCUPIED and self.started_at is None:
            self.started_at = at


_ASKED = {S.PAUSING.value: RequestedAction.PAUSE.value, S.STOPPING.value: RequestedAction.STOP.value}
