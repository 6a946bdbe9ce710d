"""Every error the library raises, in one tree.

    TaskError
    ├── ConfigurationError        a definition, policy or argument that cannot work
    ├── UnknownTask               no record has that id; no task has that name
    ├── UnknownInput              the task was handed nothing of that name
    ├── InvalidTransition         the state does not allow what was asked
    │   ├── AttemptsExhausted     no attempt is left, and force was not given
    │   └── StillRunning          a worker that was given up still runs, and force was not given
    ├── TaskExecutionError        a task ended without a value
    │   └── TaskTimeout           ... because it overran one of its limits
    ├── ResultInvalid             a task returned what cannot be stored
    ├── ResultUnavailable         a task succeeded, but its value cannot be had here
    ├── NotRestartable            a stored record cannot be run again by this process
    ├── NotWatched                no living controller could carry the verb out
    ├── ControllerClosed          the controller takes no more work
    ├── EventsLost                a stream of events was not read for too long
    └── StoreError                the store could not do its work
        └── ConcurrencyConflict   somebody else wrote the record first

    TaskCancelled (BaseException) the stop signal, raised inside a task at a checkpoint
    StoreWarning (UserWarning)    a store works, but what it stands on cannot be trusted

Messages say what was wrong, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "AttemptsExhausted",
    "ConcurrencyConflict",
    "ConfigurationError",
    "ControllerClosed",
    "EventsLost",
    "InvalidTransition",
    "NotRestartable",
    "NotWatched",
    "ResultInvalid",
    "ResultUnavailable",
    "StillRunning",
    "StoreError",
    "StoreWarning",
    "TaskCancelled",
    "TaskError",
    "TaskExecutionError",
    "TaskTimeout",
    "UnknownInput",
    "UnknownTask",
]


class TaskError(Exception):
    """Root of the tree. Catch it to catch whatever this library raises to its callers.

    You do not get :class:`TaskCancelled` with it: that one is control flow, not an error.
    """


class ConfigurationError(TaskError, ValueError):
    """A definition, a policy or an argument cannot work; nothing was started.

    You get it at the call that is wrong: at decoration, at ``submit``, at ``Controller(...)``. You never get it from a
    task that has already been accepted.
    """


class UnknownTask(TaskError, LookupError):
    """No record has that id, or no registered task has that name."""


class UnknownInput(TaskError, KeyError):
    """A task asked ``ctx.input`` or ``ctx.upstream`` for something that it was not handed."""

    __str__ = Exception.__str__  # a KeyError would show the message quoted


class InvalidTransition(TaskError):
    """The record's state does not allow what was asked; the record is unchanged.

    You do not get it for a verb that has nothing left to do: stopping a stopped task is accepted.

    Args:
        message: What was refused, and why.
        current: The status the record is in.
        requested: The verb or status that was asked for.
        allowed: What would have been accepted in this state.
    """

    def __init__(self, message: str, *, current: str, requested: str, allowed: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.current = current
        self.requested = requested
        self.allowed = tuple(allowed)


class AttemptsExhausted(InvalidTransition):
    """All attempts are used. ``retry(force=True)`` grants one more."""


class StillRunning(InvalidTransition):
    """The record is LOST and its worker, given up earlier, still runs.

    A retry now would run two copies at once. Ask for it with ``retry(force=True)``, or wait until the worker is gone.
    """


class TaskExecutionError(TaskError):
    """A task ended without a value: it failed, was stopped, cancelled, skipped or lost.

    You get it from ``handle.result()`` when there is no exception of the task's own to raise: the record was stopped,
    or its exception object lives in another process.

    Args:
        message: Which task, how it ended and why.
        task_id: The record.
        status: The terminal status.
    """

    def __init__(self, message: str, *, task_id: str, status: str) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.status = status


class TaskTimeout(TaskExecutionError):
    """A task overran its start, attempt or idle limit and has no attempt left, or its thread would not end: then its
    status is lost.

    It is no :class:`TimeoutError`. That builtin you get when ``wait(timeout)`` or ``result(timeout)`` runs out of
    patience, and the task goes on.
    """


class ResultInvalid(TaskError, TypeError):
    """A task returned a value that cannot be stored; says where in it, and what to do.

    It fails the attempt with RESULT_INVALID, and ``handle.result()`` raises it. You do not get it for a value that JSON
    or a result codec holds, nor with ``@task(result="memory")``.
    """


class ResultUnavailable(TaskError, LookupError):
    """A task succeeded, but its value cannot be had here.

    You get it where a value is asked for that was kept in the memory of another process, or in a file that is gone or
    that no codec of this controller reads. The record itself is sound.
    """


class NotRestartable(TaskError):
    """A stored record cannot be run by this process; says why, and what to do. The record is unchanged.

    You get it where a record of another process is asked to run again: it was not submitted as restartable, its task is
    not registered here, or takes other arguments by now. You never get it for a record that this process submitted and
    still holds in memory.
    """


class NotWatched(TaskError):
    """Nobody watches the record: its controller is gone, so nothing could carry the verb out. The record is unchanged.

    You get it from what :meth:`Controller.attach` gives, which runs nothing itself. A controller takes such a record
    over instead: use the same verb there, or ``reconcile()``.
    """


class ControllerClosed(TaskError, RuntimeError):
    """The controller was closed; it takes no more work and no more verbs."""


class EventsLost(TaskError):
    """A stream of events was not read while a hundred thousand changes of status came, and was given up.

    You never get it from a reader that is only slow: its progress and output events are dropped and counted, and its
    changes of status wait.
    """


class StoreError(TaskError):
    """The store could not read or write. Tasks go on; see ``controller.persist_failures``."""


class StoreWarning(UserWarning):
    """A store works, but what it stands on is known to lose data: an SQLite library, a network file system.

    You get it once in a process, when the store is opened, with the fix. To go without: ``warnings.simplefilter``.
    """


class ConcurrencyConflict(StoreError):
    """Somebody else wrote the record first, or has taken it over: its version or owner is not the one expected.

    Args:
        task_id: The record.
        expected: The version the writer had read; None when the record should not have existed.
        found: The version in the store; None when it holds no such record.
        owner: Who has taken it over; None when it is a matter of versions.
    """

    def __init__(self, task_id: str, *, expected: int | None, found: int | None, owner: str | None = None) -> None:
        taken = "" if owner is None else f", taken over by {owner}"
        super().__init__(f"record {task_id}: expected version {expected}, found {found}{taken}")
        self.task_id = task_id
        self.expected = expected
        self.found = found
        self.owner = owner


class TaskCancelled(BaseException):
    """Raised inside a task, at a checkpoint, when the task was asked to stop.

    It derives from BaseException so that ``except Exception`` lets it through. Let it pass: clean up in ``finally`` and
    do not swallow it. A task that swallows it meets it again at its next checkpoint, and is shown as lost when its
    grace window ends.
    """
