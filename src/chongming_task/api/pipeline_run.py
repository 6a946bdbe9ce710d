"""What ``Pipeline.submit`` returns: the live view of one run, and its verbs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from chongming_task.api.declared import Node
from chongming_task.api.handle import TaskHandle
from chongming_task.api.pipeline_checks import unknown_node
from chongming_task.api.run_showing import RunShowing
from chongming_task.api.run_summary import RunSummary, summary_of
from chongming_task.api.seconds import patience_of, seconds_of, within
from chongming_task.api.verbs import asked, grace_of
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import TaskStatus, Verb
from chongming_task.core.triggers import Asked
from chongming_task.errors import ConfigurationError, ControllerClosed, TaskError
from chongming_task.runtime.context import running_task_id
from chongming_task.runtime.hosting import Notice
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.live_run import LiveRun
from chongming_task.runtime.waiters import Waiter

if TYPE_CHECKING:
    import pandas as pd

    from chongming_task.api.aio import AsyncRun
    from chongming_task.api.controller import Controller
    from chongming_task.runtime.pipelines import Pipelines

__all__ = ["PipelineRun", "RunSummary"]

S = TaskStatus
_PATIENCE_WITH_THE_BROKEN = 10.0  # seconds


class PipelineRun(RunShowing):
    """One run of a pipeline, as it is now. Its status follows from its nodes; nothing is cached.

    Every node is a task of its own, see :meth:`handle`; the verbs here are those on all of them at once.

    Example:
        >>> from chongming_task import Controller, Pipeline
        >>> pipeline = Pipeline("sums")
        >>> _ = pipeline.add(sum, [1, 2], name="total")
        >>> with Controller() as controller:
        ...     run = pipeline.submit(controller)
        ...     _ = run.wait(timeout=10)
        ...     print(run.status, run.result("total"))
        succeeded 3
    """

    def __init__(self, controller: Controller, run: LiveRun) -> None:
        self._controller = controller
        self._run = run

    @property
    def id(self) -> str:
        """The run's id: the ``pipeline_run_id`` of its records."""
        return self._run.run_id

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self._run.name

    @property
    def status(self) -> PipelineRunStatus:
        """Where it is."""
        return self._run.status

    def done(self) -> bool:
        """Whether every node has ended."""
        return self._run.status.is_terminal

    # nodes

    @property
    def nodes(self) -> list[str]:
        """The names of its nodes, in the order they were declared."""
        return list(self._run.numbers)

    def handle(self, node: Node | str) -> TaskHandle[Any]:
        """The live handle of a node; of one task of a map as ``run.handle("load[3]")``.

        Args:
            node: The node or its name.

        Raises:
            ConfigurationError: When there is no such node.
        """
        return TaskHandle(self._controller, self._find(self._name_of(node)))

    def __getitem__(self, node: Node | str) -> TaskHandle[Any]:
        """See :meth:`handle`."""
        return self.handle(node)

    def tasks(self, node: Node | str) -> list[TaskHandle[Any]]:
        """The handles of the tasks of a map, in the order of its items; empty until its items are known.

        Args:
            node: The node or its name.

        Raises:
            ConfigurationError: When there is no such node, or it is no map.
        """
        number = self._run.numbers.get(self._name_of(node))
        if number is None:
            raise unknown_node(self.name, node, self._run.numbers)
        if not self._run.is_map(number):
            raise ConfigurationError(f"{node!r} is no map; its one task is run[{self._name_of(node)!r}]")
        return [TaskHandle(self._controller, live) for live in tuple(self._run.tasks_of(number))]

    def _find(self, name: str) -> LiveTask:
        number = self._run.numbers.get(name)
        if number is not None:
            return self._run.nodes[number]
        found = self._run.task_called(name)
        if found is None:
            raise unknown_node(self.name, name, self._run.numbers)
        return found

    def _name_of(self, node: Node | str) -> str:
        name = node.name if isinstance(node, Node) else node
        if not isinstance(name, str):
            raise unknown_node(self.name, name, self._run.numbers)
        return name

    def result(self, node: Node | str, timeout: float | None = None) -> Any:
        """The value of a node, as :meth:`TaskHandle.result`; of a map, the list of its tasks' values.

        Args:
            node: The node or its name.
            timeout: Seconds to wait for its end.
        """
        value = self.handle(node).result(timeout)
        number = self._run.numbers.get(self._name_of(node))
        if number is None or not self._run.is_map(number):
            return value
        return [each.result(0) if each.status is S.SUCCEEDED else None for each in self.tasks(node)]

    def statuses(self) -> dict[str, TaskStatus]:
        """How each node stands, by name."""
        return {name: self._run.nodes[number].snapshot.status for name, number in self._run.numbers.items()}

    def snapshots(self) -> list[TaskSnapshot]:
        """The records of all nodes, and of the tasks of maps."""
        return [live.snapshot for live in self._run.members()]

    def summary(self) -> RunSummary:
        """Its status, how many records are in each status, and the first failure with what it has blocked."""
        return summary_of(self._run)

    def frame(self) -> pd.DataFrame:
        """Its records as a pandas DataFrame, a row for each node and each task of a map.

        Raises:
            ConfigurationError: When pandas is not installed.
        """
        from chongming_task.history import snapshots_to_frame

        return snapshots_to_frame(self.snapshots())

    # waiting

    def wait(self, timeout: float | None = None) -> PipelineRunStatus:
        """Wait until every node has ended. Waiting changes nothing, and neither does giving up.

        Args:
            timeout: Seconds; None waits without end. A paused run is waited for.

        Raises:
            TimeoutError: When it has not ended by then; it goes on.
            TaskError: When it cannot go on, for a fault in this library; its nodes stay as they are.
        """
        if not self._wait_until(lambda status: status.is_terminal, patience_of(timeout)):
            raise self._late(timeout)
        return self._ended()

    def _ended(self) -> PipelineRunStatus:
        """Its status after a wait.

        Raises:
            TaskError: It was no end that ended the wait.
        """
        fault = self._run.fault
        if fault is not None:
            raise TaskError(
                f"{self!r} cannot go on: a fault in chongming-task ({type(fault).__name__}: {fault}), see the log. "
                "Its nodes stay as they are: retry_failed() decides anew what follows, cancel() ends it"
            ) from fault
        return self.status

    def _late(self, timeout: float | None) -> TimeoutError:
        return TimeoutError(f"{self!r} has not ended {within(timeout)}; it goes on")

    def _wait_until(self, satisfied: Callable[[PipelineRunStatus], bool], timeout: float | None) -> bool:
        notice = Notice()
        waiter = Waiter(satisfied, notice.set)
        if not self._run.subscribe(waiter):
            return True
        try:
            return self._controller._link.driver.wait(notice, timeout)
        finally:
            self._run.unsubscribe(waiter)

    def __await__(self) -> Generator[Any, None, PipelineRunStatus]:
        """Wait in a coroutine; cancelling that leaves the run alone."""
        from chongming_task.api.aio import run_ended  # 50 ms for asyncio, that only coroutines pay for

        return run_ended(self).__await__()

    @property
    def aio(self) -> AsyncRun:
        """Its waits and verbs, awaitable: ``await run.aio.stop()``."""
        from chongming_task.api.aio import AsyncRun  # as above

        return AsyncRun(self)

    # verbs

    def pause(
        self, *, wait: bool = True, timeout: float = 30.0, reason: str | None = None, actor: str = "user"
    ) -> bool:
        """Start nothing more, and hold what runs at its next checkpoint.

        A task that reaches no checkpoint in time goes on, and the run is paused when that has ended. What was retried
        or resumed by itself runs all the same.

        Args:
            wait: False returns once it is asked.
            timeout: Seconds that running tasks have to reach a checkpoint.
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Returns:
            True when nothing runs any more; False when that is not confirmed, or the run has ended.
        """
        window = seconds_of("timeout", timeout)
        return self._hold(asked(Verb.PAUSE, actor, reason, window=window), wait)

    def _hold(self, verb: Asked, wait: bool) -> bool:
        self._ask(verb)
        if wait and not self._asks_itself():
            self._wait_until(self._is_decided, grace_of(verb))
        return self._is_held()

    @staticmethod
    def _is_decided(status: PipelineRunStatus) -> bool:
        return status is PipelineRunStatus.PAUSED or status.is_terminal

    def _is_held(self) -> bool:
        return self.status is PipelineRunStatus.PAUSED

    def resume(self, *, reason: str | None = None, actor: str = "user") -> bool:
        """Go on after a pause.

        Args:
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.
        """
        self._ask(asked(Verb.RESUME, actor, reason))
        return True

    def stop(
        self,
        *,
        graceful: bool = True,
        timeout: float = 10.0,
        wait: bool = True,
        reason: str | None = None,
        actor: str = "user",
    ) -> bool:
        """Stop every node that has not ended; see :meth:`Controller.stop`.

        Returns:
            True when all have ended, and none is lost; False when that is not confirmed.
        """
        window = seconds_of("timeout", timeout)
        return self._end(asked(Verb.STOP, actor, reason, graceful=graceful, window=window), wait)

    def cancel(
        self, reason: str | None = None, *, timeout: float = 10.0, wait: bool = True, actor: str = "user"
    ) -> bool:
        """Cancel every node that has not ended: like :meth:`stop`.

        Args:
            reason: Why, for the audit trail.
            timeout: Seconds of grace.
            wait: False returns once it is asked.
            actor: Who asks, for the audit trail.

        Returns:
            As :meth:`stop`.
        """
        return self._end(asked(Verb.CANCEL, actor, reason, window=seconds_of("timeout", timeout)), wait)

    def _end(self, verb: Asked, wait: bool) -> bool:
        self._ask(verb)
        if wait and not self._asks_itself():
            self._wait_until(lambda status: status.is_terminal, grace_of(verb))
        return self._has_ended_well()

    def _has_ended_well(self) -> bool:
        return self.done() and not self._run.counts().get(S.LOST)

    def _asks_itself(self) -> bool:
        """Whether one of its own tasks is asking, which must not wait for itself."""
        mine = running_task_id()
        return mine is not None and any(live.snapshot.task_id == mine for live in self._run.members())

    def skip(self, node: Node | str, reason: str | None = None, *, actor: str = "user") -> bool:
        """Pass over a node that has not begun, or has failed; see :meth:`Controller.skip`.

        What a failed one had blocked is looked at again with :meth:`retry_failed`.
        """
        return self._controller.skip(self.handle(node), reason, actor=actor)

    def retry_failed(self, *, reason: str | None = None, actor: str = "user") -> list[str]:
        """Run again what failed or was lost, and what that has blocked; what has succeeded stays.

        One whose lost worker still runs is left alone: two copies would run. In a run that is paused they wait for the
        end of the pause. For one node and what it has blocked: ``run["load"].retry(force=True)``.

        Args:
            reason: Why, for the audit trail.
            actor: Who asks, for the audit trail.

        Returns:
            The names of the nodes that run again, or wait to.

        Example:
            >>> from chongming_task import Controller, Pipeline
            >>> pipeline = Pipeline("quick")
            >>> _ = pipeline.add(len, "abc")
            >>> with Controller() as controller:
            ...     run = pipeline.submit(controller)
            ...     run.wait(timeout=10)
            ...     run.retry_failed()
            <PipelineRunStatus.SUCCEEDED: 'succeeded'>
            []
        """
        again = asked(Verb.RETRY, actor, reason, force=True)
        names: list[str] = []
        run = self._run
        self._post(lambda told: self._lead(lambda lead: lead.verbs.retry_failed(run, again, told)), names.extend)
        return names

    def _ask(self, verb: Asked) -> None:
        run = self._run
        self._post(lambda told: self._lead(lambda lead: lead.verbs.ask(run, verb, told)), lambda count: None)

    def _lead(self, call: Callable[[Pipelines], None]) -> None:
        self._controller._link.engine.run(call)

    def _post(self, post: Callable[[Callable[[Any], None]], None], take: Callable[[Any], None]) -> None:
        """Have the engine do something to the run, and wait until it is stored."""
        link = self._controller._link
        link.check_open()
        event = threading.Event()

        def told(found: Any) -> None:
            take(found)
            event.set()

        post(told)
        waiter = Waiter(_never, event.set)  # woken when the run breaks down, and the answer will not come
        sound = self._run.subscribe(waiter)
        try:
            came = link.driver.wait(event, None if sound else _PATIENCE_WITH_THE_BROKEN)
        finally:
            self._run.unsubscribe(waiter)
        if sound or not came:
            self._ended()
        if not came:
            raise ControllerClosed("this controller was closed before it could do that")

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self._run.counts().items())
        return f"<PipelineRun {self.name!r} {self.status}: {counts or 'no nodes'}>"


def _never(status: PipelineRunStatus) -> bool:
    return False
