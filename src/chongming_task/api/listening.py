"""The ways to hear of tasks, and to await them. Part of :class:`~chongming_task.Controller`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from chongming_task.api.link import EngineLink
from chongming_task.api.task import checked_hooks
from chongming_task.core.records import TaskSnapshot
from chongming_task.runtime.bus import Subscription

if TYPE_CHECKING:
    from chongming_task.api.aio import AsyncController
    from chongming_task.api.controller import Controller
    from chongming_task.api.handle import TaskHandle
    from chongming_task.api.hooks import HookCaller
    from chongming_task.api.pipeline_run import PipelineRun
    from chongming_task.api.streaming import EventStream
    from chongming_task.core.events import Event
    from chongming_task.core.hooks import Hooks

__all__ = ["HookDesk", "Listening"]


class HookDesk:
    """Gets somebody who calls hooks, once there are any.

    Args:
        everywhere: The controller's hooks.

    Raises:
        ConfigurationError: For something else.
    """

    def __init__(self, everywhere: Hooks[TaskSnapshot] | None) -> None:
        self.everywhere = checked_hooks(everywhere)
        self._caller: HookCaller | None = None
        self._lock = threading.Lock()

    def caller(self, controller: Controller) -> HookCaller:
        """Who calls them."""
        with self._lock:
            if self._caller is None:
                from chongming_task.api.hooks import HookCaller  # with the classes of events, which only they need

                self._caller = HookCaller(controller, self.everywhere)
            return self._caller

    def finish(self, timeout: float) -> None:
        """Wait for the hooks that are due."""
        if self._caller is not None:
            self._caller.finish(timeout)


class Listening:
    """Subscriptions, streams, hooks, and everything for coroutines. See ``docs/events.md``."""

    _link: EngineLink
    _desk: HookDesk

    def watch(
        self,
        callback: Callable[[Event], None],
        *,
        task_id: str | TaskHandle[Any] | None = None,
        pipeline_run_id: str | PipelineRun | None = None,
        tag: str | None = None,
        types: Iterable[type[Event]] | type[Event] = (),
    ) -> Subscription:
        """Have events told to ``callback``, on a thread of its own.

        Args:
            callback: Takes one event. It may be slow or raise: no task notices, and progress it cannot keep up with is
                dropped and counted.
            task_id: Only of that record.
            pipeline_run_id: Only of that run: of its nodes, and its own changes of status.
            tag: Only of records with that tag.
            types: Only of these classes, or of this one; default: all.

        Returns:
            The subscription; ``close()`` ends it.

        Raises:
            ConfigurationError: When ``callback`` cannot be called or is ``async def``, or ``types`` are no classes of
                events.
        """
        from chongming_task.api.event_filter import checked_callback, filter_of  # classes that only listeners pay for

        self._link.check_open()
        wanted = filter_of(task_id, pipeline_run_id, tag, types)
        return self._link.engine.bus.subscribe(checked_callback(callback), wanted)

    def stream(
        self,
        *,
        task_id: str | TaskHandle[Any] | None = None,
        pipeline_run_id: str | PipelineRun | None = None,
        tag: str | None = None,
        types: Iterable[type[Event]] | type[Event] = (),
    ) -> EventStream:
        """The events from now on, for ``async for``; it ends when the controller is closed.

        It can be opened before there is a loop. The arguments are those of :meth:`watch`.

        Args:
            task_id: Only of this record.
            pipeline_run_id: Only of this run: its records, and the run itself.
            tag: Only of records with this tag.
            types: Only of these classes.

        Returns:
            The stream; ``close()`` ends it.

        Raises:
            ConfigurationError: As :meth:`watch`.

        Example:
            >>> import asyncio
            >>> from chongming_task import Controller, TaskStatusChanged
            >>> async def follow(controller: Controller) -> list[str]:
            ...     with controller.stream(types=[TaskStatusChanged]) as stream:
            ...         handle = controller.submit(pow, 2, 3)
            ...         return [str((await anext(stream)).to_status) for _ in range(4)]
            >>> with Controller() as controller:
            ...     asyncio.run(follow(controller))
            ['queued', 'starting', 'running', 'succeeded']
        """
        from chongming_task.api.event_filter import filter_of  # as above
        from chongming_task.api.streaming import EventStream  # 50 ms for asyncio, that only coroutines pay for

        self._link.check_open()
        return EventStream(self._link.engine.bus, filter_of(task_id, pipeline_run_id, tag, types))

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None]) -> Callable[[], None]:
        """For views: called on the engine thread with every batch of changed records; must be quick and not raise.

        Args:
            callback: Takes the records as they stand now.

        Returns:
            The function that ends it.
        """
        return self._link.engine.bus.tap(callback)

    def _call_hooks(self) -> HookCaller:
        return self._desk.caller(cast("Controller", self))

    @property
    def aio(self) -> AsyncController:
        """Every verb, wait and question, awaitable: ``await controller.aio.stop(handle)``."""
        from chongming_task.api.aio import AsyncController  # 50 ms for asyncio, that only coroutines pay for

        return AsyncController(cast("Controller", self))

    async def __aenter__(self) -> Controller:
        """Enter the block, in a coroutine."""
        await self.aio.__aenter__()
        return cast("Controller", self)

    async def __aexit__(self, *exc: Any) -> None:
        await self.aio.__aexit__(*exc)
