"""Pipeline runs inside the engine: starts what can start, ends what cannot, and folds the nodes into the run's status.

Everything that may concern many nodes is done in steps, so many a tick: the engine hears verbs and workers meanwhile.
A caller's conditions and items are asked for on a thread of their own.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.graph import Decision, JoinMode, Verdict, decide
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import doom_of
from chongming_task.core.states import TERMINAL, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Resolved, Trigger
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.live_run import ConditionFalse, LiveRun
from chongming_task.runtime.run_engine import RunEngine

__all__ = ["Pipelines"]

S = TaskStatus
ACTOR = "pipeline"
_logger = logging.getLogger("chongming_task.engine")
_OPEN_ENDED = frozenset({S.FAILED, S.LOST})
_PAUSABLE = frozenset({S.QUEUED, S.STARTING, S.RUNNING, S.RETRY_WAIT})
_RESUMABLE = frozenset({S.PAUSED, S.PAUSING})

_END = object()

Steps = Iterator[None]
"""Work in steps; between two of them the engine may turn to something else."""


class Pipelines:
    """All runs of one engine. Belongs to the ticking thread.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: RunEngine) -> None:
        self._engine = engine
        self._decisions: deque[tuple[LiveRun, Decision]] = deque()
        self._steps: deque[Steps] = deque()
        self._runs: WeakSet[LiveRun] = WeakSet()

    @property
    def busy(self) -> bool:
        """Whether there is work left."""
        return bool(self._decisions or self._steps)

    def advance(self, budget: int) -> None:
        """Do at most so many steps. Decisions come first: they say best why a node cannot start."""
        while budget > 0 and self.busy:
            budget -= 1
            try:
                if self._decisions:
                    self._carry_out(*self._decisions.popleft())
                elif next(self._steps[0], _END) is _END:
                    self._steps.popleft()
            except Exception:  # one bad run must not end the others
                _logger.exception("a step of a pipeline run failed")
                if not self._decisions and self._steps:
                    self._steps.popleft()

    # what happens to a run

    def start(self, run: LiveRun) -> None:
        """Take in a new run, and start what waits for nothing."""
        self._runs.add(run)
        self._steps.append(self._begin(run))

    def shut(self) -> None:
        """Start nothing more; whoever shuts stops the nodes."""
        for run in self._runs:
            run.asked = RequestedAction.STOP
        while self.busy:
            self.advance(1_000)

    def _begin(self, run: LiveRun) -> Steps:
        run.mending = True
        for node, live in enumerate(run.nodes):
            if live.stored_version is not None and live.draft.status not in TERMINAL | {S.PENDING, S.BLOCKED}:
                run.equip(node)
            self._enter(run, live, Asked(Verb.START, ACTOR, blocked=True))
            yield
        for fan in run.maps.values():  # of maps that have ended
            for live in fan.tasks:
                run.taken_in(live)
                self._enter(run, live, None)
                yield
        run.mending = False
        run.first_failure = next((live for live in run.members() if live.draft.status in _OPEN_ENDED), None)
        self._decide(run, run.graph.rebuild(run.ends()))
        self._check_doom(run)
        self._fold(run)

    def _enter(self, run: LiveRun, live: LiveTask, start: Trigger | None) -> None:
        """Take in a record: a new one is started; one of a run that is continued goes on from where it stands."""
        if live.stored_version is None:
            self._engine.take_in(live)
        else:
            self._engine.adopt(live, run.steps.pop(live.draft.task_id, []))
        if start is not None and live.draft.status is S.PENDING:
            self._engine.try_apply(live, start)

    def moved(self, live: LiveTask, before: TaskStatus, after: TaskStatus) -> None:
        """A node, or a task of a map, has changed its status."""
        assert live.member is not None
        run, node = live.member
        run.count(live, before, after)
        if after in TERMINAL:
            self._ended(run, live, node)
        elif before in TERMINAL and not run.mending:
            self._steps.append(self._mend(run))
        self._fold(run)

    def _ended(self, run: LiveRun, live: LiveTask, node: int) -> None:
        if live is run.nodes[node]:
            self._decide(run, run.graph.settle(node, live.draft.status))
        else:
            self._look_at_map(run, node)
        if live.draft.status in _OPEN_ENDED:
            run.first_failure = run.first_failure or live
        self._check_doom(run)

    def _check_doom(self, run: LiveRun) -> None:
        """End a run that its policy gives up."""
        if run.mending or run.doomed or run.asked is not None or not doom_of(run.policy, run.standing()):
            return
        run.doomed = True
        cause = run.first_failure
        why = (
            f"{run.policy} cannot be met" if cause is None else f"{run.policy}: {cause.draft.node} {_how(cause.draft)}"
        )
        self._steps.append(self._sweep(run, Asked(Verb.CANCEL, ACTOR, why)))

    def _mend(self, run: LiveRun) -> Steps:
        """A node lives again: begin again from how things stand."""
        run.doomed = False
        self._decide(run, run.graph.rebuild(run.ends()))
        self._fold(run)
        yield

    def _fold(self, run: LiveRun) -> None:
        change = run.fold()
        if change is not None:
            self._engine.told(lambda: run.publish(*change))

    # decisions

    def _decide(self, run: LiveRun, decisions: list[Decision]) -> None:
        self._decisions.extend((run, decision) for decision in decisions)

    def _carry_out(self, run: LiveRun, decision: Decision) -> None:
        node, verdict, cause = decision
        live = run.nodes[node]
        if live.draft.status not in (S.PENDING, S.BLOCKED):
            return
        if verdict is Verdict.CANCEL:
            assert cause is not None
            self._engine.try_apply(live, Resolved(S.CANCELLED, _blocked_by(run.nodes[cause].draft)))
        elif verdict is Verdict.SKIP:
            failure = Failure(
                FailureKind.DEPENDENCY_FAILED, "every node it waits for was skipped, or one that it needs"
            )
            self._engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif run.doomed or run.asked is not None:
            return  # it is being ended
        elif run.paused:
            run.held.append(decision)
        else:
            self._run(run, node)

    def _run(self, run: LiveRun, node: int) -> None:
        """A node may start: ask what it wants asked first."""
        live, plan = run.nodes[node], run.plans[node]
        if plan.fan is not None and run.maps[node].expanded:
            self._look_at_map(run, node)
        elif plan.fan is not None or plan.when is not None:
            run.equip(node)
            ticket = run.tickets[node] = object()
            ask = run.ask_for(node)

            def work() -> Callable[[], None]:
                found = ask()
                return lambda: self._answered(run, node, ticket, found)

            self._engine.aside(work)
        else:
            run.equip(node)
            self._engine.try_apply(live, Resolved(S.QUEUED))

    def _answered(self, run: LiveRun, node: int, ticket: object, found: Any) -> None:
        """A condition has said yes or no, or a map its items; or a caller's code raised."""
        live = run.nodes[node]
        if run.tickets.get(node) is not ticket or live.draft.status is not S.BLOCKED:
            return
        del run.tickets[node]
        if isinstance(found, ConditionFalse):
            failure = Failure(FailureKind.CONDITION_FALSE, "its condition is false")
            self._engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif run.doomed or run.asked is not None:
            return
        elif isinstance(found, BaseException):
            run.let_fail(node, found)
            self._engine.try_apply(live, Resolved(S.QUEUED))
        elif isinstance(found, list):
            self._steps.append(self._fan_out(run, node, found))
        elif run.paused:
            run.held.append(Decision(node, Verdict.RUN))
        else:
            self._engine.try_apply(live, Resolved(S.QUEUED))

    # maps

    def _fan_out(self, run: LiveRun, node: int, tasks: list[LiveTask]) -> Steps:
        fan = run.plans[node].fan
        assert fan is not None
        if fan.max_parallel is not None:
            self._engine.limit(run.limit_key(node), fan.max_parallel)
        run.expand(node, tasks)
        for live in tasks:
            run.taken_in(live)
            self._enter(run, live, self._start_of(run))
            yield
        self._look_at_map(run, node)
        self._fold(run)

    def _start_of(self, run: LiveRun) -> Trigger:
        if run.doomed or run.asked is not None:
            verb = Verb.STOP if run.asked is RequestedAction.STOP else Verb.CANCEL
            return Asked(verb, ACTOR, "its run was ended before it could start")
        return Asked(Verb.START, ACTOR)

    def _look_at_map(self, run: LiveRun, node: int) -> None:
        """End a map when all of its tasks have ended; one without any succeeds."""
        fan, live = run.maps[node], run.nodes[node]
        if not fan.expanded or live.draft.status is not S.BLOCKED:
            return
        tally = fan.tally()
        if not tally.settled:
            return
        verdict = decide(JoinMode.NONE_FAILED, tally) if tally.total else Verdict.RUN
        if verdict is Verdict.CANCEL:
            self._engine.try_apply(live, Resolved(S.CANCELLED, _blocked_by(fan.first_bad().draft)))
        elif verdict is Verdict.SKIP:
            failure = Failure(FailureKind.DEPENDENCY_FAILED, "every task of the map was skipped")
            self._engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif not (run.doomed or run.asked is not None):
            if run.paused:
                run.held.append(Decision(node, Verdict.RUN))
            else:
                self._engine.try_apply(live, Resolved(S.QUEUED))
        if fan.tally().settled:
            self._engine.limit(run.limit_key(node), None)

    # verbs on a whole run

    def ask(self, run: LiveRun, trigger: Asked, done: Callable[[int], None]) -> None:
        """Apply a verb to every node that takes it; ``done`` is told how many did, once it is stored."""
        if trigger.verb in (Verb.STOP, Verb.CANCEL):
            run.asked = RequestedAction.STOP if trigger.verb is Verb.STOP else RequestedAction.CANCEL
            self._steps.append(self._sweep(run, trigger, done))
        elif trigger.verb is Verb.PAUSE:
            run.paused = True
            self._steps.append(self._sweep(run, trigger, done, _PAUSABLE))
        else:
            run.paused = False
            self._decide(run, run.held)
            run.held = []
            self._steps.append(self._sweep(run, trigger, done, _RESUMABLE))
        self._fold(run)

    def _sweep(
        self,
        run: LiveRun,
        trigger: Asked,
        done: Callable[[int], None] | None = None,
        where: frozenset[TaskStatus] | None = None,
    ) -> Steps:
        """Apply a verb to all nodes, or those in some statuses."""
        count = 0
        for live in run.members():
            status = live.draft.status
            if status in TERMINAL if where is None else status not in where:
                continue
            if trigger.actor == ACTOR:
                run.swept.add(live)
            count += self._engine.try_apply(live, trigger)
            yield
        self._fold(run)
        if done is not None:
            self._engine.told(lambda: done(count))

    def retry_failed(self, run: LiveRun, trigger: Asked, done: Callable[[list[str]], None]) -> None:
        """Run again what failed, and what that has blocked; ``done`` is told the names."""
        self._steps.append(self._revive(run, trigger, done))

    def _revive(self, run: LiveRun, trigger: Asked, done: Callable[[list[str]], None]) -> Steps:
        names: list[str] = []
        run.mending, run.asked, run.doomed, run.first_failure = True, None, False, None
        for node, plan in enumerate(run.plans):
            if plan.fan is not None and plan.fan.max_parallel is not None:
                self._engine.limit(run.limit_key(node), plan.fan.max_parallel)
        try:
            for live in run.members():
                if self._revive_one(run, live, trigger):
                    names.append(live.draft.node or live.draft.name)
                yield
        finally:
            run.mending = False
        run.swept.clear()
        self._decide(run, run.graph.rebuild(run.ends()))
        self._fold(run)
        self._engine.told(lambda: done(names))

    def _revive_one(self, run: LiveRun, live: LiveTask, retry: Asked) -> bool:
        task = live.draft
        failed = task.status in _OPEN_ENDED and not task.abandoned
        blocked = task.failure is not None and task.failure.kind is FailureKind.DEPENDENCY_FAILED
        if not failed and not (task.status is S.CANCELLED and (blocked or live in run.swept)):
            return False
        node = run.number_of(live)
        is_node = live is run.nodes[node]
        if is_node and (task.attempt == 0 or node in run.failing or node in run.maps):
            reset = Asked(Verb.RESET, retry.actor, retry.reason)
            return self._engine.try_apply(live, reset) and self._engine.try_apply(
                live, Asked(Verb.START, ACTOR, blocked=True)
            )
        return self._engine.try_apply(live, retry)


def _how(task: TaskSnapshot) -> str:
    return "was lost" if task.status is S.LOST else str(task.status)


def _blocked_by(cause: TaskSnapshot) -> Failure:
    """Why a node that waited for ``cause`` cannot start."""
    verb = {S.FAILED: "failed", S.LOST: "was lost", S.STOPPED: "was stopped"}.get(cause.status, "was cancelled")
    why = cause.failure.message.strip().partition("\n")[0][:200] if cause.failure is not None else ""
    said = f"upstream {cause.node or cause.name!r} {verb}"
    return Failure(FailureKind.DEPENDENCY_FAILED, f"{said}: {why}" if why else said)
