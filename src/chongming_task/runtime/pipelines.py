"""Pipeline runs inside the engine: starts what can start, ends what cannot, and folds the nodes into the run's status.

Everything that may concern many nodes is done in steps, so many a tick: the engine hears verbs and workers meanwhile.
A caller's conditions and items are asked for on a thread of their own.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.graph import Decision, JoinMode, Verdict, decide
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import doom_of
from chongming_task.core.states import REVIVABLE, TERMINAL, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Orphaned, Resolved, Trigger
from chongming_task.runtime.live import LiveTask, NoWork
from chongming_task.runtime.live_run import ACTOR, FAILURES, ConditionFalse, LiveRun
from chongming_task.runtime.run_engine import RunEngine

__all__ = ["Pipelines"]

S = TaskStatus
_logger = logging.getLogger("chongming_task.engine")
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
            if self._decisions:
                try:
                    self._carry_out(*self._decisions.popleft())
                except Exception:  # one bad run must not end the others
                    _logger.exception("a decision of a pipeline run failed")
                continue
            try:
                over = next(self._steps[0], _END) is _END
            except Exception:  # as above
                _logger.exception("a step of a pipeline run failed")
                over = True
            if over:
                self._steps.popleft()

    # what happens to a run

    def start(self, run: LiveRun) -> None:
        """Take in a new run, and start what waits for nothing; not in a controller that is shut."""
        if self._engine.is_shut:
            return
        run.begun = run.mending = True
        self._runs.add(run)
        self._steps.append(self._begin(run))

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
                self._engine.try_apply(live, Asked(Verb.START, ACTOR, blocked=True))
            yield
        for fan in run.maps.values():
            for live in fan.tasks:  # that are stored
                run.taken_in(live)
                steps = run.steps.get(live.draft.task_id, ())
                self._enter(run, live, [each for each in steps if isinstance(each, Orphaned)])
                yield
        run.failed = next((live for live in run.members() if _has_failed(live) and not _waits(run, live)), None)
        self._go_on(run)

    def _enter(self, run: LiveRun, live: LiveTask, steps: Sequence[Trigger]) -> None:
        """Take in a record: a new one, or one of a run that is continued, which goes on from where it stands."""
        if live.stored_version is None:
            self._engine.take_in(live)
        else:
            self._engine.adopt(live, steps)

    def moved(self, live: LiveTask, before: TaskStatus, after: TaskStatus) -> None:
        """A node, or a task of a map, has changed its status."""
        assert live.member is not None
        run, node = live.member
        run.count(live, before, after)
        if live is run.nodes[node]:
            if after is S.QUEUED:
                run.equip(node)
            if before is S.BLOCKED:
                run.tickets.pop(node, None)
        if before in TERMINAL:
            self._take_up(run, after)
        elif after in TERMINAL:
            self._ended(run, live, node)
        elif after is S.RETRY_WAIT and run.paused:
            self._steps.append(self._hold(run, live))
        elif after is S.BLOCKED and not run.mending:  # it was reset, and started again
            self._take_up(run, after)
        self._fold(run)

    def _take_up(self, run: LiveRun, after: TaskStatus) -> None:
        """A record that had ended lives again, or has ended in another way: decide anew from how things stand."""
        if after not in TERMINAL:
            run.asked, run.doomed, run.failed = None, False, None
        if not run.mending:
            run.mending = True
            self._steps.append(self._mend(run))

    def _mend(self, run: LiveRun) -> Steps:
        self._go_on(run)
        yield

    def _go_on(self, run: LiveRun) -> None:
        """Decide everything anew."""
        run.mending = False
        run.held = []
        run.tickets.clear()
        self._decide(run, run.graph.rebuild(run.ends()))
        self._check_doom(run)
        self._fold(run)

    def _ended(self, run: LiveRun, live: LiveTask, node: int) -> None:
        status = live.draft.status
        again = run.again.pop(live, None)
        if again is not None and status is S.CANCELLED:
            self._steps.append(self._revive_late(run, live, again))
            return
        if status in FAILURES:
            run.failed = run.failed or live
        if run.mending:
            return
        if live is not run.nodes[node]:
            self._look_at_map(run, node)
        else:
            self._decide(run, run.graph.settle(node, status))
            if node in run.maps and not (run.doomed or run.asked is not None):
                self._steps.append(self._sweep_map(run, node))
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
                self._end_early(run.nodes[node], Resolved(S.CANCELLED, _blocked_by(cause.draft)))
        self._steps.append(self._sweep(run, run.members(), Asked(Verb.CANCEL, ACTOR, why)))

    def _end_early(self, live: LiveTask, trigger: Resolved) -> None:
        if live.draft.status in (S.PENDING, S.BLOCKED):
            self._engine.try_apply(live, trigger)

    def _fold(self, run: LiveRun) -> None:
        change = run.fold()
        if change is None:
            return
        before, now = change
        if now.is_terminal:
            run.paused, run.held = False, []

        def told() -> None:
            run.show(now)
            self._engine.tell(run.run_id, before, now)
            run.wake()

        self._engine.told(told)

    # decisions

    def _decide(self, run: LiveRun, decisions: list[Decision]) -> None:
        self._decisions.extend((run, decision) for decision in decisions)

    def _carry_out(self, run: LiveRun, decision: Decision) -> None:
        node, verdict, cause = decision
        live = run.nodes[node]
        if run.mending:  # then it is decided anew
            return
        if verdict is Verdict.CANCEL:
            assert cause is not None
            self._end_early(live, Resolved(S.CANCELLED, _blocked_by(run.nodes[cause].draft)))
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
            self._look_at_map(run, node)
        elif plan.asks_first:
            run.failing.discard(node)
            ticket = run.tickets[node] = object()
            ask = run.ask_for(node)

            def work() -> Callable[[], None]:
                found = ask()
                return lambda: self._answered(run, node, ticket, found)

            self._engine.aside(work)
        else:
            self._engine.try_apply(run.nodes[node], Resolved(S.QUEUED))

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
            self._engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif run.doomed or run.asked is not None:
            return
        elif isinstance(found, BaseException):
            run.let_fail(node, found)
            self._engine.try_apply(live, Resolved(S.QUEUED))
        elif isinstance(found, list):
            self._steps.append(self._fan_out(run, node, found))
        else:
            self._engine.try_apply(live, Resolved(S.QUEUED))

    # maps

    def _fan_out(self, run: LiveRun, node: int, made: list[LiveTask]) -> Steps:
        if run.nodes[node].draft.status is not S.BLOCKED:
            return
        run.expand(node, made)
        for live in run.maps[node].tasks:
            if self._engine.watches(live):  # it was stored
                for trigger in run.steps.pop(live.draft.task_id, ()):
                    if not isinstance(trigger, Orphaned):
                        self._engine.try_apply(live, trigger)
            else:
                run.taken_in(live)
                self._engine.take_in(live)
                self._engine.try_apply(live, self._start_of(run, node))
            if run.paused and live.draft.status is S.QUEUED:
                self._engine.try_apply(live, Asked(Verb.PAUSE, ACTOR))
            yield
        self._look_at_map(run, node)
        self._fold(run)

    def _start_of(self, run: LiveRun, node: int) -> Trigger:
        ended = run.nodes[node].draft.status in TERMINAL
        if run.doomed or run.asked is not None or ended:
            verb = Verb.STOP if run.asked is RequestedAction.STOP else Verb.CANCEL
            return Asked(verb, ACTOR, f"its {'map' if ended else 'run'} was ended before it could start")
        return Asked(Verb.START, ACTOR)

    def _look_at_map(self, run: LiveRun, node: int) -> None:
        """End a map when all of its tasks have ended; one without any succeeds."""
        fan, live = run.maps[node], run.nodes[node]
        if not fan.expanded or live.draft.status is not S.BLOCKED or not fan.tally().settled:
            return
        tally = fan.tally()
        verdict = decide(JoinMode.NONE_FAILED, tally) if tally.total else Verdict.RUN
        if verdict is Verdict.CANCEL:
            self._engine.try_apply(live, Resolved(S.CANCELLED, _blocked_by(fan.first_bad().draft)))
        elif verdict is Verdict.SKIP:
            failure = Failure(FailureKind.DEPENDENCY_FAILED, "every task of the map was skipped")
            self._engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif run.doomed or run.asked is not None:
            return
        elif run.paused:
            run.held.append(partial(self._look_at_map, run, node))
        else:
            self._engine.try_apply(live, Resolved(S.QUEUED))

    def _sweep_map(self, run: LiveRun, node: int) -> Steps:
        """A map has ended: so have its tasks, or they are ended with it."""
        live = run.nodes[node]
        if live.draft.status not in TERMINAL:
            return
        verb = Verb.STOP if live.draft.status is S.STOPPED else Verb.CANCEL
        why = f"the map {live.draft.name!r} was {'cancelled' if verb is Verb.CANCEL else 'stopped'}"
        yield from self._sweep(run, iter(run.maps[node].tasks), Asked(verb, ACTOR, why))

    # verbs

    def asked(self, live: LiveTask, trigger: Trigger) -> Sequence[Trigger]:
        """What a verb on one node means: it still waits for those before it, and is asked anew what it asks first."""
        assert live.member is not None
        run, node = live.member
        if not isinstance(trigger, Asked) or live is not run.nodes[node]:
            return (trigger,)
        blocked = Asked(Verb.START, trigger.actor, trigger.reason, blocked=True)
        if trigger.verb is Verb.START:
            return (blocked,)
        anew = live.draft.status in REVIVABLE and (live.draft.attempt == 0 or run.asks_anew(node))
        if trigger.verb is Verb.RETRY and anew:
            return (trigger._replace(verb=Verb.RESET), blocked)
        return (trigger,)

    def ask(self, run: LiveRun, trigger: Asked, done: Callable[[int], None]) -> None:
        """Apply a verb to every node that takes it; ``done`` is told how many did, once it is stored."""
        where = None
        if run.over or self._engine.is_shut:
            self._engine.told(lambda: done(0))
            return
        if trigger.verb in (Verb.STOP, Verb.CANCEL):
            run.asked = RequestedAction.STOP if trigger.verb is Verb.STOP else RequestedAction.CANCEL
            run.held = []
            run.again.clear()
        elif trigger.verb is Verb.PAUSE:
            run.paused, where = True, _PAUSABLE
        else:
            run.paused, where = False, _RESUMABLE
            held, run.held = run.held, []
            self._steps.append(_each(held))
        self._steps.append(self._sweep(run, run.members(), trigger, done, where))
        self._fold(run)

    def _sweep(
        self,
        run: LiveRun,
        members: Iterator[LiveTask],
        trigger: Asked,
        done: Callable[[int], None] | None = None,
        where: frozenset[TaskStatus] | None = None,
    ) -> Steps:
        """Apply a verb to records: all that have not ended, or those in some statuses."""
        count = 0
        for live in members:
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

    def _hold(self, run: LiveRun, live: LiveTask) -> Steps:
        """An attempt has failed in a run that is paused: the next one waits for the end of the pause."""
        if run.paused and live.draft.status is S.RETRY_WAIT:
            self._engine.try_apply(live, Asked(Verb.PAUSE, ACTOR, "its run is paused"))
        yield

    def retry_failed(self, run: LiveRun, trigger: Asked, done: Callable[[list[str]], None]) -> None:
        """Run again what failed, and what that has blocked; ``done`` is told the names."""
        if self._engine.is_shut:
            self._engine.told(lambda: done([]))
        else:
            self._steps.append(self._revive(run, trigger, done))

    def _revive(self, run: LiveRun, trigger: Asked, done: Callable[[list[str]], None]) -> Steps:
        run.mending, run.asked, run.doomed, run.failed = True, None, False, None
        again: list[LiveTask] = []
        for live in run.members():
            if live in run.swept and live.draft.status is S.STOPPING:
                run.again[live] = trigger
                again.append(live)
            elif self._revive_one(run, live, trigger):
                again.append(live)
            yield
        self._go_on(run)
        yield  # what is decided comes first: some may still wait for what has not succeeded
        names = [live.draft.node or live.draft.name for live in again if not _is_blocked(live.draft)]
        self._engine.told(lambda: done(names))

    def _revive_late(self, run: LiveRun, live: LiveTask, trigger: Asked) -> Steps:
        """It was to run again while it was still being ended."""
        self._revive_one(run, live, trigger)
        yield

    def _revive_one(self, run: LiveRun, live: LiveTask, retry: Asked) -> bool:
        task = live.draft
        failed = task.status in FAILURES and not task.abandoned
        if not failed and not (task.status is S.CANCELLED and (_is_blocked(task) or live in run.swept)):
            return False
        run.swept.discard(live)
        node = run.number_of(live)
        if isinstance(live.work, NoWork):  # it is a map's, and runs again when its items are known
            run.steps[task.task_id] = [retry]
            return True
        if live is run.nodes[node] and (task.attempt == 0 or run.asks_anew(node)):
            reset = Asked(Verb.RESET, retry.actor, retry.reason)
            return self._engine.try_apply(live, reset) and self._engine.try_apply(
                live, Asked(Verb.START, ACTOR, blocked=True)
            )
        revived = self._engine.try_apply(live, retry)
        if revived and run.paused:
            self._engine.try_apply(live, Asked(Verb.PAUSE, ACTOR, "its run is paused"))
        return revived


def _each(calls: Sequence[Callable[[], None]]) -> Steps:
    for call in calls:
        call()
        yield


def _has_failed(live: LiveTask) -> bool:
    return live.draft.status in FAILURES


def _waits(run: LiveRun, live: LiveTask) -> bool:
    """Whether it is to run again when its map's turn comes."""
    return live.draft.task_id in run.steps


def _is_blocked(task: TaskSnapshot) -> bool:
    """Whether it was cancelled because of what it waits for."""
    failure = task.failure
    return task.status is S.CANCELLED and failure is not None and failure.kind is FailureKind.DEPENDENCY_FAILED


def _how(task: TaskSnapshot) -> str:
    return "was lost" if task.status is S.LOST else str(task.status)


def _blocked_by(cause: TaskSnapshot) -> Failure:
    """Why a node that waited for ``cause`` cannot start."""
    verb = {S.FAILED: "failed", S.LOST: "was lost", S.STOPPED: "was stopped"}.get(cause.status, "was cancelled")
    why = cause.failure.message.strip().partition("\n")[0][:200] if cause.failure is not None else ""
    said = f"upstream {cause.node or cause.name!r} {verb}"
    return Failure(FailureKind.DEPENDENCY_FAILED, f"{said}: {why}" if why else said)
