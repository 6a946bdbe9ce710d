"""The facade: submit, steer and look at tasks. Every method may be called from any thread."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from chongming_task.api.assembly import executor_of, kept_of, limits_of, opened, output_mode_of, ready_queue_of
from chongming_task.api.buckets import Buckets
from chongming_task.api.closing import CloseReport, close_all
from chongming_task.api.elsewhere import Elsewhere
from chongming_task.api.handle import TaskHandle
from chongming_task.api.link import EngineLink
from chongming_task.api.listening import HookDesk, Listening
from chongming_task.api.observing import Observers
from chongming_task.api.queries import Queries
from chongming_task.api.recovery import Recovery
from chongming_task.api.registry import TaskRegistry
from chongming_task.api.run_starting import RunStarting
from chongming_task.api.seconds import patience_of, seconds_of
from chongming_task.api.showing import Showing
from chongming_task.api.steering import Steering
from chongming_task.api.submission import Submissions
from chongming_task.api.submitting import Submitting
from chongming_task.api.task import checked_name
from chongming_task.api.values import ResultValues
from chongming_task.core.policies import BucketPolicy, ConcurrencyPolicy
from chongming_task.core.ports import Clock, Executor, TaskStore
from chongming_task.core.states import TaskStatus
from chongming_task.errors import ConfigurationError, ControllerClosed, StoreError
from chongming_task.runtime.capture import start as start_capture
from chongming_task.runtime.capture import stop as stop_capture
from chongming_task.runtime.clock import SystemClock
from chongming_task.runtime.driver import Driver, ThreadDriver
from chongming_task.runtime.engine import Engine
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.ownership import LEASE_SECONDS, new_owner
from chongming_task.runtime.results import ResultCodec

if TYPE_CHECKING:
    from chongming_task.api.attach import Attached
    from chongming_task.core.hooks import Hooks
    from chongming_task.core.records import TaskSnapshot
    from chongming_task.core.telemetry import MetricsSink, Tracer
    from chongming_task.history import History

__all__ = ["Controller"]


class Controller(Submitting, Steering, Queries, Listening, Recovery, RunStarting, Showing):
    """Launches, watches and steers tasks, from inside this process.

    As a context manager it waits for its tasks at the end of the block, or stops them when the block raises, and
    closes.

    A record that ends failed or lost is told in one WARNING of the logger ``chongming_task.task``, whether or not
    anybody asks for its result; attempts that are retried are not. Without any logging set up it goes to stderr. In a
    Jupyter kernel, where it would land in whichever cell is newest, it is told only to a handler that was added to this
    logger or to ``chongming_task``: there the panel shows it.

    Args:
        store: Where records are kept: a path, such as ``"runs.db"``, for SQLite; ``"postgresql://..."``; a store
            object; default: this process's memory.
        executor: Who runs attempts: ``"thread"`` (default), ``"process"``, ``"inline"``, or an executor object.
        max_parallel: How many tasks hold a worker at once; short for a ``ConcurrencyPolicy`` of that size.
        concurrency: All limits; not together with ``max_parallel``.
        max_parallel_per_bucket: How many tasks of one bucket hold a worker at once; instead of what ``concurrency``
            says of it.
        bucket_policy: Where bucket keys fall; the same for all controllers on a store. Default: as the store has it.
        owned_buckets: The buckets this controller takes; default: all. On a store that others share each of them is
            its alone, under a lease.
        owner: What it calls itself in records, unlike any other living controller on the store; default:
            ``host:pid:start:serial``.
        name: What panels call it.
        keep_terminal: How many ended records stay in memory; the store keeps them all.
        lease_ttl: Seconds after which controllers on other machines take this one for dead when it says nothing; on
            its own machine they see its process.
        artifacts: The folder for the files of attempts and of results that are no JSON; default:
            ``.chongming/artifacts`` in the current directory. Made when first needed, and never emptied.
        result_codecs: Who keeps results that are no JSON as files, asked before the built-in ones for DataFrames and
            arrays.
        capture: Whether what tasks print and log goes to their own output, see ``handle.output()``. False leaves it
            alone.
        echo: Whether it also goes to where it would have gone, such as the terminal; default: yes, but not in a Jupyter
            kernel, where it would land in whichever cell is newest (with the inline executor it does there, too: the
            task runs in that cell). A task can say for itself: ``@task(echo=False)``.
        hooks: Functions to call when any of its tasks starts, succeeds, fails, is retried or cancelled; see
            :class:`Hooks`. A task's and a pipeline's own are called before.
        metrics: Takes numbers, such as a ``PrometheusSink``; see ``docs/observability.md``.
        tracer: Makes a span for every attempt, such as an ``OpenTelemetryTracer``.
        clock: Time; a fake one in tests.
        driver: Who makes the engine tick; by hand in tests.
        dice: Random numbers in [0, 1), for jitter; loaded ones in tests.

    Raises:
        ConfigurationError: For values that cannot work.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller(max_parallel=4) as controller:
        ...     handles = [controller.submit(pow, 2, n) for n in range(4)]
        ...     [handle.result(timeout=10) for handle in handles]
        [1, 2, 4, 8]
    """

    _link: EngineLink

    def __init__(
        self,
        store: str | os.PathLike[str] | TaskStore | None = None,
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
        lease_ttl: float = LEASE_SECONDS,
        artifacts: str | os.PathLike[str] | None = None,
        result_codecs: Iterable[ResultCodec] = (),
        capture: bool = True,
        echo: bool | None = None,
        hooks: Hooks[TaskSnapshot] | None = None,
        metrics: MetricsSink | None = None,
        tracer: Tracer | None = None,
        clock: Clock | None = None,
        driver: Driver | None = None,
        dice: Callable[[], float] = random.random,
    ) -> None:
        limits = limits_of(concurrency, max_parallel, max_parallel_per_bucket)
        lease_seconds = seconds_of("lease_ttl", lease_ttl)
        if lease_seconds == 0:
            raise ConfigurationError("lease_ttl must be more than 0 seconds: this controller would be taken for dead")
        self.name = name
        self.owner = checked_name(new_owner() if owner is None else owner)
        self.registry = TaskRegistry()
        self._clock: Clock = SystemClock() if clock is None else clock
        self._executor = executor_of(executor, self._clock)
        self._values = ResultValues(artifacts, result_codecs)
        self._desk = HookDesk(hooks)
        self._observers = Observers(metrics, tracer)
        with opened(store) as made:
            held = self._observers.store(made)
            self._buckets = Buckets(bucket_policy, owned_buckets, held)
            self._submissions = Submissions(
                self.registry,
                self._clock,
                self._executor,
                owner=self.owner,
                concurrency=limits,
                buckets=self._buckets,
                results=self._values.policy,
                artifacts=self._values.artifacts,
                output=output_mode_of(capture, echo, self._executor),
                on_hooks=self._call_hooks,
                origin=self._observers.origin(self._executor),
            )
            driver = ThreadDriver() if driver is None else driver
            engine = Engine(
                held,
                self._executor,
                self._clock,
                ready_queue_of(limits, self._buckets.policy),
                owner=self.owner,
                keep_terminal=kept_of(keep_terminal),
                dice=dice,
                aside=driver.aside,
            )
            self._link = EngineLink(engine, driver)
            self._elsewhere = Elsewhere(self._link, self._submissions, self.owner, lease_seconds)
            if store is not None:  # others can meet it there
                self._link.steward = self._buckets.steward = self._elsewhere.steward(self._buckets.owned)
                if self._buckets.owned is not None:
                    self._link.announce()
        self._observers.begin(engine, name=name, owner=self.owner)
        if self._desk.everywhere is not None:
            self._call_hooks()
        self._link.driver.start(engine)
        self._captures = capture
        if capture:
            start_capture()

    @classmethod
    def attach(
        cls, where: str | os.PathLike[str] | TaskStore, *, name: str | None = None, read_only: bool = False
    ) -> Attached:
        """Show and steer the tasks of other processes, in the same panel; see ``docs/attach.md``.

        What comes back runs nothing and owns nothing: it follows the store, and sends verbs to the controllers there.

        Args:
            where: Where they keep their records: a path, ``"postgresql://..."``, or a store object.
            name: What its panel is headed with; default: the file's or the database's name.
            read_only: Only look: every verb is refused.

        Raises:
            ConfigurationError: For anything else.
            StoreError: When there is no store, it cannot be reached, or it is of another version; what to do is said.

        Example:
            >>> import tempfile
            >>> from chongming_task import Controller
            >>> with tempfile.TemporaryDirectory() as folder, Controller(f"{folder}/runs.db") as controller:
            ...     handle = controller.submit(pow, 2, 10)
            ...     _ = handle.wait(timeout=10)
            ...     with Controller.attach(f"{folder}/runs.db") as operator:
            ...         str(controller.get(handle).task_id == operator.get(handle).task_id)
            'True'
        """
        from chongming_task.api.attach import Attached  # only who attaches pays for it

        return Attached.to(where, name=name, read_only=read_only)

    # wait and end

    def wait_all(self, timeout: float | None = None) -> None:
        """Wait until every record of this controller that was started has ended; paused ones are waited for.

        Args:
            timeout: Seconds for all of them together; None waits without end.

        Raises:
            TimeoutError: When some have not ended by then; they go on.
        """
        patience = patience_of(timeout)
        ends = None if patience is None else self._clock.monotonic() + patience
        self._link.sync()
        while open_ones := self._open_ones():  # again: tasks may have submitted others meanwhile
            for live in open_ones:
                left = None if ends is None else max(ends - self._clock.monotonic(), 0.0)
                TaskHandle[Any](self, live).wait(left)

    def _open_ones(self) -> list[LiveTask]:
        lives = list(self._link.engine.tasks.values())
        return [
            live for live in lives if not live.snapshot.is_terminal and live.snapshot.status is not TaskStatus.PENDING
        ]

    def close(self, timeout: float = 10.0, *, close_store: bool = True) -> CloseReport:
        """Take no more work, stop everything, and let go of threads and store. Idempotent.

        Args:
            timeout: Seconds of grace for running tasks, and again for hooks that are due.
            close_store: False leaves the store open, for another controller.

        Returns:
            What became of the records that had not ended.
        """
        grace = seconds_of("timeout", timeout)
        if not self._link.begin_close():
            return CloseReport()
        if self._link.steward is not None:
            self._link.steward.stop()
        try:
            return close_all(self._link.engine, self._link.driver, grace)
        finally:  # also when Ctrl-C ends the wait: a second close does nothing, so nobody else would let go
            self._let_go(close_store, grace)

    def _let_go(self, close_store: bool, grace: float) -> None:
        with ExitStack() as ends:  # whatever one of them raises, or Ctrl-C; the last one here comes first
            if close_store:
                ends.callback(self._link.store.close)
            if self._captures:
                ends.callback(stop_capture)
            ends.callback(self._link.depart)
            ends.callback(self._link.engine.bus.close)
            ends.callback(self._observers.finish)
            ends.callback(self._executor.close)
            ends.callback(self._desk.finish, grace)
            ends.callback(self._link.driver.stop)

    def __enter__(self) -> Controller:
        """Enter the block.

        Raises:
            ControllerClosed: After :meth:`close`, also by an earlier block.
        """
        self._link.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self.wait_all()
        finally:
            self.close()

    # notebook

    @property
    def history(self) -> History:
        """Everything the store remembers as pandas DataFrames, also of other controllers; see ``docs/history.md``.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed.
        """
        from chongming_task.history import History

        return History(self._link.store, refresh=self._look_at_everything)

    def _look_at_everything(self) -> None:
        """Let the store hold what is known so far, before somebody reads from it."""
        if not self._link.closed:
            for live in list(self._link.engine.tasks.values()):
                if live.writers:
                    self._link.engine.look_at_output(live.snapshot.task_id)
            self._link.sync()

    def __repr__(self) -> str:
        closed = ", closed" if self._link.closed else ""
        return f"<Controller {self.name or self.owner}: {self._states()}{closed}>"

    def _states(self) -> str:
        try:
            counts = self._link.store.counts()
        except (StoreError, ControllerClosed):  # closed, out of reach, or a parent's: a repr never raises
            return "its store cannot be read"
        return ", ".join(f"{count} {status}" for status, count in counts.items()) or "no tasks"
