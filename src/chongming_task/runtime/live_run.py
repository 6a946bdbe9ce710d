"""A pipeline run as the engine holds it: its nodes, how they hang together, and what is asked of the whole."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from chongming_task.core.graph import RunGraph
from chongming_task.core.policies import RetryPolicy
from chongming_task.core.runs import AggregationPolicy, PipelineRunStatus, Standing, fold, is_blocked
from chongming_task.core.states import BROKEN, TERMINAL, RequestedAction, TaskStatus
from chongming_task.core.triggers import Asked, Trigger
from chongming_task.runtime.fan import Fan
from chongming_task.runtime.live import LiveTask, Work
from chongming_task.runtime.ready_queue import Limit
from chongming_task.runtime.results import ResultCodec
from chongming_task.runtime.run_plan import NodePlan
from chongming_task.runtime.upstream import Gathered, Upstream
from chongming_task.runtime.waiters import Awaited, Waiter

if TYPE_CHECKING:
    from chongming_task.core.hooks import Hooks

__all__ = ["ACTOR", "LiveRun"]

S = TaskStatus
ACTOR = "pipeline"
"""Who acts where a run does."""


class LiveRun(Awaited[PipelineRunStatus]):
    """One run in this process. Only the engine thread writes it; anybody may read ``status``.

    Args:
        run_id: Its id.
        name: The pipeline's name.
        policy: What a failed node means for the rest.
        plans: The nodes as declared.
        nodes: Their records, in the same order.
        codecs: Who reads results that were kept as files.
        base: The folder of all attempts' files.
    """

    def __init__(
        self,
        run_id: str,
        name: str,
        policy: AggregationPolicy,
        *,
        plans: Sequence[NodePlan],
        nodes: Sequence[LiveTask],
        codecs: Sequence[ResultCodec],
        base: str | None,
    ) -> None:
        self.run_id = run_id
        self.name = name
        self.policy = policy
        self.plans = list(plans)
        self.nodes = list(nodes)
        self.graph = RunGraph([plan.upstream for plan in plans], [plan.join for plan in plans])
        self.maps = {
            node: Fan(None if plan.fan.max_parallel is None else Limit(plan.fan.max_parallel, name=("map", plan.name)))
            for node, plan in enumerate(plans)
            if plan.fan is not None
        }
        self.numbers = {plan.name: node for node, plan in enumerate(plans)}
        self.paused = False
        self.asked: RequestedAction | None = None
        self.doomed = False
        self.begun = False  # an engine has it
        self.mending = False  # nodes are being revived: nothing is decided, and all is decided anew at the end
        self.revived: deque[LiveTask] = deque()  # live again; what they have blocked is still to be looked at
        self.failed: LiveTask | None = None  # the first since the run was last taken up
        self.swept: set[LiveTask] = set()  # ended by the run's policy, not by what they wait for
        self.again: dict[LiveTask, Asked] = {}  # are to run again as soon as they have been ended
        self.steps: dict[str, list[Trigger]] = {}  # of a run that is continued: what its records need first, by id
        self.held: list[Callable[[], None]] = []  # waits for the end of a pause
        self.failing: set[int] = set()  # nodes whose condition or items could not be had
        self.tickets: dict[int, object] = {}  # nodes whose condition or items are being asked for
        self.waiters: list[Waiter[PipelineRunStatus]] = []
        self.hooks: tuple[Hooks[Any], ...] = ()  # each called with the run as its caller sees it
        self.status = PipelineRunStatus.PENDING  # published
        self.broken: BaseException | None = None  # a fault of ours: nothing more is decided
        self._drafted = PipelineRunStatus.PENDING
        self._works = [live.work for live in self.nodes]
        self._policies = [live.policy for live in self.nodes]
        self._codecs, self._base = codecs, base
        self._sinks = frozenset(self.graph.sinks)
        self._counts: Counter[TaskStatus] = Counter(live.draft.status for live in self.nodes)
        self._sinks_ended: Counter[TaskStatus] = Counter()
        for node, live in enumerate(self.nodes):
            live.member = (self, node)
            if node in self._sinks and live.draft.status in TERMINAL:
                self._sinks_ended[live.draft.status] += 1

    def members(self) -> Iterator[LiveTask]:
        """All records: of nodes, and of the tasks of maps."""
        return chain(self.nodes, *(fan.tasks for fan in self.maps.values()))

    @staticmethod
    def number_of(live: LiveTask) -> int:
        """Which node a record belongs to."""
        assert live.member is not None
        return live.member[1]

    # counting

    def count(self, live: LiveTask, before: TaskStatus, after: TaskStatus) -> None:
        """Note that a record has moved."""
        self._counts[before] -= 1
        self._counts[after] += 1
        node = self.number_of(live)
        if live is not self.nodes[node]:
            tallied = self.maps[node].ended
        elif node in self._sinks:
            tallied = self._sinks_ended
        else:
            return
        if before in TERMINAL:
            tallied[before] -= 1
        if after in TERMINAL:
            tallied[after] += 1

    def taken_in(self, live: LiveTask) -> None:
        """Count a task of a map that is new here."""
        status = live.draft.status
        self._counts[status] += 1
        if status in TERMINAL:
            self.maps[self.number_of(live)].ended[status] += 1

    def blocked_below(self, live: LiveTask) -> list[LiveTask]:
        """What a record has blocked: its map, or the nodes that wait for it."""
        node = self.number_of(live)
        below = self.graph.downstream[node] if live is self.nodes[node] else [node]
        return [self.nodes[each] for each in below if is_blocked(self.nodes[each].draft)]

    def ends(self) -> dict[int, TaskStatus]:
        """Of the nodes that have ended, how; in the order they did."""
        ended = [(node, live.draft) for node, live in enumerate(self.nodes) if live.draft.status in TERMINAL]
        ended.sort(key=lambda each: each[1].ended_at or each[1].created_at)
        return {node: task.status for node, task in ended}

    def counts(self) -> dict[TaskStatus, int]:
        """How many records are published in each status; statuses without any are left out. From any thread."""
        return dict(Counter(live.snapshot.status for live in self.members()))

    def first_failure(self) -> LiveTask | None:
        """The first record that is published to have failed or to be lost, and still is. From any thread."""
        failed = self.failed
        if failed is not None and failed.snapshot.status in BROKEN:
            return failed
        found = [(live.snapshot.ended_at, live) for live in self.members() if live.snapshot.status in BROKEN]
        return min(found, key=lambda each: (each[0] is None, each[0]), default=(None, None))[1]

    @property
    def over(self) -> bool:
        """Whether every record has ended."""
        return self._drafted.is_terminal

    def standing(self) -> Standing:
        """What the status follows from."""
        return Standing(
            self._counts,
            sum(self._counts.values()),
            sinks=len(self._sinks),
            sinks_succeeded=self._sinks_ended[S.SUCCEEDED],
            sinks_ended=sum(self._sinks_ended.values()),
            paused=self.paused,
            asked=self.asked,
            failed=self.failed is not None,
            doomed=self.doomed,
        )

    def fold(self) -> tuple[PipelineRunStatus, PipelineRunStatus] | None:
        """The status before and now, when it has changed; it is published later."""
        before, now = self._drafted, fold(self.policy, self.standing())
        self._drafted = now
        return None if now is before else (before, now)

    # what nodes are handed

    def upstream_of(self, node: int) -> Upstream:
        """The results of the nodes that one waits for."""
        outcomes: dict[str, Any] = {}
        for each in self.plans[node].upstream:
            fan = self.maps.get(each)
            if fan is not None and fan.expanded:
                outcomes[self.plans[each].name] = Gathered(tuple(_outcome(live) for live in fan.tasks))
            else:
                outcomes[self.plans[each].name] = _outcome(self.nodes[each])
        return Upstream(outcomes, self._codecs, self._base)

    def equip(self, node: int) -> None:
        """Hand a node what it is to work on: the newest results of those before it, or the number of a map's tasks."""
        if node in self.failing:
            return
        live = self.nodes[node]
        work, live.policy = self._works[node], self._policies[node]
        if isinstance(work, Work):
            if node in self.maps:
                work = work._replace(target=_number_of_tasks, args=(len(self.maps[node].tasks),))
            elif self.plans[node].upstream:
                work = work._replace(upstream=self.upstream_of(node))
        live.work = work

    def ask_for(self, node: int, wanted: Callable[[], bool]) -> Callable[[], Any]:
        """What a caller's code is to say of a node: see :meth:`NodePlan.ask`."""
        return partial(self.plans[node].ask, self.upstream_of(node), wanted)

    def let_fail(self, node: int, error: BaseException) -> None:
        """Have a node's next attempt raise what a caller's code raised; once is enough."""
        live = self.nodes[node]
        self.failing.add(node)
        work, policy = self._works[node], self._policies[node]
        if isinstance(work, Work):
            live.work = work._replace(target=_raise, args=(error,), kwargs={}, takes_context=False, upstream=None)
            live.policy = policy._replace(retry=_ONCE)

    # maps

    def expand(self, node: int, tasks: Sequence[LiveTask]) -> None:
        """Give a map its tasks; those that are stored already go on, with what is to be run of them."""
        for stray in self.maps[node].expand(tasks):
            self._counts[stray.draft.status] -= 1
            stray.member = None
            if self.failed is stray:
                self.failed = None
        for live in self.maps[node].tasks:
            live.member = (self, node)

    def remember(self, node: int, tasks: Sequence[LiveTask], *, expanded: bool) -> None:
        """Give a map of a run that is continued the tasks that are stored.

        Args:
            node: The map.
            tasks: Without what is to be run.
            expanded: Whether these are all; else the items are asked for when its turn comes.
        """
        fan = self.maps[node]
        fan.tasks, fan.expanded = list(tasks), expanded
        for live in tasks:
            live.member = (self, node)

    def asks_anew(self, node: int) -> bool:
        """Whether it must be asked again before a node can run again: its condition, or what its tasks did."""
        return node in self.failing or node in self.maps

    def is_map(self, node: int) -> bool:
        """Whether a node is a map."""
        return node in self.maps

    def tasks_of(self, node: int) -> Sequence[LiveTask]:
        """The tasks of a map, in the order of its items."""
        return self.maps[node].tasks if node in self.maps else ()

    def task_called(self, name: str) -> LiveTask | None:
        """One task of a map, by its name: ``load[3]``."""
        head, _, tail = name.rpartition("[")
        node, index = self.numbers.get(head), tail[:-1]
        if node is None or not index.isdecimal() or name != f"{head}[{int(index)}]":
            return None
        tasks = self.tasks_of(node)
        return tasks[int(index)] if int(index) < len(tasks) else None

    # waiting

    @property
    def shown(self) -> PipelineRunStatus:
        """The status as it is published."""
        return self.status

    @property
    def fault(self) -> BaseException | None:
        """The fault that keeps it from going on, unless it has come to its end all the same."""
        return None if self.status.is_terminal else self.broken

    def show(self, now: PipelineRunStatus) -> None:
        """Publish a status; whoever waits for it is still to be woken."""
        self.status = now


def _outcome(live: LiveTask) -> Any:
    return live.draft.outcome if live.draft.status is S.SUCCEEDED else None


def _raise(error: BaseException) -> None:
    raise error


def _number_of_tasks(number: int) -> int:
    """What the record of a map holds: its value is made of the tasks' own."""
    return number


_ONCE = RetryPolicy(give_up_on=BaseException)
