"""Makes a run of a pipeline: a record for every node, and what the engine needs to lead them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chongming_task.api.submission import Membership, Options, Submissions
from chongming_task.core.graph import heights
from chongming_task.core.policies import TaskPolicy
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.core.text import clean
from chongming_task.errors import ConfigurationError, UnknownTask
from chongming_task.runtime.ids import new_id
from chongming_task.runtime.live import LiveTask, NoWork, Work
from chongming_task.runtime.live_run import LiveRun
from chongming_task.runtime.run_plan import FanPlan, NodePlan
from chongming_task.runtime.upstream import FromNode, Upstream

if TYPE_CHECKING:
    from chongming_task.api.declared import Declared
    from chongming_task.api.pipeline import Pipeline
    from chongming_task.api.values import ResultValues

__all__ = ["RunMaker", "as_stored"]


@dataclass(frozen=True, slots=True)
class RunMaker:
    """Turns pipelines into runs.

    Args:
        submissions: Makes records.
        values: Reads results.
    """

    submissions: Submissions
    values: ResultValues

    def make(
        self,
        pipeline: Pipeline,
        parameters: Mapping[str, Any] | None,
        *,
        run_id: str | None = None,
        stored: Mapping[str, TaskSnapshot] | None = None,
    ) -> LiveRun:
        """A run that nobody knows yet.

        Args:
            pipeline: What to run.
            parameters: What its steps read as ``ctx.input``.
            run_id: Of a run that is continued; None: a new one.
            stored: Records of that run by node; its nodes go on from there.

        Raises:
            ConfigurationError: For what cannot run.
            UnknownTask: For a step by a name that is not registered.
        """
        given = _checked_input(parameters)
        declared, upstream = pipeline._checked()
        run_id = f"{pipeline.name}:{new_id()}" if run_id is None else run_id
        held = stored or {}
        hooks = () if pipeline.node_hooks is None else (pipeline.node_hooks,)
        base = Membership(run_id, "", (), given, hooks)
        nodes: list[LiveTask | None] = [None] * len(declared)
        reach = heights(upstream)
        # In this order, so that of nodes that could start the one with the longest way below it is the oldest.
        for number in sorted(range(len(declared)), key=lambda each: (-reach[each], each)):
            above = tuple(_id_of(nodes[each]) for each in upstream[number])
            member = base._replace(node=declared[number].node.name, depends_on=above)
            nodes[number] = self._node(declared[number], member, held)
        plans = [self._plan(each, upstream[n], base) for n, each in enumerate(declared)]
        run = LiveRun(
            run_id,
            pipeline.name,
            pipeline.on_failure,
            plans=plans,
            nodes=[live for live in nodes if live is not None],
            codecs=self.values.policy.codecs,
            base=self.values.artifacts,
        )
        run.hooks = () if pipeline.hooks is None else (pipeline.hooks,)
        for number, each in enumerate(declared):
            if each.fan is not None:
                ended = run.nodes[number].snapshot.status is TaskStatus.SUCCEEDED
                run.remember(number, _tasks_of(each.node.name, held), expanded=ended)
        return run

    def _node(self, each: Declared, member: Membership, held: Mapping[str, TaskSnapshot]) -> LiveTask:
        name = member.node
        try:
            if each.fan is not None:  # its record stands for the tasks of the map; one of them is made for a trial
                self.submissions.make(each.target, (None, *each.args), each.kwargs, each.options, member)
                live = self.submissions.make(_nothing, (), {}, Options(name=name), member)
            else:
                live = self.submissions.make(each.target, each.args, each.kwargs, _named(each.options, name), member)
        except (ConfigurationError, UnknownTask) as wrong:
            raise type(wrong)(f"node {name!r}: {wrong}") from wrong.__cause__
        return as_stored(live, held.get(name))

    def _plan(self, each: Declared, upstream: tuple[int, ...], base: Membership) -> NodePlan:
        if each.fan is None:
            return NodePlan(each.node.name, upstream, each.join, each.when)
        items, name = each.fan.items, each.node.name

        def items_of(above: Upstream) -> Any:
            if isinstance(items, FromNode):
                return above[items.name]
            return items(above) if callable(items) else items

        def make(found: Any, above: Upstream) -> Iterator[LiveTask]:
            for number, item in enumerate(_checked_items(name, found)):
                member = base._replace(node=f"{name}[{number}]")
                options = _named(each.options, member.node)
                live = self.submissions.make(each.target, (item, *each.args), each.kwargs, options, member)
                assert isinstance(live.work, Work)
                live.work = live.work._replace(upstream=above) if len(above) else live.work
                yield live

        return NodePlan(name, upstream, each.join, each.when, FanPlan(items_of, make, each.fan.max_parallel))


_UNKNOWN = NoWork("it belongs to a map whose items were not asked for here; retry the map, or run.retry_failed()")


def _tasks_of(name: str, held: Mapping[str, TaskSnapshot]) -> list[LiveTask]:
    """The tasks of a map as they are stored; what is to be run of them is known when its items are."""
    found: list[LiveTask] = []
    while (task := held.get(f"{name}[{len(found)}]")) is not None:
        found.append(LiveTask(task, _UNKNOWN, TaskPolicy(), stored_version=task.status_version))
    return found


def as_stored(live: LiveTask, task: TaskSnapshot | None) -> LiveTask:
    """A node as its record in the store says."""
    if task is not None:
        live.snapshot = live.draft = task
        live.stored_version = task.status_version
    return live


def _id_of(live: LiveTask | None) -> str:
    assert live is not None  # heights put it before those that wait for it
    return live.snapshot.task_id


def _named(options: Options, name: str) -> Options:
    return options._replace(name=name)


def _nothing() -> None:
    """Stands for a map until it is known how many tasks it has."""


def _checked_input(given: Any) -> Mapping[str, Any] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ConfigurationError(
            f'input takes a mapping of names to values, such as {{"day": "monday"}}, got {given!r:.100}'
        )
    return dict(given)


def _checked_items(name: str, found: Any) -> Iterable[Any]:
    if isinstance(found, str | bytes | Mapping):
        raise ConfigurationError(f"the map {clean(name)!r} needs a list of items, got {found!r:.100}")
    try:
        return iter(found)  # type: ignore[no-any-return]  # whatever it gives
    except TypeError:
        raise ConfigurationError(f"the map {clean(name)!r} needs a list of items, got {found!r:.100}") from None
