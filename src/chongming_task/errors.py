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

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     try:
        ...         controller.get("nothing of that id")
        ...     except TaskError as error:
        ...         print(type(error).__name__)
        UnknownTask
    """


class ConfigurationError(TaskError, ValueError):
    """A definition, a policy or an argument cannot work; nothing was started.

    You get it at the call that is wrong: at decoration, at ``submit``, at ``Controller(...)``. You never get it from a
    task that has already been accepted.

    Example:
        >>> from chongming_task import RetryPolicy
        >>> RetryPolicy(max_attempts=0)
        Traceback (most recent call last):
        chongming_task.errors.ConfigurationError: RetryPolicy: max_attempts must be a whole number, 1 or more, got 0
    """


class UnknownTask(TaskError, LookupError):
    """No record has that id, or no registered task has that name.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     try:
        ...         controller.submit("convert")
        ...     except UnknownTask as error:
        ...         print(str(error)[:17])
        no task is called
    """


class UnknownInput(TaskError, KeyError):
    """A task asked ``ctx.input`` or ``ctx.upstream`` for something that it was not handed.

    Example:
        >>> from chongming_task import run_task
        >>> run_task(lambda ctx: ctx.input["day"]).exception()
        UnknownInput("ctx.input holds no 'day'; it holds nothing")
    """

    __str__ = Exception.__str__  # a KeyError would show the message quoted


class InvalidTransition(TaskError):
    """The record's state does not allow what was asked; the record is unchanged.

    You do not get it for a verb that has nothing left to do: stopping a stopped task is accepted.

    Args:
        message: What was refused, and why.
        current: The status the record is in.
        requested: The verb or status that was asked for.
        allowed: What would have been accepted in this state.

    Example:
        >>> from chongming_task import run_task
        >>> handle = run_task(pow, 2, 10)
        >>> handle.can("pause")
        (False, "cannot pause 'pow': it has succeeded; to run it again: reset(confirm=True), then start()")
    """

    def __init__(self, message: str, *, current: str, requested: str, allowed: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.current = current
        self.requested = requested
        self.allowed = tuple(allowed)


class AttemptsExhausted(InvalidTransition):
    """All attempts are used. ``retry(force=True)`` grants one more.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(int, "no number")
        ...     _ = handle.wait(timeout=10)
        ...     print(handle.can("retry"), handle.can("retry", force=True))
        (False, "cannot retry 'int': 1 of 1 attempts are used; retry with force=True to grant one more") (True, None)
    """


class StillRunning(InvalidTransition):
    """The record is LOST and its worker, given up earlier, still runs.

    A retry now would run two copies at once. Ask for it with ``retry(force=True)``, or wait until the worker is gone.

    Example:
        >>> from datetime import UTC, datetime
        >>> from chongming_task import StateMachine, TaskSnapshot, TaskStatus, Verb
        >>> now = datetime.now(UTC)
        >>> lost = TaskSnapshot("t1", "load", now, status=TaskStatus.LOST, attempt=1, max_attempts=2, abandoned=True)
        >>> machine = StateMachine(lost, lambda: now)
        >>> machine.can(Verb.RETRY)[0], machine.can(Verb.RETRY, force=True)[0]
        (False, True)
    """


class TaskExecutionError(TaskError):
    """A task ended without a value: it failed, was stopped, cancelled, skipped or lost.

    You get it from ``handle.result()`` when there is no exception of the task's own to raise: the record was stopped,
    or its exception object lives in another process.

    Args:
        message: Which task, how it ended and why.
        task_id: The record.
        status: The terminal status.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10, start=False)
        ...     _ = handle.cancel("nobody needs it")
        ...     error = handle.exception(timeout=10)
        >>> type(error).__name__, error.status
        ('TaskExecutionError', <TaskStatus.CANCELLED: 'cancelled'>)
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

    Example:
        >>> from chongming_task import Timeout, run_task
        >>> handle = run_task(lambda ctx: ctx.sleep(60), timeout=Timeout(per_attempt=0.01))
        >>> type(handle.exception()).__name__, handle.failure.kind.value
        ('TaskTimeout', 'timeout_attempt')
    """


class ResultInvalid(TaskError, TypeError):
    """A task returned a value that cannot be stored; says where in it, and what to do.

    It fails the attempt with RESULT_INVALID, and ``handle.result()`` raises it. You do not get it for a value that JSON
    or a result codec holds, nor with ``@task(result="memory")``.

    Example:
        >>> from chongming_task import run_task
        >>> type(run_task(lambda: object()).exception()).__name__
        'ResultInvalid'
    """


class ResultUnavailable(TaskError, LookupError):
    """A task succeeded, but its value cannot be had here.

    You get it where a value is asked for that was kept in the memory of another process, or in a file that is gone or
    that no codec of this controller reads. The record itself is sound.

    Example:
        >>> import tempfile
        >>> from chongming_task import Controller, task
        >>> in_memory = task(result="memory")(object)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Controller(f"{folder}/runs.db") as first:
        ...         handle = first.submit(in_memory)
        ...     with Controller(f"{folder}/runs.db") as second:
        ...         try:
        ...             second.result(handle.id)
        ...         except ResultUnavailable as error:
        ...             print(type(error).__name__)
        ResultUnavailable
    """


class NotRestartable(TaskError):
    """A stored record cannot be run by this process; says why, and what to do. The record is unchanged.

    You get it where a record of another process is asked to run again: it was not submitted as restartable, its task is
    not registered here, or takes other arguments by now. You never get it for a record that this process submitted and
    still holds in memory.

    Example:
        >>> import tempfile
        >>> from chongming_task import Controller
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Controller(f"{folder}/runs.db") as first:
        ...         handle = first.submit(int, "no number")
        ...     with Controller(f"{folder}/runs.db") as second:
        ...         try:
        ...             second.retry(handle.id, force=True)
        ...         except NotRestartable as error:
        ...             print(type(error).__name__)
        NotRestartable
    """


class NotWatched(TaskError):
    """Nobody watches the record: its controller is gone, so nothing could carry the verb out. The record is unchanged.

    You get it from what :meth:`Controller.attach` gives, which runs nothing itself. A controller takes such a record
    over instead: use the same verb there, or ``reconcile()``.

    Example:
        >>> import tempfile
        >>> from chongming_task import Controller
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Controller(f"{folder}/runs.db") as gone:
        ...         handle = gone.submit(int, "no number")
        ...     with Controller.attach(f"{folder}/runs.db") as operator:
        ...         try:
        ...             operator.retry(handle.id, force=True)
        ...         except NotWatched as error:
        ...             print(type(error).__name__)
        NotWatched
    """


class ControllerClosed(TaskError, RuntimeError):
    """The controller was closed; it takes no more work and no more verbs.

    Example:
        >>> from chongming_task import Controller
        >>> controller = Controller()
        >>> _ = controller.close()
        >>> try:
        ...     controller.submit(pow, 2, 10)
        ... except ControllerClosed as error:
        ...     print(type(error).__name__)
        ControllerClosed
    """


class EventsLost(TaskError):
    """A stream of events was not read while a hundred thousand changes of status came, and was given up.

    You never get it from a reader that is only slow: its progress and output events are dropped and counted, and its
    changes of status wait.

    Example:
        >>> from chongming_task import Controller, TaskStatusChanged
        >>> async def last_status(task_id, controller):
        ...     try:
        ...         async for event in controller.stream(types=[TaskStatusChanged], task_id=task_id):
        ...             print(event.to_status)
        ...     except EventsLost:
        ...         return controller.get(task_id).status  # the events are gone; the record is not
    """


class StoreError(TaskError):
    """The store could not read or write. Tasks go on; see ``controller.persist_failures``.

    Example:
        >>> from chongming_task import Controller
        >>> try:
        ...     Controller.attach("no such folder/runs.db")
        ... except StoreError as error:
        ...     print(type(error).__name__)
        StoreError
    """


class StoreWarning(UserWarning):
    """A store works, but what it stands on is known to lose data: an SQLite library, a network file system.

    You get it once in a process, when the store is opened, with the fix. To go without: ``warnings.simplefilter``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", StoreWarning)  # it is known, and accepted
    """


class ConcurrencyConflict(StoreError):
    """Somebody else wrote the record first, or has taken it over: its version or owner is not the one expected.

    Args:
        task_id: The record.
        expected: The version the writer had read; None when the record should not have existed.
        found: The version in the store; None when it holds no such record.
        owner: Who has taken it over; None when it is a matter of versions.

    Example:
        >>> print(ConcurrencyConflict("t1", expected=3, found=4))
        record t1: expected version 3, found 4
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

    Example:
        >>> from chongming_task import Controller
        >>> def clean(ctx):
        ...     try:
        ...         ctx.sleep(60)
        ...     except TaskCancelled:
        ...         print("asked to stop")
        ...         raise
        >>> with Controller(echo=False) as controller:
        ...     handle = controller.submit(clean)
        ...     _ = handle.wait_for("running", timeout=10)
        ...     print(handle.stop(), [line.text for line in handle.output()])
        True ['asked to stop']
    """
