"""``@task``: a function with its defaults. It stays callable, and nothing global remembers it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from chongming_task.api.signature import Shape, shape_of
from chongming_task.core.policies import RetryPolicy, TaskPolicy, Timeout
from chongming_task.core.results import ResultPolicy
from chongming_task.core.text import NAME_LIMIT, clean
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.results import MemoryResults

if TYPE_CHECKING:
    from chongming_task.core.hooks import Hooks
    from chongming_task.core.records import TaskSnapshot

__all__ = [
    "TaskFunction",
    "TaskSpec",
    "checked_hooks",
    "checked_name",
    "checked_priority",
    "checked_tags",
    "spec_of",
    "task",
]

P = ParamSpec("P")
R = TypeVar("R")
ResultKind = Literal["json", "memory"]
_RESULTS: dict[str, ResultPolicy | None] = {"json": None, "memory": MemoryResults()}


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A function and the defaults of its submissions.

    Example:
        >>> task(tags={"io"})(len).spec.name
        'len'
    """

    name: str
    function: Callable[..., Any]
    policy: TaskPolicy = TaskPolicy()
    tags: frozenset[str] = frozenset()
    priority: int | None = None  # None: the controller's
    shape: Shape = field(default_factory=Shape)  # the arguments it takes
    results: ResultPolicy | None = None  # what becomes of the return value; None: the controller's way
    echo: bool | None = None  # its output also goes to the process's own streams; None: the controller's way
    restartable: bool = False  # its inputs are stored, so that other processes can run it again
    hooks: Hooks[TaskSnapshot] | None = None  # what is called at its turning points

    def policy_with(self, retry: RetryPolicy | None, timeout: Timeout | None) -> TaskPolicy:
        """The task's policies, but for those given.

        Args:
            retry: Instead of its own; None: its own.
            timeout: The same of its limits, which are in seconds.

        Raises:
            ConfigurationError: For a value of the wrong class.
        """
        if retry is None and timeout is None:
            return self.policy
        return TaskPolicy(
            self.policy.retry if retry is None else checked_policy("retry", retry, RetryPolicy),
            self.policy.timeout if timeout is None else checked_policy("timeout", timeout, Timeout),
        )


class TaskFunction(Generic[P, R]):
    """What ``@task`` makes: call it as the plain function it wraps, or submit it.

    Attributes:
        spec: The function and its defaults.

    Args:
        function: What it wraps.

    Example:
        >>> @task
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double(4), double.spec.name
        (8, 'double')
    """

    def __init__(self, function: Callable[..., R], spec: TaskSpec) -> None:
        functools.update_wrapper(self, function)
        self.spec = spec

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, ctx: TaskContext | None, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> R:
        """Run the function itself, here and now, without any supervision."""
        return self.spec.function(*args, **kwargs)  # type: ignore[no-any-return]  # the wrapped function's own R

    def with_options(
        self,
        *,
        name: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        result: ResultKind | None = None,
        echo: bool | None = None,
        restartable: bool | None = None,
        hooks: Hooks[TaskSnapshot] | None = None,
    ) -> TaskFunction[P, R]:
        """The same task with other defaults; what is left out stays.

        Example:
            >>> @task
            ... def hello() -> str:
            ...     return "hi"
            >>> hello.with_options(name="greeting").spec.name
            'greeting'
        """
        spec = self.spec
        changed = replace(
            spec,
            name=spec.name if name is None else checked_name(name),
            policy=spec.policy_with(retry, timeout),
            tags=spec.tags if tags is None else checked_tags(tags),
            priority=spec.priority if priority is None else checked_priority(priority),
            results=spec.results if result is None else _checked_result(result),
            echo=spec.echo if echo is None else echo,
            restartable=spec.restartable if restartable is None else restartable,
            hooks=spec.hooks if hooks is None else checked_hooks(hooks),
        )
        return TaskFunction(spec.function, _checked_restartable(changed))

    def __get__(self, instance: object, owner: type | None = None) -> TaskFunction[..., R]:
        """As a method: the task of that object."""
        bind = getattr(self.spec.function, "__get__", None)
        if instance is None or bind is None:
            return self
        bound = bind(instance, owner)
        return TaskFunction(bound, replace(self.spec, function=bound, shape=shape_of(bound)))

    def __reduce__(self) -> str:
        """Pickled by name, as functions are."""
        return self.spec.function.__qualname__

    def __repr__(self) -> str:
        return f"<task {self.spec.name!r}>"


def checked_name(name: Any) -> str:
    """A task's or record's name, cleaned.

    Raises:
        ConfigurationError: When it is not text, or empty.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"a name must be non-empty text, got {name!r}")
    return clean(name, NAME_LIMIT)


def checked_tags(tags: Any) -> frozenset[str]:
    """Tags as a set of text.

    Raises:
        ConfigurationError: For a bare string, or members that are not text.
    """
    if isinstance(tags, str):
        raise ConfigurationError(f'tags takes a collection of text, got {tags!r}; write tags={{"{tags}"}}')
    try:
        found = frozenset(tags)
    except TypeError:
        raise ConfigurationError(f"tags takes a collection of text, got {tags!r}") from None
    wrong = [tag for tag in found if not isinstance(tag, str)]
    if wrong:
        raise ConfigurationError(f"tags are text, got {wrong[0]!r}")
    return frozenset(clean(tag, NAME_LIMIT) for tag in found)


def checked_priority(priority: Any) -> int:
    """A priority.

    Raises:
        ConfigurationError: When it is no whole number.
    """
    if type(priority) is not int:
        raise ConfigurationError(f"priority must be a whole number, got {priority!r}")
    return priority


def _checked_result(result: str) -> ResultPolicy | None:
    if result not in _RESULTS:
        raise ConfigurationError(f'result must be "json" or "memory", got {result!r}')
    return _RESULTS[result]


def checked_hooks(hooks: Any) -> Hooks[TaskSnapshot] | None:
    """Hooks, or None.

    Raises:
        ConfigurationError: For something else.
    """
    if hooks is None:
        return None
    from chongming_task.core import hooks as core_hooks  # who has hooks has loaded it

    return core_hooks.checked_hooks("hooks", hooks)


def _checked_restartable(spec: TaskSpec) -> TaskSpec:
    if not isinstance(spec.restartable, bool):
        raise ConfigurationError(f"restartable must be True or False, got {spec.restartable!r}")
    if spec.restartable and spec.name == "<lambda>":
        raise ConfigurationError(
            "a restartable task is found by its name, and every lambda has the same; "
            "write task(name=..., restartable=True)(lambda ...)"
        )
    return spec


Policy = TypeVar("Policy", RetryPolicy, Timeout)


_MEANT: dict[type, str] = {RetryPolicy: "max_attempts", Timeout: "per_attempt"}  # by a number alone, most likely


def checked_policy(option: str, value: Any, kind: type[Policy]) -> Policy:
    """A policy of the right class.

    Raises:
        ConfigurationError: With the right line to write.
    """
    if isinstance(value, kind):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    inner = f"{_MEANT[kind]}={value!r}" if number else "..."
    raise ConfigurationError(
        f"{option}= takes a {kind.__name__}, got {value!r}; write {option}={kind.__name__}({inner}). "
        f'An argument of the task that is called {option} goes into kwargs={{"{option}": ...}}'
    )


def _make_spec(function: Callable[..., Any], name: str | None = None, **defaults: Any) -> TaskSpec:
    if not callable(function):
        raise ConfigurationError(
            f"a task is made from a function, got {function!r:.100}; hand over the function itself, not what it "
            "returned: submit(add, 1), not submit(add(1))"
        )
    return TaskSpec(
        _name_of(function) if name is None else checked_name(name), function, shape=shape_of(function), **defaults
    )


def _name_of(function: Callable[..., Any]) -> str:
    named: Any = function
    while isinstance(named, functools.partial):
        named = named.func
    name = getattr(named, "__name__", None)
    return checked_name(name if isinstance(name, str) and name.strip() else type(named).__name__)


def spec_of(target: Callable[..., Any]) -> TaskSpec:
    """The spec of a ``@task`` function, or one made on the spot for a plain callable.

    Raises:
        ConfigurationError: When it cannot be called.
    """
    return target.spec if isinstance(target, TaskFunction) else _make_spec(target)


@overload
def task(function: Callable[Concatenate[TaskContext, P], R], /) -> TaskFunction[P, R]: ...
@overload
def task(function: Callable[P, R], /) -> TaskFunction[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry: RetryPolicy | None = None,
    timeout: Timeout | None = None,
    tags: Iterable[str] = (),
    priority: int | None = None,
    result: ResultKind = "json",
    strict: bool = False,
    echo: bool | None = None,
    restartable: bool = False,
    hooks: Hooks[TaskSnapshot] | None = None,
) -> _Decorator: ...
def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    retry: RetryPolicy | None = None,
    timeout: Timeout | None = None,
    tags: Iterable[str] = (),
    priority: int | None = None,
    result: ResultKind = "json",
    strict: bool = False,
    echo: bool | None = None,
    restartable: bool = False,
    hooks: Hooks[TaskSnapshot] | None = None,
) -> Any:
    """Make a task of a function: give it a name and defaults.

    A first parameter that is called ``ctx`` or annotated :class:`TaskContext` receives the context; leave it out when
    submitting. The function stays callable, and is remembered by no registry, but for a
    restartable one by that of the controller it is submitted to: see ``Controller.register``.

    Args:
        function: The function, when used without parentheses.
        name: What records and panels call it; default: the function's name.
        retry: How often it is tried; default: once.
        timeout: How long an attempt may take; default: no limits.
        tags: Words for filters and for the controller's ``limits``.
        priority: Higher runs first; default: the controller's.
        result: ``"json"`` (default) stores the return value: JSON as it is, DataFrames, arrays and what else a result
            codec keeps as a file. ``"memory"`` keeps the object itself in this process, and stores its repr.
        strict: Warn of loops in the function that never reach a checkpoint; see
            :mod:`chongming_task.checkpoint_lint`.
        echo: Whether what it prints also goes to the terminal or the cell, beside its own output; default: the
            controller's.
        restartable: Store the arguments with the record, so that it can be run again without this process: ``retry``
            works from any process that has the task registered under the same name, also after a kernel restart, and
            ``reconcile(on_orphan="requeue")`` runs lost ones again.

            It asks three things of the task. Its arguments are JSON that comes back equal: text, finite numbers,
            booleans, None, lists, and dicts with text keys; anything else is refused at submission. All it needs
            besides them is there wherever the function is: no value of a closure, no state of a method's object. And
            it may run twice: a lost attempt may have done its work, wholly or in part.

            The arguments are readable to whoever can read the store: pass no passwords. With them are kept the
            number of attempts, and ``timeout=`` where the submission gave one; all else, such as the back-off, is that
            of the task registered in the process that runs it again.
        hooks: Functions to call when it starts, succeeds, fails, is retried or cancelled; see :class:`Hooks`.

    Raises:
        ConfigurationError: For a value that cannot work.

    Warns:
        CheckpointWarning: With ``strict``, for every such loop.

    Example:
        >>> @task(retry=RetryPolicy(max_attempts=3), tags={"io"})
        ... def fetch(ctx: TaskContext, url: str) -> int:
        ...     ctx.checkpoint()
        ...     return len(url)
        >>> fetch.spec.policy.retry.max_attempts
        3
    """

    def decorate(decorated: Callable[..., Any]) -> TaskFunction[Any, Any]:
        spec = _make_spec(
            decorated,
            name,
            tags=checked_tags(tags),
            priority=None if priority is None else checked_priority(priority),
            results=_checked_result(result),
            echo=echo,
            restartable=restartable,
            hooks=checked_hooks(hooks),
        )
        _checked_restartable(spec)
        if strict:
            from chongming_task.api.checkpoint_lint import warn_of_loops  # reads source: only who asks for it pays

            warn_of_loops(decorated)
        return TaskFunction(decorated, replace(spec, policy=spec.policy_with(retry, timeout)))

    return decorate if function is None else decorate(function)


class _Decorator:
    """The type of ``task(...)``: keeps the parameters of what it decorates, without the context."""

    @overload
    def __call__(self, function: Callable[Concatenate[TaskContext, P], R], /) -> TaskFunction[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFunction[P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> TaskFunction[Any, Any]:
        raise NotImplementedError  # typing only: task() returns a function
