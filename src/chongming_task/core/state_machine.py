"""A small stateful face over the rules, for callers that drive one record by hand: tests, teaching, adapters."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from chongming_task.core.policies import TaskPolicy
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.rules import Step, step
from chongming_task.core.states import TaskStatus, Verb
from chongming_task.core.triggers import Asked, Forced, Now, Trigger
from chongming_task.core.verbs import refusal

__all__ = ["StateMachine"]


class StateMachine:
    """Holds one record and applies triggers to it.

    Args:
        snapshot: The record to begin with.
        now: A function that gives the present as an aware UTC datetime.
        policy: The record's retry and timeout policies.

    Example:
        >>> from datetime import datetime, UTC
        >>> machine = StateMachine(TaskSnapshot("t1", "demo", datetime.now(UTC)), lambda: datetime.now(UTC))
        >>> machine.ask(Verb.START).transitions[0].to_status
        <TaskStatus.QUEUED: 'queued'>
        >>> machine.can(Verb.PAUSE)
        (True, None)
    """

    def __init__(
        self,
        snapshot: TaskSnapshot,
        now: Callable[[], datetime],
        policy: TaskPolicy = TaskPolicy(),
    ) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.history: list[Transition] = []
        self.attempts: dict[int, AttemptRecord] = {}
        self._now = now

    @property
    def status(self) -> TaskStatus:
        """The record's status."""
        return self.snapshot.status

    def apply(self, trigger: Trigger, *, chance: float = 1.0) -> Step:
        """Apply a trigger; the record moves, and the step tells how.

        Args:
            trigger: What happened.
            chance: A number in [0, 1) for the jitter of a back-off.

        Raises:
            InvalidTransition: When the state refuses a verb; the record is unchanged.
        """
        made = step(self.snapshot, trigger, Now(self._now(), chance), self.policy)
        self.snapshot = made.snapshot
        self.history += made.transitions
        if made.clear_attempts:
            self.attempts.clear()
        if made.attempt is not None:
            self.attempts[made.attempt.attempt] = made.attempt
        return made

    def ask(self, verb: Verb, *, force: bool = False, reason: str | None = None, actor: str = "user") -> Step:
        """Apply a caller's verb. Raises what :meth:`apply` raises.

        Args:
            verb: What to do.
            force: Retry past the last attempt, or beside a lost worker that still runs.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.
        """
        return self.apply(Asked(verb, actor=actor, reason=reason, force=force))

    def force(self, to: TaskStatus, *, actor: str, reason: str) -> Step:
        """Set a status by hand; both words go into the audit trail and must not be empty.

        Args:
            to: The new status.
            actor: Who; must not be empty.
            reason: Why; must not be empty.
        """
        return self.apply(Forced(to, actor, reason))

    def can(self, verb: Verb, *, force: bool = False) -> tuple[bool, str | None]:
        """Whether a verb would be accepted, and if not, why; changes nothing.

        Args:
            verb: What would be asked.
            force: As for :meth:`ask`.
        """
        refused = refusal(self.snapshot, verb, force=force)
        return refused is None, None if refused is None else str(refused)
