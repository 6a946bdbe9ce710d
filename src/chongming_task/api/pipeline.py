"""``Pipeline``: tasks and what they wait for, declared once and run as often as you like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from chongming_task.api.declared import (
    Condition,
    Declared,
    MapDeclared,
    Node,
    checked_condition,
    items_of,
    join_of,
    names_of,
    place,
)
from chongming_task.api.mermaid import to_mermaid
from chongming_task.api.pipeline_checks import check_acyclic, check_controller, check_names, check_quorum, unknown_node
from chongming_task.api.submission import Options, checked_args, given_arguments
from chongming_task.api.task import checked_name, spec_of
from chongming_task.core.graph import JoinMode
from chongming_task.core.hooks import Hooks, checked_hooks
from chongming_task.core.policies import RetryPolicy, Timeout
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import AggregationPolicy
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.upstream import Upstream, places_of

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller
    from chongming_task.api.pipeline_run import PipelineRun

__all__ = ["Node", "Pipeline"]


class Pipeline:
    """A graph of tasks.

    Every step is a task record of its own, with attempts, output and progress: it shows in the panel, and every verb
    works on it. A step that is given another step as an argument waits for it and is handed its result.

    Args:
        name: What runs of it are called.
        on_failure: What a failed step means for the rest of its run: ``AggregationPolicy.fail_fast`` (default),
            ``AggregationPolicy.all_settled`` or ``AggregationPolicy.quorum(n)``.
        hooks: Functions to call with the :class:`PipelineRun` when a run as a whole starts, succeeds, fails, is retried
            or is cancelled.
        node_hooks: The same for each of its records, called with the snapshot, after the task's own hooks.

    Raises:
        ConfigurationError: For values that cannot work.

    Example:
        >>> from chongming_task import Controller, Pipeline
        >>> pipeline = Pipeline("sums")
        >>> numbers = pipeline.add(sorted, [3, 1, 2], name="numbers")
        >>> total = pipeline.add(sum, numbers, name="total")
        >>> with Controller() as controller:
        ...     run = pipeline.submit(controller)
        ...     run.wait(timeout=10)
        ...     run.result("total")
        <PipelineRunStatus.SUCCEEDED: 'succeeded'>
        6
    """

    def __init__(
        self,
        name: str,
        *,
        on_failure: AggregationPolicy = AggregationPolicy.fail_fast,
        hooks: Hooks[PipelineRun] | None = None,
        node_hooks: Hooks[TaskSnapshot] | None = None,
    ) -> None:
        if not isinstance(on_failure, AggregationPolicy):
            raise ConfigurationError(
                f"on_failure takes AggregationPolicy.fail_fast, .all_settled or .quorum(n), got {on_failure!r:.100}"
            )
        self.name = checked_name(name)
        self.on_failure = on_failure
        self.hooks = checked_hooks("hooks", hooks)
        self.node_hooks = checked_hooks("node_hooks", node_hooks)
        self._declared: dict[str, Declared] = {}

    @property
    def nodes(self) -> list[Node]:
        """The steps, in the order they were added."""
        return [each.node for each in self._declared.values()]

    def __len__(self) -> int:
        return len(self._declared)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        """Whether it has that step, or one of that name."""
        if isinstance(node, Node):
            return node.pipeline is self
        return isinstance(node, str) and node in self._declared

    def __getitem__(self, name: str | Node) -> Node:
        """The step of that name.

        Raises:
            ConfigurationError: When there is none.
        """
        if name not in self:
            raise unknown_node(self.name, name, self._declared)
        return name if isinstance(name, Node) else self._declared[name].node

    def knows(self, name: str) -> bool:
        """Whether a record of a run can be called so: a node, or a task of a map.

        Args:
            name: Of a node, or such as ``"load[3]"``.
        """
        return name in self._declared or self.is_map(name.rpartition("[")[0])

    def is_map(self, name: str) -> bool:
        """Whether a node of that name is a map.

        Args:
            name: A node's name.
        """
        return name in self._declared and self._declared[name].fan is not None

    def target_of(self, name: str) -> Callable[..., Any] | str:
        """What a record of a run is made of: a node, or a task of a map.

        Args:
            name: Of a node, or of a task of a map.
        """
        return self._declared[name if name in self._declared else name.rpartition("[")[0]].target

    # declare

    def add(
        self,
        target: Callable[..., Any] | str,
        /,
        *positional: Any,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        deps: Iterable[Node | str] | Node | str = (),
        name: str | None = None,
        when: Condition | None = None,
        join: JoinMode | str = JoinMode.ALL_SUCCEEDED,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        **keywords: Any,
    ) -> Node:
        """Add a step.

        Args:
            target: As for :meth:`Controller.submit`: a ``@task`` function, a registered name, any callable.
            *positional: Its arguments. A node among them, also within a list, tuple or dict, stands for its result.
            args: The same as a tuple.
            kwargs: Its keyword arguments as a mapping.
            deps: Nodes to wait for beside those, by node or by name, also of one that is added later.
            name: What the step is called; default: its task's name, with a number where that is taken.
            when: Asked, on a thread of its own, once the step could start; given the results of the nodes it waits for,
                as in ``when=lambda up: up[counted] > 0``. When it says no the step is skipped; when it raises, the step
                fails with that.
            join: What it asks of the nodes it waits for. With ``"any_succeeded"`` and ``"all_done"`` some of them may
                have no result: then it is handed None.
            retry: Instead of the task's policy.
            timeout: Instead of the task's limits.
            tags: Beside the task's own.
            priority: Higher runs first.
            bucket_key: The business key that decides the bucket.
            **keywords: Its keyword arguments.

        Returns:
            The node, to be given to other steps.

        Raises:
            ConfigurationError: For a name that is taken, a node of another pipeline, or values that cannot work.
        """
        options = Options(args, kwargs, None, retry, timeout, tags, priority, bucket_key)
        return self._add(target, positional, keywords, options, name=name, deps=deps, when=when, join=join, fan=None)

    def map(
        self,
        target: Callable[..., Any] | str,
        items: Iterable[Any] | Node | Callable[[Upstream], Iterable[Any]],
        /,
        *,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        max_parallel: int | None = None,
        deps: Iterable[Node | str] | Node | str = (),
        name: str | None = None,
        when: Condition | None = None,
        join: JoinMode | str = JoinMode.ALL_SUCCEEDED,
        retry: RetryPolicy | None = None,
        timeout: Timeout | None = None,
        tags: Iterable[str] | None = None,
        priority: int | None = None,
        bucket_key: str | None = None,
        **keywords: Any,
    ) -> Node:
        """Add a step that runs a task once for each item. Its result is the list of theirs, in the order of the items.

        The items can be known only when the step starts: then they are a node's result, or what a function makes of the
        results of the nodes before. A map without items succeeds. One of its tasks that does not succeed cancels the
        map; what was skipped by hand has None in the list.

        Args:
            target: As for :meth:`add`; called with the item, then with ``args`` and the keyword arguments.
            items: A list; a node whose result is one; or a function, asked on a thread of its own.
            args: Further arguments, the same for all.
            kwargs: Keyword arguments, the same for all.
            max_parallel: How many of its tasks hold a worker at once.
            deps: As for :meth:`add`, as are the others.
            name: As there.
            when: As there: whether the map as a whole runs.
            join: As there.
            retry: Of each task.
            timeout: Of each task.
            tags: Of each task.
            priority: Of each task.
            bucket_key: Of each task.
            **keywords: Keyword arguments, the same for all.

        Returns:
            The node.

        Raises:
            ConfigurationError: As for :meth:`add`; for items that are none; or a ``max_parallel`` below 1.
        """
        if max_parallel is not None and (type(max_parallel) is not int or max_parallel < 1):
            raise ConfigurationError(f"max_parallel must be a whole number, 1 or more, got {max_parallel!r}")
        options = Options(None, kwargs, None, retry, timeout, tags, priority, bucket_key)
        fan = MapDeclared(items_of(self, items), max_parallel)
        return self._add(
            target, checked_args(args), keywords, options, name=name, deps=deps, when=when, join=join, fan=fan
        )

    def _add(
        self,
        target: Callable[..., Any] | str,
        positional: tuple[Any, ...],
        keywords: Mapping[str, Any],
        options: Options,
        *,
        name: str | None,
        deps: Iterable[Node | str] | Node | str,
        when: Condition | None,
        join: JoinMode | str,
        fan: MapDeclared | None,
    ) -> Node:
        when = checked_condition(when)
        args, kwargs = place(self, given_arguments(positional, keywords, options))
        used = [*places_of(args), *places_of(kwargs), *places_of(None if fan is None else fan.items)]
        names = dict.fromkeys([*used, *names_of(self, deps)])
        node = Node(self, self._new_name(target, name))
        self._declared[node.name] = Declared(
            node, target, args, kwargs, options._replace(args=None, kwargs=None), tuple(names), join_of(join), when, fan
        )
        return node

    def _new_name(self, target: Callable[..., Any] | str, name: str | None) -> str:
        if name is not None:
            wanted = checked_name(name)
            if wanted in self._declared:
                raise ConfigurationError(
                    f"the pipeline {self.name!r} has a node {wanted!r} already; give name= another"
                )
            return wanted
        base = wanted = target if isinstance(target, str) else spec_of(target).name
        number = 1
        while wanted in self._declared:
            number += 1
            wanted = f"{base}-{number}"
        return wanted

    # run

    def validate(self) -> None:
        """Say whether it can run. Arguments and options are looked at by :meth:`submit`, which knows the controller.

        Raises:
            ConfigurationError: For a dependency that is not there; a cycle, with the path along it; a node that is
                called like a task of a map; or a quorum of more nodes than there are.
        """
        self._checked()

    def _checked(self) -> tuple[list[Declared], list[tuple[int, ...]]]:
        """The nodes as they are now, and of each the numbers of those it waits for."""
        declared = self._declared.copy()  # another thread may add to it
        check_names(self.name, declared, {name for name, each in declared.items() if each.fan is not None})
        upstream = check_acyclic(self.name, {name: each.deps for name, each in declared.items()})
        check_quorum(self.name, self.on_failure, upstream)
        return list(declared.values()), upstream

    def submit(
        self,
        controller: Controller,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as the steps read it: ctx.input
    ) -> PipelineRun:
        """Start a run of it; does not wait.

        Args:
            controller: Runs the steps.
            input: Parameters of the run; steps read them as ``ctx.input``.

        Raises:
            ConfigurationError: When it cannot run: as :meth:`validate`, or for a step's arguments or options.
            UnknownTask: For a step by a name that is not registered.
            ControllerClosed: After the controller was closed.
        """
        check_controller("submit", controller)
        return controller.start_run(self, input=input)

    def continue_run(
        self,
        controller: Controller,
        run_id: str,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - as above
    ) -> PipelineRun:
        """Go on with a run whose process is gone: what has succeeded stays, and the rest runs here.

        The pipeline is declared anew, with the same names. Steps that were lost run again when their task is
        restartable; others stay lost until ``run.retry_failed()``.

        Args:
            controller: Runs the steps; on the run's store.
            run_id: The run.
            input: Parameters of the run, as for :meth:`submit`.

        Raises:
            ConfigurationError: When the run is not there, is not of this pipeline, or somebody else runs it.
        """
        check_controller("continue_run", controller)
        return controller.continue_run(self, run_id, input=input)

    def to_mermaid(self, run: PipelineRun | None = None) -> str:
        """The graph as a Mermaid flowchart; with a run, coloured by its statuses.

        Args:
            run: A run of this pipeline, for the colours.

        Example:
            >>> from chongming_task import Pipeline
            >>> pipeline = Pipeline("sums")
            >>> _ = pipeline.add(sum, pipeline.add(range, 4))
            >>> print(pipeline.to_mermaid())
            flowchart LR
                n0["range"]
                n1["sum"]
                n0 --> n1
        """
        return to_mermaid(self._declared.values(), None if run is None else run.statuses())

    def __repr__(self) -> str:
        return f"<Pipeline {self.name!r}: {len(self)} nodes, {self.on_failure}>"
