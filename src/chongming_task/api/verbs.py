"""The verbs: what a caller can ask of a record, whoever carries it out.

They say what is asked and what it means to be confirmed. How a verb reaches its record is up to who has them: a
controller's engine, see ``api.steering``; or the store, see ``api.attach``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from chongming_task.api.naming import id_of
from chongming_task.api.seconds import seconds_of
from chongming_task.core.query import status_of
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.rules import KILL_SECONDS
from chongming_task.core.states import TERMINAL, TaskStatus, Verb
from chongming_task.core.text import MESSAGE_LIMIT, clean
from chongming_task.core.triggers import Asked, Forced
from chongming_task.core.verbs import refusal
from chongming_task.errors import ConfigurationError, TaskError
from chongming_task.runtime.engine import Answer

if TYPE_CHECKING:
    from chongming_task.api.handle import TaskHandle

__all__ = ["Verbs", "asked", "grace_of", "has_ended", "is_decided"]

S = TaskStatus


def _text(name: str, value: Any) -> str:
    """A caller's words, made safe to store."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} must be text, got {value!r}")
    return clean(value, MESSAGE_LIMIT)


def _verb(name: str) -> Verb:
    try:
        return Verb(name)
    except ValueError:
        raise ConfigurationError(f"{name!r} is no verb; the verbs are {', '.join(Verb)}") from None


def asked(verb: Verb, actor: str, reason: str | None, **options: Any) -> Asked:
    """A caller's verb, with words that are safe to store."""
    return Asked(verb, _text("actor", actor), None if reason is None else _text("reason", reason), **options)


def grace_of(asked: Asked) -> float:
    """How long whoever waits for a verb to come true is patient: its own window, and the time to act on it."""
    return (asked.window if asked.graceful else 0.0) + (1 if asked.verb is Verb.PAUSE else 2) * KILL_SECONDS


def has_ended(task: TaskSnapshot) -> bool:
    """Whether there is nothing more to wait for: of a stop."""
    return task.is_terminal


def is_decided(task: TaskSnapshot) -> bool:
    """The same, of a pause."""
    return task.status is not S.PAUSING


class Verbs:
    """What can be asked of records. A record is meant by its id or by its handle."""

    # what they stand on

    def _do(self, task_id: str, trigger: Asked | Forced) -> bool:
        """Have a verb carried out; whether it is, or only on its way."""
        raise NotImplementedError

    def _post(self, task_ids: Sequence[str], asked: Asked, done: Callable[[list[Answer]], None]) -> None:
        """Ask the same of several, and return at once."""
        raise NotImplementedError

    def _snapshot(self, task_id: str) -> TaskSnapshot:
        """The record as it stands."""
        raise NotImplementedError

    def _refusal(self, task_id: str, asked: Asked) -> TaskError | None:
        """Why a verb would be refused; None when it would not."""
        return refusal(self._snapshot(task_id), asked.verb, force=asked.force)

    def _wait_for(self, task_id: str, satisfied: Callable[[TaskSnapshot], bool], timeout: float) -> None:
        """Wait until a record satisfies, or the time is up."""
        raise NotImplementedError

    # what callers ask

    def start(self, task_id: str | TaskHandle[Any]) -> bool:
        """Start a pending record. Nothing to do when it has started.

        Args:
            task_id: The record: its id or its handle.

        Returns:
            True; False when another controller was asked, as with all verbs.

        Raises:
            InvalidTransition: When it has ended.
            UnknownTask: For an unknown id, as with all verbs.
        """
        return self._do(id_of(task_id), Asked(Verb.START))

    def stop(
        self,
        task_id: str | TaskHandle[Any],
        *,
        graceful: bool = True,
        timeout: float = 10.0,
        wait: bool = True,
        reason: str | None = None,
        actor: str = "user",
    ) -> bool:
        """Stop a record: it gets ``timeout`` seconds to reach a checkpoint and clean up.

        A thread that does not obey in time cannot be killed: it is given up, and the record is LOST, not STOPPED. The
        window is kept by the engine, whether or not anybody waits.

        Args:
            task_id: The record: its id or its handle.
            graceful: False gives it no time.
            timeout: Seconds of grace.
            wait: False returns once it is asked.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Returns:
            True when it has stopped (or ended by itself meanwhile); False when that is not confirmed: the time was up,
            or another controller watches it and was asked.

        Raises:
            InvalidTransition: When it has ended in another way.
        """
        return self._end(
            id_of(task_id),
            asked(Verb.STOP, actor, reason, graceful=graceful, window=seconds_of("timeout", timeout)),
            wait,
        )

    def cancel(
        self,
        task_id: str | TaskHandle[Any],
        reason: str | None = None,
        *,
        timeout: float = 10.0,
        wait: bool = True,
        actor: str = "user",
    ) -> bool:
        """Cancel a record: like :meth:`stop`, but it ends CANCELLED, as the consequence of something else.

        Args:
            task_id: The record: its id or its handle.
            reason: Why, for the audit trail.
            timeout: Seconds of grace.
            wait: False returns once it is asked.
            actor: Who asks, for the audit trail.

        Returns:
            As :meth:`stop`.

        Raises:
            InvalidTransition: When it has ended in another way.
        """
        return self._end(id_of(task_id), asked(Verb.CANCEL, actor, reason, window=seconds_of("timeout", timeout)), wait)

    def _end(self, task_id: str, asked: Asked, wait: bool) -> bool:
        if not self._do(task_id, asked):
            return False
        if wait:
            self._wait_for(task_id, has_ended, grace_of(asked))
        return self._has_ended_well(task_id)

    def _has_ended_well(self, task_id: str) -> bool:
        status = self._snapshot(task_id).status
        return status in TERMINAL and status is not S.LOST

    def pause(
        self,
        task_id: str | TaskHandle[Any],
        *,
        timeout: float = 30.0,
        wait: bool = True,
        reason: str | None = None,
        actor: str = "user",
    ) -> bool:
        """Hold a record: a running one at its next checkpoint, keeping its slots; a waiting one before its start.

        A task that reaches no checkpoint in time goes on running, and its record says so.

        Args:
            task_id: The record: its id or its handle.
            timeout: Seconds it has to reach a checkpoint.
            wait: False returns once it is asked.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Returns:
            True when it is held; False when that is not confirmed.

        Raises:
            InvalidTransition: When it is pending, blocked, stopping or has ended.
        """
        window = seconds_of("timeout", timeout)
        return self._hold(id_of(task_id), asked(Verb.PAUSE, actor, reason, window=window), wait)

    def _hold(self, task_id: str, asked: Asked, wait: bool) -> bool:
        if not self._do(task_id, asked):
            return False
        if wait:
            self._wait_for(task_id, is_decided, grace_of(asked))
        return self._is_held(task_id)

    def _is_held(self, task_id: str) -> bool:
        return self._snapshot(task_id).status is S.PAUSED

    def resume(self, task_id: str | TaskHandle[Any], *, reason: str | None = None, actor: str = "user") -> bool:
        """Let a paused record go on, or withdraw a pause that has not come true.

        On one that runs, is starting or is queued there is nothing to do.

        Args:
            task_id: The record: its id or its handle.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Raises:
            InvalidTransition: When it is pending, blocked, waiting to retry, stopping or has ended.
        """
        return self._do(id_of(task_id), asked(Verb.RESUME, actor, reason))

    def retry(
        self, task_id: str | TaskHandle[Any], *, force: bool = False, reason: str | None = None, actor: str = "user"
    ) -> bool:
        """Try a record again: one that failed, was stopped, cancelled or lost; or at once one that waits to retry.

        In a pipeline run, the nodes that it had blocked wait for it again; a map runs each of its tasks again that has
        no result. What ``fail_fast`` had ended beside it stays: ``run.retry_failed()`` runs that again as well.

        Args:
            task_id: The record: its id or its handle.
            force: Grant one attempt beyond ``max_attempts``; and on a LOST record whose worker still runs, accept two
                copies at once.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Raises:
            AttemptsExhausted: When all attempts are used, without ``force``.
            StillRunning: When its lost worker still runs, without ``force``.
            InvalidTransition: When it is not in a state to be retried.
        """
        return self._do(id_of(task_id), asked(Verb.RETRY, actor, reason, force=force))

    def skip(self, task_id: str | TaskHandle[Any], reason: str | None = None, *, actor: str = "user") -> bool:
        """Pass over a record that has not begun, or has failed.

        Args:
            task_id: The record: its id or its handle.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Raises:
            InvalidTransition: When it runs, or has ended in another way.
        """
        return self._do(id_of(task_id), asked(Verb.SKIP, actor, reason))

    def reset(
        self,
        task_id: str | TaskHandle[Any],
        *,
        confirm: bool = False,
        force: bool = False,
        reason: str | None = None,
        actor: str = "user",
    ) -> bool:
        """Forget a record's attempts and put it back to PENDING; the audit trail stays.

        Args:
            task_id: The record: its id or its handle.
            confirm: Must be True.
            force: Also when its lost worker still runs.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Raises:
            ConfigurationError: Without ``confirm``.
            InvalidTransition: While it holds a worker.
        """
        if not confirm:
            raise ConfigurationError("reset forgets all attempts of the record; write reset(..., confirm=True)")
        return self._do(id_of(task_id), asked(Verb.RESET, actor, reason, force=force))

    def force_transition(
        self, task_id: str | TaskHandle[Any], to: TaskStatus | str, *, reason: str, actor: str
    ) -> bool:
        """Set a status by hand, past all rules: the way out when an operator knows better.

        It goes into the audit trail as an override and the record is marked ``overridden``. A live attempt is detached:
        it is told to stop, and what becomes of it is noted but does not count.

        Args:
            task_id: The record: its id or its handle.
            to: The new status.
            reason: Why; must not be empty.
            actor: Who; must not be empty.

        Raises:
            ConfigurationError: For an unknown status, or an empty word.
        """
        return self._do(id_of(task_id), Forced(status_of(to), _text("actor", actor), _text("reason", reason)))

    def can(self, task_id: str | TaskHandle[Any], verb: str, *, force: bool = False) -> tuple[bool, str | None]:
        """Whether a verb would be accepted, and if not, why; changes nothing.

        Args:
            task_id: The record: its id or its handle.
            verb: Such as ``"pause"``.
            force: See :meth:`retry`.

        Raises:
            ConfigurationError: For an unknown verb.
        """
        refused = self._refusal(id_of(task_id), Asked(_verb(verb), force=force))
        return refused is None, None if refused is None else str(refused)

    def ask(
        self,
        verb: Verb | str,
        task_ids: Sequence[str | TaskHandle[Any]],
        *,
        actor: str,
        done: Callable[[list[Answer]], None],
        reason: str | None = None,
        force: bool = False,
        graceful: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Post a verb for several records and return at once; for panels and other senders that must not block.

        Args:
            verb: What to do.
            task_ids: The records.
            actor: Who asks.
            done: Called on a thread of the library's own (a controller's: the engine's) with one answer per id, in
                order; must be quick and not raise.
            reason: Why.
            force: See :meth:`retry`.
            graceful: See :meth:`stop`.
            timeout: Seconds of grace for stop and cancel (default 10), or for a pause to come true (default 30).
        """
        wanted = _verb(verb)
        window = timeout if timeout is not None else 30.0 if wanted is Verb.PAUSE else 10.0
        options = {"force": force, "graceful": graceful, "window": seconds_of("timeout", window)}
        self._post([id_of(each) for each in task_ids], asked(wanted, actor, reason, **options), done)
