"""``controller.aio`` and ``await handle``: the verbs and waits for coroutines. Loaded with the first of them.

There is one implementation of every verb, in ``api.verbs``; here only what it stands on awaits instead of blocking.
A wait takes no thread: the engine wakes the event loop. What has to ask the store runs in the loop's thread pool.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast

from chongming_task.api.closing import CloseReport
from chongming_task.api.handle import TaskHandle
from chongming_task.api.naming import id_of
from chongming_task.api.pipeline_run import PipelineRun
from chongming_task.api.queries import Queries
from chongming_task.api.recovery import Recovery
from chongming_task.api.run_starting import RunStarting
from chongming_task.api.seconds import patience_of
from chongming_task.api.steering import Steering
from chongming_task.api.verbs import grace_of, has_ended, is_decided
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import TaskStatus
from chongming_task.core.triggers import Asked, Forced
from chongming_task.errors import ConcurrencyConflict, NotRestartable, UnknownTask
from chongming_task.runtime.context import running_task_id
from chongming_task.runtime.engine import Answer
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.hosting import awaiting
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.live_run import LiveRun
from chongming_task.runtime.results import is_plain
from chongming_task.runtime.waiters import Waiter

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller

__all__ = ["AsyncController", "AsyncRun", "ended", "result_of", "run_ended"]

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
W_contra = TypeVar("W_contra", contravariant=True)
_ELSEWHERE = (UnknownTask, ConcurrencyConflict, NotRestartable)  # the store must be asked before that is the answer


# waiting


class _Awaited(Protocol[W_contra]):
    """A record or a run."""

    def subscribe(self, waiter: W_contra, /) -> bool:
        """Have it woken; False when it is satisfied already."""
        ...

    def unsubscribe(self, waiter: W_contra, /) -> None:
        """Forget it."""
        ...


def _waker(came: asyncio.Future[None]) -> Callable[[], None]:
    """What the engine calls, from its thread."""
    loop = came.get_loop()

    def settle() -> None:
        if not came.done():
            came.set_result(None)

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop was closed, and nobody waits in it
            pass

    return wake


async def _until(
    awaited: _Awaited[W_contra], make: Callable[[Callable[[], None]], W_contra], timeout: float | None
) -> bool:
    """Wait until the engine wakes us; False when the time is up first."""
    came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiter = make(_waker(came))
    if not awaited.subscribe(waiter):
        return True
    try:
        with awaiting():
            async with asyncio.timeout(timeout):
                await came
    except TimeoutError:
        return False
    finally:
        awaited.unsubscribe(waiter)
    return True


async def _until_task(live: LiveTask, satisfied: Callable[[TaskSnapshot], bool], timeout: float | None) -> bool:
    return await _until(live, functools.partial(Waiter, satisfied), timeout)


async def _until_run(run: LiveRun, satisfied: Callable[[PipelineRunStatus], bool], timeout: float | None) -> bool:
    return await _until(run, functools.partial(Waiter, satisfied), timeout)


async def ended(handle: TaskHandle[Any], timeout: float | None = None) -> TaskStatus:
    """Like ``handle.wait``."""
    if not await _until_task(handle._live, has_ended, patience_of(timeout)):
        raise handle._late(timeout)
    return handle.status


async def result_of(handle: TaskHandle[R], timeout: float | None = None) -> R:
    """Like ``handle.result``."""
    await ended(handle, timeout)
    if is_plain(handle.snapshot.outcome):
        return handle._value()
    return await asyncio.to_thread(handle._value)  # it is read from files


async def run_ended(run: PipelineRun, timeout: float | None = None) -> PipelineRunStatus:
    """Like ``run.wait``."""
    if not await _until_run(run._run, lambda status: status.is_terminal, patience_of(timeout)):
        raise run._late(timeout)
    return run._ended()


# the controller


def _verb(method: Callable[Concatenate[Any, P], bool]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, bool]]:
    """A verb of ``Steering`` as it is: it returns what ``_do``, ``_end`` or ``_hold`` returns, here an awaitable."""
    return cast("Callable[Concatenate[Any, P], Coroutine[Any, Any, bool]]", method)


def _in_thread(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """A question to the store, in the loop's thread pool."""

    @functools.wraps(method)
    async def call(self: AsyncController, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self._controller, *args, **kwargs)

    return call


class AsyncController:
    """What ``controller.aio`` is: every verb, wait and question of the controller, awaitable, with the same arguments.

    Cancelling who awaits a wait leaves the task alone; cancelling who awaits a verb does not take the verb back. What
    does not wait, such as ``submit`` and ``stream``, is the controller's. With ``async with controller.aio`` it waits
    for its tasks at the end of the block, and closes.

    Example:
        >>> import asyncio
        >>> from chongming_task import Controller
        >>> async def main() -> int:
        ...     async with Controller() as controller:
        ...         one, other = controller.map(abs, [-1, -2])
        ...         return await one + await other
        >>> asyncio.run(main())
        3
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    # verbs

    start = _verb(Steering.start)
    stop = _verb(Steering.stop)
    cancel = _verb(Steering.cancel)
    pause = _verb(Steering.pause)
    resume = _verb(Steering.resume)
    retry = _verb(Steering.retry)
    skip = _verb(Steering.skip)
    reset = _verb(Steering.reset)
    force_transition = _verb(Steering.force_transition)

    async def _do(self, task_id: str, trigger: Asked | Forced) -> bool:
        link = self._controller._link
        if task_id in link.engine.tasks and not isinstance(link.engine.supervisor.executor, InlineExecutor):
            link.check_open()
            answer = await self._ask(task_id, trigger)
            if answer is not None and answer.error is None:
                return True
            if answer is not None and not isinstance(answer.error, _ELSEWHERE):
                assert answer.error is not None
                raise answer.error
        return await asyncio.to_thread(self._controller._do, task_id, trigger)

    async def _ask(self, task_id: str, trigger: Asked | Forced) -> Answer | None:
        """The engine's answer; None when it may be gone before it gives any."""
        came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answers: list[Answer] = []
        wake = _waker(came)

        def done(found: Sequence[Answer]) -> None:
            answers.extend(found)
            wake()

        self._controller._link.engine.ask([task_id], trigger, done)
        if self._controller._link.closed:  # by somebody else, just now
            return None
        await came
        return answers[0]

    async def _end(self, task_id: str, verb: Asked, wait: bool) -> bool:
        if not await self._do(task_id, verb):
            return False
        if wait:
            await self._wait_for(task_id, has_ended, grace_of(verb))
        return await asyncio.to_thread(self._controller._has_ended_well, task_id)

    async def _hold(self, task_id: str, verb: Asked, wait: bool) -> bool:
        if not await self._do(task_id, verb):
            return False
        if wait:
            await self._wait_for(task_id, is_decided, grace_of(verb))
        return await asyncio.to_thread(self._controller._is_held, task_id)

    async def _wait_for(self, task_id: str, satisfied: Callable[[TaskSnapshot], bool], timeout: float) -> None:
        live = self._controller._link.engine.tasks.get(task_id)
        if live is not None and task_id != running_task_id():
            await _until_task(live, satisfied, timeout)

    # waits

    async def wait(self, task_id: str | TaskHandle[Any], timeout: float | None = None) -> TaskStatus:
        """Wait until a record has ended: see :meth:`TaskHandle.wait`."""
        return await ended(await self._handle(task_id), timeout)

    async def wait_for(
        self, task_id: str | TaskHandle[Any], *statuses: TaskStatus | str, timeout: float | None = None
    ) -> TaskStatus:
        """Wait until a record is in one of these states, or has ended: see :meth:`TaskHandle.wait_for`."""
        handle = await self._handle(task_id)
        if not await _until_task(handle._live, handle._is_in(statuses), patience_of(timeout)):
            raise handle._late(timeout, statuses)
        return handle.status

    async def result(self, task_id: str | TaskHandle[Any], timeout: float | None = None) -> Any:
        """The value of a record: see :meth:`Controller.result`."""
        if isinstance(task_id, TaskHandle):
            return await result_of(task_id, timeout)
        live = await asyncio.to_thread(self._controller._link.find, id_of(task_id))
        if live is not None:
            return await result_of(TaskHandle[Any](self._controller, live), timeout)
        return await asyncio.to_thread(self._controller.result, task_id, timeout)

    async def wait_all(self, timeout: float | None = None) -> None:
        """Wait until every record that was started has ended: see :meth:`Controller.wait_all`."""
        try:
            async with asyncio.timeout(patience_of(timeout)):
                await asyncio.to_thread(self._controller._link.sync)
                while open_ones := self._controller._open_ones():
                    for live in open_ones:
                        await _until_task(live, has_ended, None)
        except TimeoutError:
            open_ones = self._controller._open_ones()
            if open_ones:
                raise TaskHandle[Any](self._controller, open_ones[0])._late(timeout) from None

    async def close(self, timeout: float = 10.0, *, close_store: bool = True) -> CloseReport:
        """Take no more work, stop everything, and let go of threads and store: see :meth:`Controller.close`."""
        return await asyncio.to_thread(self._controller.close, timeout, close_store=close_store)

    async def _handle(self, task_id: str | TaskHandle[Any]) -> TaskHandle[Any]:
        return task_id if isinstance(task_id, TaskHandle) else await asyncio.to_thread(self._controller.handle, task_id)

    # questions

    get = _in_thread(Queries.get)
    list_tasks = _in_thread(Queries.list_tasks)
    counts = _in_thread(Queries.counts)
    bucket_counts = _in_thread(Queries.bucket_counts)
    attempts = _in_thread(Queries.attempts)
    transitions = _in_thread(Queries.transitions)
    output = _in_thread(Queries.output)
    events = _in_thread(Queries.events)
    waiting_for = _in_thread(Queries.waiting_for)
    prune = _in_thread(Queries.prune)
    can = _in_thread(Steering.can)
    commands = _in_thread(Queries.commands)
    reconcile = _in_thread(Recovery.reconcile)
    audit_buckets = _in_thread(Recovery.audit_buckets)
    start_run = _in_thread(RunStarting.start_run)
    continue_run = _in_thread(RunStarting.continue_run)

    async def __aenter__(self) -> Self:
        self._controller.__enter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                await self.wait_all()
        finally:
            await self.close()


class AsyncRun:
    """What ``run.aio`` is: the waits and verbs of a pipeline run, awaitable, with the same arguments."""

    def __init__(self, run: PipelineRun) -> None:
        self._run = run

    stop = _verb(PipelineRun.stop)
    cancel = _verb(PipelineRun.cancel)
    pause = _verb(PipelineRun.pause)

    async def _end(self, verb: Asked, wait: bool) -> bool:
        run = self._run
        await asyncio.to_thread(run._ask, verb)
        if wait and not run._asks_itself():
            await _until_run(run._run, lambda status: status.is_terminal, grace_of(verb))
        return run._has_ended_well()

    async def _hold(self, verb: Asked, wait: bool) -> bool:
        run = self._run
        await asyncio.to_thread(run._ask, verb)
        if wait and not run._asks_itself():
            await _until_run(run._run, run._is_decided, grace_of(verb))
        return run._is_held()

    async def resume(self, *, reason: str | None = None, actor: str = "user") -> bool:
        """Go on after a pause."""
        return await asyncio.to_thread(functools.partial(self._run.resume, reason=reason, actor=actor))

    async def retry_failed(self, *, reason: str | None = None, actor: str = "user") -> list[str]:
        """Run again what failed: see :meth:`PipelineRun.retry_failed`."""
        return await asyncio.to_thread(functools.partial(self._run.retry_failed, reason=reason, actor=actor))

    async def wait(self, timeout: float | None = None) -> PipelineRunStatus:
        """Wait until every node has ended: see :meth:`PipelineRun.wait`."""
        return await run_ended(self._run, timeout)
