"""Pipeline runs inside the engine: starts what can start, ends what cannot, and folds the nodes into the run's status.

Everything that may concern many nodes is done in steps, so many a tick: the engine hears verbs and workers meanwhile.
A caller's conditions and items are asked for on a thread of their own.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.graph import Decision, Verdict
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import blocked_by, doom_of
from chongming_task.core.states import BROKEN, TERMINAL, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Orphaned, Resolved, Trigger
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.live_run import ACTOR, LiveRun
from chongming_task.runtime.run_engine import RunEngine, Steps
from chongming_task.runtime.run_maps import RunMaps
from chongming_task.runtime.run_plan import ConditionFalse
from chongming_task.runtime.run_verbs import RunVerbs

__all__ = ["Pipelines"]

S = TaskStatus
_logger = logging.getLogger("chongming_task.engine")

_END = object()


class Pipelines:
    """All runs of one engine. Belongs to the ticking thread.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: RunEngine) -> None:
        self.engine = engine
        self._decisions: deque[tuple[LiveRun, Decision]] = deque()
        self._steps: deque[tuple[LiveRun, Steps]] = deque()
        self._runs: WeakSet[LiveRun] = WeakSet()
        self.maps = RunMaps(self)
        self.verbs = RunVerbs(self)

    def add(self, run: LiveRun, steps: Steps) -> None:
        """Do this for a run, step by step, after what was added before."""
        self._steps.append((run, steps))

    @property
    def runs(self) -> list[LiveRun]:
        """All that are still of interest to anybody, the oldest first."""
        return sorted(self._runs, key=lambda run: run.run_id.rpartition(":")[2])

    @property
    def busy(self) -> bool:
        """Whether there is work left."""
        return bool(self._decisions or self._steps)

    def advance(self, budget: int) -> None:
        """Do at most so many steps. Decisions come first: they say best why a node cannot start."""
        while budget > 0 and self.busy:
            budget -= 1
            run = (self._decisions or self._steps)[0][0]
            try:
                self._go(run)
            except Exception as error:  # a fault of ours must not end the other runs
                self._give_up(run, error)

    def _go(self, run: LiveRun) -> None:
        if self._decisions:
            self._carry_out(*self._decisions.popleft())
            return
        _, steps = self._steps.popleft()
        if next(steps, _END) is not _END:  # one that raises is not taken up again
            self._steps.appendleft((run, steps))

    def _give_up(self, run: LiveRun, error: Exception) -> None:
        """Nobody knows any more what should follow in it: nothing does, and whoever waits for it is told."""
        _logger.error("pipeline run %s cannot go on: a fault in chongming-task", run.run_id, exc_info=error)
        run.broken = error
        self._decisions = deque(each for each in self._decisions if each[0] is not run)
        run.wake()

    # what happens to a run

    def start(self, run: LiveRun) -> None:
        """Take in a new run, and start what waits for nothing; not in a controller that is shut."""
        if self.engine.is_shut:
            return
        run.begun = run.mending = True
        self._runs.add(run)
        self.add(run, self._begin(run))

    def shut(self) -> None:
        """Start nothing more; whoever shuts stops the nodes."""
        for run in self._runs:
            run.asked = RequestedAction.STOP
        while self.busy:
            self.advance(1_000)

    def _begin(self, run: LiveRun) -> Steps:
        for node, live in enumerate(run.nodes):
            if live.stored_version is not None:
                run.equip(node)
            self._enter(run, live, run.steps.pop(live.draft.task_id, ()))
            if live.draft.status is S.PENDING:
                self.engine.try_apply(live, Asked(Verb.START, ACTOR, blocked=True))
            yield
        for fan in run.maps.values():
            for live in fan.tasks:  # that are stored
                run.taken_in(live)
                steps = run.steps.get(live.draft.task_id, ())
                self._enter(run, live, [each for each in steps if isinstance(each, Orphaned)])
                yield
        run.failed = next((live for live in run.members() if _has_failed(live) and not _waits(run, live)), None)
        self.go_on(run)

    def _enter(self, run: LiveRun, live: LiveTask, steps: Sequence[Trigger]) -> None:
        """Take in a record: a new one, or one of a run that is continued, which goes on from where it stands."""
        if live.stored_version is None:
            self.engine.take_in(live)
        else:
            self.engine.adopt(live, steps)

    def moved(self, live: LiveTask, before: TaskStatus, after: TaskStatus) -> None:
        """A node, or a task of a map, has changed its status."""
        assert live.member is not None
        run, node = live.member
        run.count(live, before, after)
        if live is run.nodes[node]:
            if after is S.QUEUED:
                run.equip(node)
            if before is S.BLOCKED and run.tickets.pop(node, None) is not None:
                self.engine.aside_is_freed()
        if before in TERMINAL:
            self._take_up(run, live, after)
        elif after in TERMINAL:
            self._ended(run, live, node)
        elif after is S.RETRY_WAIT and run.paused:
            self.add(run, self.verbs.hold(run, live))
        elif after is S.BLOCKED and not run.mending:  # it was reset, and started again
            self._take_up(run, live, after)
        self.fold(run)

    def _take_up(self, run: LiveRun, live: LiveTask, after: TaskStatus) -> None:
        """A record that had ended lives again, or has ended in another way: decide anew from how things stand."""
        if after not in TERMINAL:
            run.asked, run.doomed, run.failed = None, False, None
            run.revived.append(live)
        if not run.mending:
            run.mending = True
            self.add(run, self._mend(run))

    def _mend(self, run: LiveRun) -> Steps:
        """What a record had blocked waits again, and what that had blocked in turn."""
        while run.revived:
            cause = run.revived.popleft()
            for live in run.blocked_below(cause):
                self.verbs.unblock(live, cause)
                yield
        self.go_on(run)
        yield

    def go_on(self, run: LiveRun) -> None:
        """Decide everything anew."""
        run.mending = False
        run.revived.clear()
        run.held = []
        run.tickets.clear()
        self.decide(run, run.graph.rebuild(run.ends()))
        self._check_doom(run)
        self.fold(run)

    def _ended(self, run: LiveRun, live: LiveTask, node: int) -> None:
        status = live.draft.status
        again = run.again.pop(live, None)
        if again is not None and status is S.CANCELLED:
            self.add(run, self.verbs.revive_late(run, live, again))
            return
        if status in BROKEN:
            run.failed = run.failed or live
        if run.mending:
            return
        if live is not run.nodes[node]:
            self.maps.look(run, node)
        else:
            self.decide(run, run.graph.settle(node, status))
            if node in run.maps and not (run.doomed or run.asked is not None):
                self.add(run, self.maps.sweep(run, node))
        self._check_doom(run)

    def _check_doom(self, run: LiveRun) -> None:
        """End a run that its policy gives up."""
        if run.mending or run.doomed or run.asked is not None or not doom_of(run.policy, run.standing()):
            return
        run.doomed = True
        cause = run.failed
        why = (
            f"{run.policy} cannot be met" if cause is None else f"{run.policy}: {cause.draft.node} {_how(cause.draft)}"
        )
        if cause is not None:
            node = run.number_of(cause)
            if cause is not run.nodes[node]:  # of a map: what waits for it is told why
                self._end_early(run.nodes[node], Resolved(S.CANCELLED, blocked_by(cause.draft)))
        self.add(run, self.verbs.sweep(run, run.members(), Asked(Verb.CANCEL, ACTOR, why)))

    def _end_early(self, live: LiveTask, trigger: Resolved) -> None:
        if live.draft.status in (S.PENDING, S.BLOCKED):
            self.engine.try_apply(live, trigger)

    def fold(self, run: LiveRun) -> None:
        """Bring the run's status up to date; it is shown and told once the nodes are stored."""
        change = run.fold()
        if change is None:
            return
        before, now = change
        if now.is_terminal:
            run.paused, run.held = False, []

        def told() -> None:
            run.show(now)
            self.engine.tell(run.run_id, before, now)
            run.wake()

        self.engine.told(told)

    # decisions

    def decide(self, run: LiveRun, decisions: list[Decision]) -> None:
        """Carry out what follows for nodes, before anything else; not in a run that cannot go on."""
        if run.broken is not None:
            return
        self._decisions.extend((run, decision) for decision in decisions)

    def _carry_out(self, run: LiveRun, decision: Decision) -> None:
        node, verdict, cause = decision
        live = run.nodes[node]
        if run.mending:  # then it is decided anew
            return
        if verdict is Verdict.CANCEL:
            assert cause is not None
            self._end_early(live, Resolved(S.CANCELLED, blocked_by(run.nodes[cause].draft)))
        elif verdict is Verdict.SKIP:
            failure = Failure(
                FailureKind.DEPENDENCY_FAILED, "every node it waits for was skipped, or one that it needs"
            )
            self._end_early(live, Resolved(S.SKIPPED, failure))
        elif live.draft.status is not S.BLOCKED or run.doomed or run.asked is not None:
            return  # it has begun, or waits for a start, or is being ended
        elif run.paused:
            run.held.append(partial(self._carry_out, run, decision))
        else:
            self._run(run, node)

    def _run(self, run: LiveRun, node: int) -> None:
        """A node may start: ask what it wants asked first."""
        plan = run.plans[node]
        if plan.fan is not None and run.maps[node].expanded:
            self.maps.look(run, node)
        elif plan.asks_first:
            run.failing.discard(node)
            ticket = run.tickets[node] = object()

            def wanted() -> bool:
                return run.tickets.get(node) is ticket

            ask = run.ask_for(node, wanted)

            def work() -> Callable[[], None]:
                found = ask()
                return lambda: self._answered(run, node, ticket, found)

            self.engine.aside(work, wanted)
        else:
            self.engine.try_apply(run.nodes[node], Resolved(S.QUEUED))

    def _answered(self, run: LiveRun, node: int, ticket: object, found: Any) -> None:
        """A condition has said yes or no, or a map its items; or a caller's code raised."""
        live = run.nodes[node]
        if run.tickets.get(node) is not ticket or live.draft.status is not S.BLOCKED or run.mending:
            return
        if run.paused:
            run.held.append(partial(self._answered, run, node, ticket, found))
            return
        del run.tickets[node]
        if isinstance(found, ConditionFalse):
            failure = Failure(FailureKind.CONDITION_FALSE, "its condition is false")
            self.engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif run.doomed or run.asked is not None:
            return
        elif isinstance(found, BaseException):
            run.let_fail(node, found)
            self.engine.try_apply(live, Resolved(S.QUEUED))
        elif isinstance(found, list):
            self.add(run, self.maps.fan_out(run, node, found))
        else:
            self.engine.try_apply(live, Resolved(S.QUEUED))


def _has_failed(live: LiveTask) -> bool:
    return live.draft.status in BROKEN


def _waits(run: LiveRun, live: LiveTask) -> bool:
    """Whether it is to run again when its map's turn comes."""
    return live.draft.task_id in run.steps


def _how(task: TaskSnapshot) -> str:
    return "was lost" if task.status is S.LOST else str(task.status)
