"""A step in the making: the one place where a status changes, an edge is checked and a version is counted."""

from __future__ import annotations

from typing import Any, NamedTuple

from chongming_task.core.effects import Effect
from chongming_task.core.failures import Failure
from chongming_task.core.policies import TaskPolicy
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.states import TRANSITIONS, TaskStatus, edge_exists
from chongming_task.core.triggers import Now
from chongming_task.errors import InvalidTransition

__all__ = ["Draft", "Step"]

S = TaskStatus
_new = tuple.__new__  # a named tuple without its constructor's frame: four edges and four steps are made for every task
_NEEDS_WORKER = frozenset({S.RUNNING, S.STOPPING, S.LOST})  # ways out of PAUSED that only a live attempt can take


class Step(NamedTuple):
    """What a trigger made of a record."""

    snapshot: TaskSnapshot
    transitions: tuple[Transition, ...] = ()
    effects: tuple[Effect, ...] = ()
    attempt: AttemptRecord | None = None  # opened or closed by this step
    clear_attempts: bool = False  # a reset: earlier attempts are gone

    @property
    def acted(self) -> bool:
        """Whether the status moved."""
        return bool(self.transitions)


class Draft:
    """Collects the changes of one step on one record. Handlers put new field values into ``changes``, then ``move``."""

    __slots__ = ("attempt", "changes", "clear_attempts", "effects", "now", "policy", "status", "task", "transitions")

    def __init__(self, task: TaskSnapshot, policy: TaskPolicy, now: Now) -> None:
        self.task = task
        self.policy = policy
        self.now = now
        self.status = task.status
        self.changes: dict[str, Any] = {}
        self.transitions: list[Transition] = []
        self.effects: list[Effect] = []
        self.attempt: AttemptRecord | None = None
        self.clear_attempts = False

    def want(self, *effects: Effect) -> None:
        """Ask for effects, to be performed once the change is durable."""
        self.effects += effects

    def move(self, to: TaskStatus, trigger: str, actor: str, reason: str | None = None) -> None:
        """Change the status; the edge must exist, and its guards must hold.

        Raises:
            InvalidTransition: When the record cannot go there.
        """
        source, task = self.status, self.task
        if to not in TRANSITIONS[source] or to is S.RUNNING or source is S.PAUSED:
            self._guard(to, trigger)
        version = task.status_version + len(self.transitions) + 1
        edge = (task.task_id, version, source, to, trigger, actor, reason, self.now.utc)
        self.transitions.append(_new(Transition, edge))
        self.status = to

    def _guard(self, to: TaskStatus, trigger: str) -> None:
        source = self.status
        if not edge_exists(source, to, trigger):
            raise InvalidTransition(f"no edge {source} → {to} for {trigger}", current=source, requested=to)
        if trigger.startswith("force:"):
            return
        if source is S.PAUSED and (to in _NEEDS_WORKER) is not self.task.live:
            raise InvalidTransition(
                f"paused {'in place' if self.task.live else 'before its start'}: cannot become {to}",
                current=source,
                requested=to,
            )
        if to is S.RUNNING and self.changes.get("started_at", self.task.started_at) is None:
            raise InvalidTransition("a record without started_at cannot run", current=source, requested=to)

    def close_attempt(
        self,
        status: TaskStatus,
        failure: Failure | None = None,
        seconds: float | None = None,
        paused_seconds: float = 0.0,
        note: str | None = None,
    ) -> None:
        """Note how the live attempt ended; it holds no worker from here on."""
        task, now = self.task, self.now.utc
        self.attempt = AttemptRecord(
            task.task_id,
            task.attempt,
            status,
            task.started_at or now,
            now,
            seconds,
            paused_seconds,
            failure,
            task.executor,
            task.pid,
            task.owner,
            note,
        )
        self.changes["live"] = False

    def end(self, to: TaskStatus, trigger: str, actor: str, reason: str | None = None) -> None:
        """Move to a terminal status, and wipe what only a record on its way has."""
        changes = self.changes
        changes["ended_at"] = self.now.utc
        changes["requested_action"] = changes["retry_at"] = changes["grace_until"] = None
        self.move(to, trigger, actor, reason)

    def step(self) -> Step:
        """The finished step."""
        if not self.changes and not self.transitions:
            return Step(self.task, effects=tuple(self.effects))
        self.changes["status"] = self.status
        self.changes["status_version"] = self.task.status_version + len(self.transitions)
        snapshot = self.task.evolve(self.changes)
        made = (snapshot, tuple(self.transitions), tuple(self.effects), self.attempt, self.clear_attempts)
        return _new(Step, made)
