"""How tasks come to a controller, and their handles back. Part of :class:`~chongming_task.Controller`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from chongming_task.api.handle import TaskHandle
from chongming_task.api.link import EngineLink
from chongming_task.api.naming import id_of
from chongming_task.api.registry import TaskRegistry
from chongming_task.api.submission import Options, Submissions
from chongming_task.api.task import TaskFunction, TaskSpec
from chongming_task.api.values import ResultValues
from chongming_task.core.policies import RetryPolicy, Timeout
from chongming_task.core.states import Verb
from chongming_task.core.triggers import Asked
from chongming_task.errors import ConfigurationError, UnknownTask

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller

__all__ = ["Submitting"]

P = ParamSpec("P")
R = TypeVar("R")
_START = Asked(Verb.START)


class Submitting:
    """Registering, submitting, and what comes of it."""

    registry: TaskRegistry
    _link: EngineLink
    _submissions: Submissions
    _values: ResultValues

    # declare

    def register(self, target: Callable[..., Any], *, name: str | None = None) -> TaskSpec:
        """Accept a task by name. See :meth:`TaskRegistry.register`."""
        return self.registry.register(target, name=name)

    def register_all(self, *targets: Callable[..., Any]) -> None:
        """Accept several tasks, each under its own name.

        Args:
            targets: ``@task`` functions or callables.

        Raises:
            ConfigurationError: As :meth:`TaskRegistry.register`.
        """
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
    @overload
    def submit(
        self,
        target: TaskFunction[[], R] | Callable[[], R],
        /,
        *,
        name: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        start: bool = True,
    ) -> TaskHandle[R]: ...
    @overload
    def submit(  # type: ignore[overload-cannot-match]  # it can: the names of options are no parameters of the task
        self,
        target: Callable[..., R],
        /,
        *,
        args: Iterable[Any],
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
    def submit(  # type: ignore[overload-cannot-match]  # it can: the names of options are no parameters of the task
        self,
        target: Callable[..., R],
        /,
        *,
        kwargs: Mapping[str, Any],
        name: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        start: bool = True,
    ) -> TaskHandle[R]: ...
    def submit(  # type: ignore[misc]  # a task's own parameters may share an option's name, see the docstring
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
        self._link.check_open()
        options = Options(args, kwargs, name, retry, timeout, tags, priority, bucket_key)
        live = self._submissions.make(target, positional, keywords, options)
        self._link.run(live, lambda: self._link.submit(live, _START if start else None))
        return TaskHandle(cast("Controller", self), live)

    def map(
        self, target: TaskFunction[..., R] | Callable[..., R] | str, items: Iterable[Any], /, **options: Any
    ) -> list[TaskHandle[R]]:
        """Submit a task once for each item, with the item as its argument; does not wait.

        Args:
            target: As for :meth:`submit`.
            items: One argument each.
            **options: Options and further keyword arguments, the same for all, as for :meth:`submit`.

        Returns:
            Their handles, in the order of the items; :func:`as_completed` gives them in the order they end.

        Raises:
            UnknownTask: For a name that is not registered.
            ConfigurationError: For what cannot work; what was submitted before goes on.
            ControllerClosed: After :meth:`close`.

        Example:
            >>> from chongming_task import Controller
            >>> with Controller() as controller:
            ...     [handle.result() for handle in controller.map(abs, [-1, 2, -3])]
            [1, 2, 3]
        """
        if "args" in options:
            raise ConfigurationError("map gives each item as the task's argument; it takes no args=")
        submit: Callable[..., TaskHandle[R]] = self.submit
        return [submit(target, item, **options) for item in items]

    def handle(self, task_id: str) -> TaskHandle[Any]:
        """The live handle of a record of this controller.

        Args:
            task_id: The record's id.

        Raises:
            UnknownTask: When it is not in this controller's memory.
        """
        live = self._link.find(task_id)
        if live is None:
            self._link.snapshot(task_id)
            raise UnknownTask(
                f"task {task_id!r} is not, or no longer, in this controller's memory; get() and attempts() read it "
                "from the store, and every verb takes its id"
            )
        return TaskHandle(cast("Controller", self), live)

    def result(self, task_id: str | TaskHandle[Any], timeout: float | None = None) -> Any:
        """The value of a record, also of one that another process ran: see :meth:`TaskHandle.result`.

        Args:
            task_id: The record: its id or its handle.
            timeout: Seconds to wait for its end; one of another process must have ended.

        Raises:
            UnknownTask: When there is none.
            ResultUnavailable: When the value cannot be had in this process.
        """
        wanted = id_of(task_id)
        live = self._link.find(wanted)
        if live is not None:
            return TaskHandle[Any](cast("Controller", self), live).result(timeout)
        return self._values.of(self._link.snapshot(wanted))
