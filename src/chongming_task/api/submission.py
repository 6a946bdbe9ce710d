"""Makes a record of what a caller submits: checks everything that can be checked, and starts nothing."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from chongming_task.api.buckets import Buckets
from chongming_task.api.registry import TaskRegistry
from chongming_task.api.task import TaskSpec, checked_name, checked_priority, checked_tags, spec_of
from chongming_task.core.inputs import Inputs, inputs_from, stored_inputs
from chongming_task.core.output import OutputMode
from chongming_task.core.policies import BucketPolicy, ConcurrencyPolicy, RetryPolicy, TaskPolicy, Timeout
from chongming_task.core.ports import Clock, Executor
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.results import ResultPolicy
from chongming_task.core.text import NAME_LIMIT, clean
from chongming_task.errors import ConfigurationError, NotRestartable
from chongming_task.runtime.ids import new_id
from chongming_task.runtime.live import LiveTask, Work
from chongming_task.runtime.results import MemoryResults

if TYPE_CHECKING:
    from chongming_task.core.hooks import Hooks

__all__ = ["Membership", "Options", "Submissions", "checked_args", "given_arguments", "limit_keys"]


class Options(NamedTuple):
    """What a submission may say beside the arguments; None leaves the task's default."""

    args: Iterable[Any] | None = None
    kwargs: Mapping[str, Any] | None = None
    name: str | None = None
    retry: RetryPolicy | None = None
    timeout: Timeout | None = None
    tags: Iterable[str] | None = None
    priority: int | None = None
    bucket_key: str | None = None


class Membership(NamedTuple):
    """What a record is in a pipeline run."""

    run_id: str
    node: str
    depends_on: tuple[str, ...] = ()  # ids of upstream records
    input: Mapping[str, Any] | None = None  # of the run
    hooks: tuple[Hooks[TaskSnapshot], ...] = ()  # of the pipeline's nodes


_OPTIONS = frozenset({*Options._fields, "start"})


def limit_keys(concurrency: ConcurrencyPolicy, buckets: BucketPolicy) -> dict[tuple[str, Any], int]:
    """The named limits of a controller and their sizes, as the ready queue knows them."""
    keys: dict[tuple[str, Any], int] = {("tag", tag): size for tag, size in concurrency.limits.items()}
    if concurrency.max_parallel_per_bucket is not None:
        for bucket in range(buckets.num_buckets):
            keys["bucket", bucket] = concurrency.max_parallel_per_bucket
    return keys


class Submissions:
    """Turns targets, arguments and options into records.

    Args:
        registry: Which names are known.
        clock: Time.
        executor: Checks whether it can run them.
        owner: The controller's process.
        concurrency: Limits and the default priority.
        buckets: Where keys fall.
        results: What becomes of return values, where the task does not say.
        artifacts: The folder of all attempts' files.
        output: What becomes of what tasks write, where the task does not say.
        on_hooks: Called when a record has hooks.
        origin: Notes what is current where a task of that name is submitted, for its spans.
    """

    def __init__(
        self,
        registry: TaskRegistry,
        clock: Clock,
        executor: Executor,
        *,
        owner: str,
        concurrency: ConcurrencyPolicy,
        buckets: Buckets,
        results: ResultPolicy,
        artifacts: str,
        output: OutputMode,
        on_hooks: Callable[[], object],
        origin: Callable[[str], Any] | None = None,
    ) -> None:
        self.registry = registry
        self._clock = clock
        self._executor = executor
        self._owner = owner
        self._concurrency = concurrency
        self._buckets = buckets
        self._results = results
        self._artifacts = artifacts
        self._output = output
        self._on_hooks = on_hooks
        self._origin = origin
        self._ages = itertools.count()

    def make(
        self,
        target: Callable[..., Any] | str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        options: Options,
        member: Membership | None = None,
    ) -> LiveTask:
        """A record for ``target``, in PENDING, known to nobody yet.

        The inputs of a restartable task are stored with it; not those of a pipeline's node, which the pipeline knows.

        Raises:
            UnknownTask: For a name that is not registered.
            ConfigurationError: For arguments or options that cannot work, or cannot be stored where the task is
                restartable.
        """
        spec = self.registry.get(target) if isinstance(target, str) else spec_of(target)
        try:
            args, kwargs = _arguments(spec, args, kwargs, options)
            policy = spec.policy_with(options.retry, options.timeout)
            snapshot = self._described(spec, policy, options)
        except ConfigurationError as wrong:
            raise ConfigurationError(f"{wrong}{_hint(spec, kwargs, str(wrong))}") from wrong.__cause__
        work = self._work(spec, args, kwargs)
        if member is not None:
            run_id, node, depends_on, given, hooks = member
            snapshot = snapshot._replace(pipeline_run_id=run_id, node=node, depends_on=depends_on)
            return self._live(snapshot, work._replace(input=given), policy, (*_hooks_of(spec), *hooks))
        if spec.restartable:
            snapshot = snapshot._replace(inputs=stored_inputs(spec.name, args, kwargs, options.timeout))
        live = self._live(snapshot, work, policy, _hooks_of(spec))
        if spec.restartable and not isinstance(target, str):
            self.registry.remember(spec)
        return live

    def revive(self, snapshot: TaskSnapshot) -> LiveTask:
        """The stored record of a restartable task, as one that this process can run.

        Its task is the registered one of the same name; nothing is imported or unpickled. Of what the submission said,
        the arguments, the number of attempts and the timeout are stored; the rest is the registered task's own.

        Args:
            snapshot: The record, as the store holds it.

        Raises:
            NotRestartable: When it cannot be run here: why, and what to do.
        """
        try:
            if snapshot.pipeline_run_id is not None:
                raise NotRestartable(
                    "it is a node of a pipeline run; declare the pipeline and go on with the run: "
                    f"pipeline.continue_run(controller, {snapshot.pipeline_run_id!r})"
                )
            inputs = inputs_from(snapshot.inputs)
            spec = self._registered(snapshot.spec_name)
            self._buckets.check(snapshot.bucket, f"its bucket_key {snapshot.bucket_key!r}", "retry it")
            policy = _policy_of(spec, snapshot.max_attempts, inputs.timeout)
            _check_inputs(spec, inputs)
            work = self._work(spec, inputs.args, inputs.kwargs)
        except (ConfigurationError, NotRestartable) as wrong:
            said = f"{snapshot.name} ({snapshot.task_id}) cannot be run again here: {wrong}"
            raise NotRestartable(said) from wrong.__cause__
        live = self._live(snapshot, work, policy, _hooks_of(spec))
        live.stored_version = snapshot.status_version
        return live

    def _registered(self, name: str | None) -> TaskSpec:
        if name is not None and name in self.registry:
            return self.registry.get(name)
        shown = name if name is not None and name.isidentifier() else "my_task"
        known = ", ".join(sorted(self.registry)) or "none"
        raise NotRestartable(f"no task is called {name!r} here: controller.register({shown}) first; known: {known}")

    def _described(self, spec: TaskSpec, policy: TaskPolicy, options: Options) -> TaskSnapshot:
        """The new record, by what the task and the submission say."""
        bucket = self._buckets.of(options.bucket_key)
        return TaskSnapshot(
            task_id=new_id(),
            name=spec.name if options.name is None else checked_name(options.name),
            created_at=self._clock.now(),
            spec_name=spec.name,
            tags=spec.tags if options.tags is None else spec.tags | checked_tags(options.tags),
            priority=self._priority(spec, options),
            bucket=bucket,
            bucket_key=None if bucket is None else clean(str(options.bucket_key), NAME_LIMIT),
            executor=self._executor.name,
            max_attempts=policy.retry.max_attempts,
            owner=self._owner,
        )

    def _work(self, spec: TaskSpec, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Work:
        """What to run, once the executor agrees to it."""
        self._executor.check(spec.function, args, kwargs)
        results, output = self._results_of(spec), self._output_of(spec)
        work = Work(spec.function, args, kwargs, spec.shape.takes_context, results, self._artifacts, output)
        return work if self._origin is None else work._replace(origin=self._origin(spec.name))

    def _live(
        self, snapshot: TaskSnapshot, work: Work, policy: TaskPolicy, hooks: tuple[Hooks[TaskSnapshot], ...]
    ) -> LiveTask:
        live = LiveTask(snapshot, work, policy, self._needs(snapshot.tags, snapshot.bucket), next(self._ages))
        if hooks:
            live.hooks = hooks
            self._on_hooks()
        return live

    def _output_of(self, spec: TaskSpec) -> OutputMode:
        if spec.echo is None or self._output is OutputMode.PLAIN:
            return self._output
        return OutputMode.ECHO if spec.echo else OutputMode.OWN

    def _results_of(self, spec: TaskSpec) -> ResultPolicy:
        if spec.results is None:
            return self._results
        if isinstance(spec.results, MemoryResults) and not getattr(self._executor, "shares_memory", True):
            raise ConfigurationError(
                f'{spec.name!r} keeps its result in memory, and the executor "{self._executor.name}" runs it in '
                'another process, whose memory goes with it; use executor="thread", or return what can be stored'
            )
        return spec.results

    def _priority(self, spec: TaskSpec, options: Options) -> int:
        for value in (options.priority, spec.priority):
            if value is not None:
                return checked_priority(value)
        return self._concurrency.priority

    def _needs(self, tags: frozenset[str], bucket: int | None) -> tuple[tuple[str, Any], ...]:
        limits = self._concurrency.limits
        needs = [("tag", tag) for tag in tags if tag in limits] if limits and tags else []
        if bucket is not None and self._concurrency.max_parallel_per_bucket is not None:
            return (*needs, ("bucket", bucket))
        return tuple(needs)


def _hooks_of(spec: TaskSpec) -> tuple[Hooks[TaskSnapshot], ...]:
    return () if spec.hooks is None else (spec.hooks,)


def _arguments(
    spec: TaskSpec, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The task's arguments, checked against its signature."""
    args, kwargs = given_arguments(args, kwargs, options)
    spec.shape.check(spec.name, args, kwargs)
    return args, kwargs


def given_arguments(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Arguments, from either way of writing them: one by one, or as options.

    Raises:
        ConfigurationError: For both at once, or for options that hold no arguments.
    """
    if options.args is not None:
        if args:
            raise ConfigurationError("give the arguments either one by one or as args=(...), not both")
        args = checked_args(options.args)
    if options.kwargs is not None:
        kwargs = {**_checked_kwargs(options.kwargs), **kwargs}
    return args, kwargs


def _policy_of(spec: TaskSpec, max_attempts: int, timeout: Timeout | None) -> TaskPolicy:
    """The policies of a stored record: the task's own, but for what the record says."""
    retry = replace(spec.policy.retry, max_attempts=max_attempts)
    return TaskPolicy(retry, spec.policy.timeout if timeout is None else timeout)


def _check_inputs(spec: TaskSpec, inputs: Inputs) -> None:
    try:
        spec.shape.check(spec.name, inputs.args, inputs.kwargs)
    except ConfigurationError as wrong:
        raise NotRestartable(
            f"the registered task does not take its stored inputs: {wrong}; register one that does, or submit it again"
        ) from None


def checked_args(args: Any) -> tuple[Any, ...]:
    """Arguments that were given as one value.

    Raises:
        ConfigurationError: When that holds none.
    """
    try:
        if not isinstance(args, (str, bytes)):
            return tuple(args)
    except TypeError:
        pass  # told below
    raise ConfigurationError(f"args takes a tuple of arguments; write args=({args!r},)")


def _checked_kwargs(kwargs: Any) -> Mapping[str, Any]:
    if isinstance(kwargs, Mapping) and all(isinstance(name, str) for name in kwargs):
        return kwargs
    raise ConfigurationError(f"kwargs takes a mapping of names to arguments, got {kwargs!r}")


def _hint(spec: TaskSpec, kwargs: Mapping[str, Any], said: str) -> str:
    """What to do when a keyword is nearly an option of ``submit``, or a parameter of the task is called like one."""
    near = _near_option(spec, kwargs)
    if near is not None:
        return f"; did you mean the option {near}=?"
    parameters = () if spec.shape.signature is None else spec.shape.signature.parameters
    shared = [name for name in parameters if name in _OPTIONS and name not in kwargs]
    if not shared or "kwargs=" in said:
        return ""
    return (
        f"; {shared[0]}= is an option of submit: "
        f'an argument of the task that is called so goes into kwargs={{"{shared[0]}": ...}}'
    )


def _near_option(spec: TaskSpec, kwargs: Mapping[str, Any]) -> str | None:
    """The option that a keyword the task does not take was most likely meant for."""
    parameters = {} if spec.shape.signature is None else spec.shape.signature.parameters
    for name in kwargs:
        if name not in parameters and (close := difflib.get_close_matches(name, sorted(_OPTIONS), n=1)):
            return close[0]
    return None
