"""The facade: submit, steer and look at tasks. Every method may be called from any thread."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from chongming_task.api.closing import CloseReport, close_all
from chongming_task.api.handle import TaskHandle
from chongming_task.api.registry import TaskRegistry
from chongming_task.api.submission import Options, Submissions, limit_keys
from chongming_task.api.task import TaskFunction, TaskSpec
from chongming_task.core.events import Event
from chongming_task.core.policies import BucketPolicy, ConcurrencyPolicy, RetryPolicy, Timeout
from chongming_task.core.ports import Clock, Executor, TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.rules import KILL_SECONDS
from chongming_task.core.states import TERMINAL, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Forced, Trigger
from chongming_task.core.verbs import refusal
from chongming_task.errors import ConfigurationError, ControllerClosed, UnknownTask
from chongming_task.runtime.bus import Subscription
from chongming_task.runtime.clock import SystemClock
from chongming_task.runtime.context import running_task_id
from chongming_task.runtime.driver import Driver, ThreadDriver
from chongming_task.runtime.engine import Answer, Engine
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.executors.thread import ThreadExecutor
from chongming_task.runtime.live import LiveTask, Waiter
from chongming_task.runtime.ready_queue import ReadyQueue
from chongming_task.stores.memory import MemoryTaskStore

if TYPE_CHECKING:
    from chongming_task.notebook.history import History
    from chongming_task.notebook.panel import Panel

__all__ = ["Controller"]

P = ParamSpec("P")
R = TypeVar("R")
S = TaskStatus

_AT_REST = TERMINAL | {S.PENDING, S.BLOCKED, S.PAUSED}  # nothing more happens by itself
_EXECUTORS: Mapping[str, Callable[[Callable[[], float]], Executor]] = {
    "thread": ThreadExecutor,
    "inline": InlineExecutor,
}


class Controller:
    """Launches, watches and steers tasks, from inside this process.

    As a context manager it waits for its tasks at the end of the block, or stops them when the block raises, and closes.

    Args:
        store: Where records are kept; default: this process's memory.
        executor: Who runs attempts: ``"thread"`` (default), ``"inline"``, or an executor object.
        max_parallel: How many tasks hold a worker at once; short for ``concurrency=ConcurrencyPolicy(max_parallel=...)``.
        concurrency: All limits; not together with the two short forms.
        max_parallel_per_bucket: How many tasks of one bucket hold a worker at once.
        bucket_policy: Where bucket keys fall.
        owned_buckets: The buckets this controller takes; default: all.
        owner: What it calls itself in records; default: ``host:pid``.
        name: What panels call it.
        keep_terminal: How many ended records stay in memory; the store keeps them all.
        clock: Time; a fake one in tests.
        driver: Who makes the engine tick; by hand in tests.

    Raises:
        ConfigurationError: For values that cannot work.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller(max_parallel=4) as controller:
        ...     handles = [controller.submit(pow, 2, n) for n in range(4)]
        ...     [handle.result(timeout=10) for handle in handles]
        [1, 2, 4, 8]
    """

    def __init__(
        self,
        store: TaskStore | None = None,
        executor: str | Executor = "thread",
        *,
        max_parallel: int | None = None,
        concurrency: ConcurrencyPolicy | None = None,
        max_parallel_per_bucket: int | None = None,
        bucket_policy: BucketPolicy | None = None,
        owned_buckets: Iterable[int] | None = None,
        owner: str | None = None,
        name: str | None = None,
        keep_terminal: int = 10_000,
        clock: Clock | None = None,
        driver: Driver | None = None,
    ) -> None:
        limits = _limits(concurrency, max_parallel, max_parallel_per_bucket)
        buckets = BucketPolicy() if bucket_policy is None else bucket_policy
        owned = None if owned_buckets is None else buckets.checked(owned_buckets)
        self.name = name
        self.owner = owner or f"{platform.node()}:{os.getpid()}"
        self.registry = TaskRegistry()
        self._clock: Clock = clock or SystemClock()
        self._executor = _executor(executor, self._clock)
        self._store = _store(store)
        self._submissions = Submissions(
            self.registry, self._clock, self._executor, self.owner, limits, buckets, owned
        )
        ready = ReadyQueue(limits.max_parallel)
        for key, size in limit_keys(limits, buckets).items():
            ready.set_limit(key, size)
        self._engine = Engine(self._store, self._executor, self._clock, ready, keep_terminal=keep_terminal)
        self._driver: Driver = driver or ThreadDriver()
        self._driver.start(self._engine)
        self._closed = False

    # declare

    def register(self, target: Callable[..., Any], *, name: str | None = None) -> TaskSpec:
        """Accept a task by name. See :meth:`TaskRegistry.register`."""
        return self.registry.register(target, name=name)

    def register_all(self, *targets: Callable[..., Any]) -> None:
        """Accept several tasks, each under its own name."""
        for target in targets:
            self.registry.register(target)

    # submit

    @overload
    def submit(self, target: TaskFunction[P, R], /, *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]: ...
    @overload
    def submit(self, target: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]: ...
    @overload
    def submit(
        self,
        target: Callable[..., R],
        /,
        *,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        start: bool = True,
    ) -> TaskHandle[R]: ...
    @overload
    def submit(
        self,
        target: str,
        /,
        *positional: Any,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        start: bool = True,
        **keywords: Any,
    ) -> TaskHandle[Any]: ...
    def submit(
        self,
        target: Callable[..., Any] | str,
        /,
        *positional: Any,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        start: bool = True,
        **keywords: Any,
    ) -> TaskHandle[Any]:
        """Submit a task: its arguments as in a call, and options by keyword.

        Keywords that are no option go to the task. Where the task has a parameter with an option's name, pass it in
        ``kwargs``. With the inline executor the call returns when the record has ended.

        Args:
            target: A ``@task`` function, a registered name, or, in this process, any callable.
            *positional: The task's arguments, without the context.
            args: The same as a tuple, for callers that have one.
            kwargs: The task's keyword arguments as a mapping.
            name: What to call this record; default: the task's name.
            retry: Instead of the task's policy.
            timeout: Instead of the task's limits.
            tags: Beside the task's own.
            priority: Higher runs first; default: the task's, else the controller's.
            bucket_key: The business key that decides the bucket, such as a tenant.
            start: False leaves it pending until :meth:`start`.
            **keywords: The task's keyword arguments.

        Returns:
            The live handle. Whatever can be refused is refused before it exists.

        Raises:
            UnknownTask: For a name that is not registered.
            ConfigurationError: For arguments or options that cannot work.
            ControllerClosed: After :meth:`close`.
        """
        self._check_open()
        options = Options(args, kwargs, name, retry, timeout, tags, priority, bucket_key)
        live = self._submissions.make(target, positional, keywords, options)
        trigger = Asked(Verb.START) if start else None
        self._go(live, lambda: self._engine.submit(live, trigger))
        return TaskHandle(self, live)

    def _go(self, live: LiveTask, post: Callable[[], None]) -> None:
        """Post what may start an attempt; with the inline executor, run the attempts here."""
        if not isinstance(self._executor, InlineExecutor):
            post()
            return

        def begin(look_again: Callable[[], None]) -> Callable[[], bool]:
            post()
            self._sync()
            live.subscribe(Waiter(lambda task: task.status in _AT_REST, look_again))
            return lambda: live.snapshot.status not in _AT_REST

        self._executor.serve(live.snapshot.task_id, begin)

    # steer

    def start(self, task_id: str) -> None:
        """Start a pending record. Nothing to do when it has started.

        Raises:
            InvalidTransition: When it has ended.
            UnknownTask: For an unknown id, as with all verbs.
        """
        self._ask_and_go(task_id, Asked(Verb.START))

    def stop(
        self,
        task_id: str,
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
            task_id: The record.
            graceful: False gives it no time.
            timeout: Seconds of grace.
            wait: False returns once it is asked.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Returns:
            True when it has stopped (or ended by itself meanwhile); False when that is not confirmed.

        Raises:
            InvalidTransition: When it has ended in another way.
        """
        return self._end(Verb.STOP, task_id, graceful, timeout, wait, reason, actor)

    def cancel(
        self,
        task_id: str,
        reason: str | None = None,
        *,
        timeout: float = 10.0,
        wait: bool = True,
        actor: str = "user",
    ) -> bool:
        """Cancel a record: like :meth:`stop`, but it ends CANCELLED, as the consequence of something else."""
        return self._end(Verb.CANCEL, task_id, True, timeout, wait, reason, actor)

    def _end(
        self, verb: Verb, task_id: str, graceful: bool, timeout: float, wait: bool, reason: str | None, actor: str
    ) -> bool:
        window = _seconds("timeout", timeout)
        self._ask(task_id, Asked(verb, actor, reason, graceful=graceful, window=window))
        if wait and task_id != running_task_id():  # a task that stops itself must not wait for itself
            patience = (window if graceful else 0.0) + 2 * KILL_SECONDS
            self._wait_for(task_id, lambda task: task.status in TERMINAL, patience)
        status = self.get(task_id).status
        return status in TERMINAL and status is not S.LOST

    def pause(
        self,
        task_id: str,
        *,
        timeout: float = 30.0,
        wait: bool = True,
        reason: str | None = None,
        actor: str = "user",
    ) -> bool:
        """Hold a record: a running one at its next checkpoint, keeping its slots; a waiting one before its start.

        A task that reaches no checkpoint in time goes on running, and its record says so.

        Args:
            task_id: The record.
            timeout: Seconds it has to reach a checkpoint.
            wait: False returns once it is asked.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Returns:
            True when it is held; False when that is not confirmed.

        Raises:
            InvalidTransition: When it is pending, blocked, stopping or has ended.
        """
        window = _seconds("timeout", timeout)
        self._ask(task_id, Asked(Verb.PAUSE, actor, reason, window=window))
        if wait and task_id != running_task_id():
            self._wait_for(task_id, lambda task: task.status is not S.PAUSING, window + KILL_SECONDS)
        return self.get(task_id).status is S.PAUSED

    def resume(self, task_id: str, *, reason: str | None = None, actor: str = "user") -> None:
        """Let a paused record go on, or withdraw a pause that has not come true.

        Raises:
            InvalidTransition: When it is neither paused nor on its way.
        """
        self._ask_and_go(task_id, Asked(Verb.RESUME, actor, reason))

    def retry(
        self, task_id: str, *, force: bool = False, reason: str | None = None, actor: str = "user"
    ) -> None:
        """Try a record again: one that failed, was stopped, cancelled or lost; or at once one that waits to retry.

        Args:
            task_id: The record.
            force: Grant one attempt beyond ``max_attempts``; and on a LOST record whose worker still runs, accept two
                copies at once.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Raises:
            AttemptsExhausted: When all attempts are used, without ``force``.
            StillRunning: When its lost worker still runs, without ``force``.
            InvalidTransition: When it is not in a state to be retried.
        """
        self._ask_and_go(task_id, Asked(Verb.RETRY, actor, reason, force=force))

    def skip(self, task_id: str, reason: str | None = None, *, actor: str = "user") -> None:
        """Pass over a record that has not begun, or has failed.

        Raises:
            InvalidTransition: When it runs, or has ended in another way.
        """
        self._ask(task_id, Asked(Verb.SKIP, actor, reason))

    def reset(
        self,
        task_id: str,
        *,
        confirm: bool = False,
        force: bool = False,
        reason: str | None = None,
        actor: str = "user",
    ) -> None:
        """Forget a record's attempts and put it back to PENDING; the audit trail stays.

        Args:
            task_id: The record.
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
        self._ask(task_id, Asked(Verb.RESET, actor, reason, force=force))

    def force_transition(self, task_id: str, to: TaskStatus | str, *, reason: str, actor: str) -> None:
        """Set a status by hand, past all rules: the way out when an operator knows better.

        It goes into the audit trail as an override, the record is marked ``overridden``, and a live attempt is detached:
        it is told to stop, and what becomes of it is noted but does not count.

        Args:
            task_id: The record.
            to: The new status.
            reason: Why; must not be empty.
            actor: Who; must not be empty.

        Raises:
            ConfigurationError: For an unknown status, or an empty word.
        """
        try:
            target = TaskStatus(to)
        except ValueError:
            known = ", ".join(s.value for s in TaskStatus)
            raise ConfigurationError(f"{to!r} is no status; the statuses are {known}") from None
        self._ask_and_go(task_id, Forced(target, actor, reason))

    def can(self, task_id: str, verb: str, *, force: bool = False) -> tuple[bool, str | None]:
        """Whether a verb would be accepted, and if not, why; changes nothing.

        Raises:
            ConfigurationError: For an unknown verb.
        """
        try:
            wanted = Verb(verb)
        except ValueError:
            raise ConfigurationError(f"{verb!r} is no verb; the verbs are {', '.join(Verb)}") from None
        refused = refusal(self.get(task_id), wanted, force=force)
        return refused is None, None if refused is None else str(refused)

    def ask(
        self,
        verb: Verb,
        task_ids: Sequence[str],
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
            done: Called on the engine thread with one answer per id, in order; must be quick and not raise.
            reason: Why.
            force: See :meth:`retry`.
            graceful: See :meth:`stop`.
            timeout: Seconds of grace for stop and cancel (default 10), or for a pause to come true (default 30).
        """
        self._check_open()
        window = timeout if timeout is not None else 30.0 if verb is Verb.PAUSE else 10.0
        trigger = Asked(verb, actor, reason, force, graceful, _seconds("timeout", window))
        self._engine.ask(task_ids, trigger, done)

    def _ask(self, task_id: str, trigger: Trigger) -> Answer:
        """Apply a verb, and wait for the answer of the engine: it is stored when this returns."""
        self._check_open()
        event, answers = threading.Event(), []

        def done(found: list[Answer]) -> None:
            answers.extend(found)
            event.set()

        self._engine.ask([task_id], trigger, done)
        self._driver.wait(event)
        answer: Answer = answers[0]
        if answer.error is not None:
            raise answer.error
        return answer

    def _ask_and_go(self, task_id: str, trigger: Trigger) -> None:
        """Apply a verb that may start an attempt."""
        live = self._engine.tasks.get(task_id)
        if live is None:
            self._ask(task_id, trigger)
        else:
            self._go(live, lambda: self._ask(task_id, trigger) and None)

    # look

    def get(self, task_id: str) -> TaskSnapshot:
        """The record as it stands.

        Raises:
            UnknownTask: When there is none.
        """
        live = self._engine.tasks.get(task_id)
        if live is None:
            self._sync()
            live = self._engine.tasks.get(task_id)
        found = live.snapshot if live is not None else self._store.get(task_id)
        if found is None:
            raise UnknownTask(f"no task {task_id!r} in this controller or its store")
        return found

    def handle(self, task_id: str) -> TaskHandle[Any]:
        """The live handle of a record of this controller.

        Raises:
            UnknownTask: When it is not in this controller's memory.
        """
        self.get(task_id)
        live = self._engine.tasks.get(task_id)
        if live is None:
            raise UnknownTask(f"task {task_id!r} is not in memory any more; get() and attempts() read it from the store")
        return TaskHandle(self, live)

    def list_tasks(
        self,
        *,
        status: TaskStatus | str | Iterable[TaskStatus | str] | None = None,
        tag: str | None = None,
        name_prefix: str | None = None,
        pipeline_run_id: str | None = None,
        limit: int | None = None,
    ) -> list[TaskSnapshot]:
        """The records that match, oldest first.

        Args:
            status: One status or several.
            tag: A tag they carry.
            name_prefix: How their names begin.
            pipeline_run_id: The run they belong to.
            limit: At most that many, the newest.
        """
        self._sync()
        query = TaskQuery.of(
            status=status, tag=tag, name_prefix=name_prefix, pipeline_run_id=pipeline_run_id, limit=limit
        )
        return self._store.query(query)

    def counts(self, *, pipeline_run_id: str | None = None) -> dict[TaskStatus, int]:
        """How many records are in each status; every status is a key."""
        self._sync()
        return dict.fromkeys(TaskStatus, 0) | self._store.counts(pipeline_run_id)

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """The tries of a record, first to last."""
        self._sync()
        return self._store.attempts(task_id)

    def transitions(self, task_id: str, *, since_version: int = 0) -> list[Transition]:
        """The audit trail of a record after that version."""
        self._sync()
        return self._store.transitions(task_id, since_version)

    def abandoned(self) -> list[TaskSnapshot]:
        """Records with a worker that was given up and still runs in the background."""
        lives = list(self._engine.tasks.values())
        return [live.snapshot for live in lives if any(w.running for w in list(live.given_up.values()))]

    def waiting_for(self, task_id: str) -> list[str]:
        """The full limits a queued record waits for, such as ``["tag db (4/4)"]``; empty when it is just not its turn."""
        found: list[str] = []
        self._on_engine(lambda: found.extend(_describe(self._engine.ready, task_id)))
        return found

    @property
    def persist_failures(self) -> list[str]:
        """What the store could not do, oldest first; empty is healthy."""
        return list(self._engine.journal.failures)

    @property
    def desynced_tasks(self) -> list[str]:
        """Records that somebody else wrote; this controller no longer writes them."""
        return list(self._engine.journal.desynced)

    def watch(
        self, callback: Callable[[Event], None], *, task_id: str | None = None, types: Iterable[type[Event]] = ()
    ) -> Subscription:
        """Have events told to ``callback``, on a thread of its own.

        Args:
            callback: Takes one event. It may be slow or raise: no task notices, and progress it cannot keep up with is
                dropped and counted.
            task_id: Only of that record.
            types: Only of these classes; default: all.

        Returns:
            The subscription; ``close()`` ends it.
        """
        wanted = tuple(types) or (Event,)

        def accepts(event: Event) -> bool:
            return isinstance(event, wanted) and (task_id is None or event.task_id == task_id)

        return self._engine.bus.subscribe(callback, accepts)

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None]) -> Callable[[], None]:
        """For views: called on the engine thread with every batch of changed records; must be quick and not raise.

        Returns:
            The function that ends it.
        """
        return self._engine.bus.tap(callback)

    # wait and end

    def wait_all(self, timeout: float | None = None) -> None:
        """Wait until every record of this controller has ended.

        Args:
            timeout: Seconds for all of them together; None waits without end.

        Raises:
            TimeoutError: When some have not ended by then; they go on.
        """
        self._sync()
        ends = None if timeout is None else self._clock.monotonic() + timeout
        for live in list(self._engine.tasks.values()):
            left = None if ends is None else max(ends - self._clock.monotonic(), 0.0)
            TaskHandle[Any](self, live).wait(left)

    def close(self, timeout: float = 10.0, *, close_store: bool = True) -> CloseReport:
        """Take no more work, stop everything, and let go of threads and store. Idempotent.

        Args:
            timeout: Seconds of grace for running tasks.
            close_store: False leaves the store open, for another controller.

        Returns:
            What became of the records that had not ended.
        """
        if self._closed:
            return CloseReport()
        self._closed = True
        report = close_all(self._engine, self._driver, _seconds("timeout", timeout))
        self._driver.stop()
        self._executor.close()
        self._engine.bus.close()
        if close_store:
            self._store.close()
        return report

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self.wait_all()
        finally:
            self.close()

    def _wait_for(self, task_id: str, satisfied: Callable[[TaskSnapshot], bool], timeout: float) -> None:
        live = self._engine.tasks.get(task_id)
        if live is not None:
            TaskHandle[Any](self, live)._wait_until(satisfied, timeout)

    def _sync(self) -> None:
        """Wait until everything posted so far is stored and published, so that readers see their own writes."""
        if not self._closed:
            self._on_engine(lambda: None)

    def _on_engine(self, call: Callable[[], None]) -> None:
        event = threading.Event()

        def done() -> None:
            try:
                call()
            finally:
                event.set()

        self._engine.call(done)
        self._driver.wait(event)

    def _check_open(self) -> None:
        if self._closed:
            raise ControllerClosed("this controller is closed; make a new one")

    # notebook

    def panel(self, **options: Any) -> Panel:
        """The live panel of this controller's tasks, for a notebook.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed.
        """
        from chongming_task.notebook.panel import panel

        return panel(self, **options)

    @property
    def history(self) -> History:
        """The stored records as pandas DataFrames.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed.
        """
        from chongming_task.notebook.history import History

        return History(self)

    def __repr__(self) -> str:
        states = ", ".join(f"{count} {status}" for status, count in self._store.counts().items())
        return f"<Controller {self.name or self.owner}: {states or 'no tasks'}{', closed' if self._closed else ''}>"


def _limits(
    concurrency: ConcurrencyPolicy | None, max_parallel: int | None, per_bucket: int | None
) -> ConcurrencyPolicy:
    if concurrency is not None and max_parallel is not None:
        raise ConfigurationError("give either max_parallel= or concurrency=, not both")
    base = concurrency or ConcurrencyPolicy()
    return ConcurrencyPolicy(
        base.max_parallel if max_parallel is None else max_parallel,
        base.limits,
        base.priority,
        base.max_parallel_per_bucket if per_bucket is None else per_bucket,
    )


def _executor(executor: str | Executor, clock: Clock) -> Executor:
    if not isinstance(executor, str):
        return executor
    if executor not in _EXECUTORS:
        raise ConfigurationError(f"executor must be one of {', '.join(_EXECUTORS)} or an object, got {executor!r}")
    return _EXECUTORS[executor](clock.monotonic)


def _store(store: TaskStore | None) -> TaskStore:
    if store is None:
        return MemoryTaskStore()
    if not callable(getattr(store, "commit", None)):
        raise ConfigurationError(f"store must be a task store, got {store!r}")
    return store


def _seconds(name: str, value: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ConfigurationError(f"{name} must be a number of seconds, 0 or more, got {value!r}")
    return float(value)


def _describe(ready: ReadyQueue, task_id: str) -> list[str]:
    found = []
    for key in ready.waits_for(task_id):
        used, size = ready.usage(key)
        kind, name = key  # type: ignore[misc]  # the keys of limit_keys
        found.append(f"{kind} {name} ({used}/{size})")
    return found
