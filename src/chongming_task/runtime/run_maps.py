"""The maps of pipeline runs: their tasks come when the items are known, and the map ends with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.graph import JoinMode, Verdict, decide
from chongming_task.core.runs import blocked_by
from chongming_task.core.states import TERMINAL, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Orphaned, Resolved, Trigger
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.live_run import ACTOR, LiveRun
from chongming_task.runtime.run_engine import Steps

if TYPE_CHECKING:
    from chongming_task.runtime.pipelines import Pipelines

__all__ = ["RunMaps"]

S = TaskStatus


class RunMaps:
    """Leads maps. On the ticking thread.

    Args:
        lead: All runs of the engine.
    """

    def __init__(self, lead: Pipelines) -> None:
        self._lead = lead

    def fan_out(self, run: LiveRun, node: int, made: list[LiveTask]) -> Steps:
        """Take in the tasks of a map, now that its items are known."""
        if run.nodes[node].draft.status is not S.BLOCKED:
            return
        run.expand(node, made)
        for live in run.maps[node].tasks:
            if self._lead.engine.watches(live):  # it was stored
                for trigger in run.steps.pop(live.draft.task_id, ()):
                    if not isinstance(trigger, Orphaned):
                        self._lead.engine.try_apply(live, trigger)
            else:
                run.taken_in(live)
                self._lead.engine.take_in(live)
                self._lead.engine.try_apply(live, self._start_of(run, node))
            if run.paused and live.draft.status is S.QUEUED:
                self._lead.engine.try_apply(live, Asked(Verb.PAUSE, ACTOR))
            yield
        self.look(run, node)
        self._lead.fold(run)

    def _start_of(self, run: LiveRun, node: int) -> Trigger:
        ended = run.nodes[node].draft.status in TERMINAL
        if run.doomed or run.asked is not None or ended:
            verb = Verb.STOP if run.asked is RequestedAction.STOP else Verb.CANCEL
            return Asked(verb, ACTOR, f"its {'map' if ended else 'run'} was ended before it could start")
        return Asked(Verb.START, ACTOR)

    def look(self, run: LiveRun, node: int) -> None:
        """End a map when all of its tasks have ended; one without any succeeds."""
        fan, live = run.maps[node], run.nodes[node]
        tally = fan.tally()
        if not fan.expanded or live.draft.status is not S.BLOCKED or not tally.settled:
            return
        verdict = decide(JoinMode.NONE_FAILED, tally) if tally.total else Verdict.RUN
        if verdict is Verdict.CANCEL:
            self._lead.engine.try_apply(live, Resolved(S.CANCELLED, blocked_by(fan.first_bad().draft)))
        elif verdict is Verdict.SKIP:
            failure = Failure(FailureKind.DEPENDENCY_FAILED, "every task of the map was skipped")
            self._lead.engine.try_apply(live, Resolved(S.SKIPPED, failure))
        elif run.doomed or run.asked is not None:
            return
        elif run.paused:
            run.held.append(partial(self.look, run, node))
        else:
            self._lead.engine.try_apply(live, Resolved(S.QUEUED))

    def sweep(self, run: LiveRun, node: int) -> Steps:
        """A map has ended: so have its tasks, or they are ended with it."""
        live = run.nodes[node]
        if live.draft.status not in TERMINAL:
            return
        verb = Verb.STOP if live.draft.status is S.STOPPED else Verb.CANCEL
        why = f"the map {live.draft.name!r} was {'cancelled' if verb is Verb.CANCEL else 'stopped'}"
        yield from self._lead.verbs.sweep(run, iter(run.maps[node].tasks), Asked(verb, ACTOR, why))
