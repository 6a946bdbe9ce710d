"""Verbs on the nodes of a run: on one, which still waits for those before it, and on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from chongming_task.core.runs import is_blocked
from chongming_task.core.states import BROKEN, REVIVABLE, TERMINAL, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Trigger
from chongming_task.runtime.live import LiveTask, NoWork
from chongming_task.runtime.live_run import ACTOR, LiveRun
from chongming_task.runtime.run_engine import Steps

if TYPE_CHECKING:
    from chongming_task.runtime.pipelines import Pipelines

__all__ = ["RunVerbs"]

S = TaskStatus
_PAUSABLE = frozenset({S.QUEUED, S.STARTING, S.RUNNING, S.RETRY_WAIT})
_RESUMABLE = frozenset({S.PAUSED, S.PAUSING})


class RunVerbs:
    """Carries verbs out. On the ticking thread.

    Args:
        lead: All runs of the engine.
    """

    def __init__(self, lead: Pipelines) -> None:
        self._lead = lead

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
            if run.is_map(node):
                self._lead.add(run, self._retry_tasks(run, node, trigger))
            return (trigger._replace(verb=Verb.RESET), blocked)
        return (trigger,)

    def ask(self, run: LiveRun, trigger: Asked, done: Callable[[int], None]) -> None:
        """Apply a verb to every node that takes it; ``done`` is told how many did, once it is stored."""
        where = None
        if run.over or self._lead.engine.is_shut:
            self._lead.engine.told(lambda: done(0))
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
            self._lead.add(run, _each(held))
        self._lead.add(run, self.sweep(run, run.members(), trigger, done, where))
        self._lead.fold(run)

    def sweep(
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
            count += self._lead.engine.try_apply(live, trigger)
            yield
        self._lead.fold(run)
        if done is not None:
            self._lead.engine.told(lambda: done(count))

    def hold(self, run: LiveRun, live: LiveTask) -> Steps:
        """An attempt has failed in a run that is paused: the next one waits for the end of the pause."""
        if run.paused and live.draft.status is S.RETRY_WAIT:
            self._lead.engine.try_apply(live, Asked(Verb.PAUSE, ACTOR, "its run is paused"))
        yield

    def retry_failed(self, run: LiveRun, trigger: Asked, done: Callable[[list[str]], None]) -> None:
        """Run again what failed, and what that has blocked; ``done`` is told the names."""
        if self._lead.engine.is_shut:
            self._lead.engine.told(lambda: done([]))
        else:
            self._lead.add(run, self._revive(run, trigger, done))

    def _revive(self, run: LiveRun, trigger: Asked, done: Callable[[list[str]], None]) -> Steps:
        run.mending, run.asked, run.doomed, run.failed = True, None, False, None
        run.broken = None
        again: list[LiveTask] = []
        for live in run.members():
            if live in run.swept and live.draft.status is S.STOPPING:
                run.again[live] = trigger
                again.append(live)
            elif self._revive_one(run, live, trigger):
                again.append(live)
            yield
        self._lead.go_on(run)
        yield  # what is decided comes first: some may still wait for what has not succeeded
        names = [live.draft.node or live.draft.name for live in again if not is_blocked(live.draft)]
        self._lead.engine.told(lambda: done(names))

    def revive_late(self, run: LiveRun, live: LiveTask, trigger: Asked) -> Steps:
        """It was to run again while it was still being ended."""
        self._revive_one(run, live, trigger)
        yield

    def unblock(self, live: LiveTask, cause: LiveTask) -> None:
        """Let a node wait again for ``cause``, which had blocked it and is taken up again itself."""
        why = f"{cause.draft.node!r} is taken up again"
        if self._lead.engine.try_apply(live, Asked(Verb.RESET, ACTOR, why)):
            self._lead.engine.try_apply(live, Asked(Verb.START, ACTOR, why, blocked=True))

    def _retry_tasks(self, run: LiveRun, node: int, trigger: Asked) -> Steps:
        """A map is retried: so is each of its tasks that has no result."""
        for live in run.tasks_of(node):
            if live.draft.status in REVIVABLE and not live.draft.abandoned:
                self._again(run, live, trigger._replace(force=True))
                yield

    def _revive_one(self, run: LiveRun, live: LiveTask, retry: Asked) -> bool:
        task = live.draft
        failed = task.status in BROKEN and not task.abandoned
        if not failed and not (task.status is S.CANCELLED and (is_blocked(task) or live in run.swept)):
            return False
        return self._again(run, live, retry)

    def _again(self, run: LiveRun, live: LiveTask, retry: Asked) -> bool:
        """Run a record again, or have it wait to."""
        task, node = live.draft, run.number_of(live)
        run.swept.discard(live)
        if isinstance(live.work, NoWork):  # it is a map's, and runs again when its items are known
            run.steps[task.task_id] = [retry]
            return True
        if live is run.nodes[node] and (task.attempt == 0 or run.asks_anew(node)):
            reset = Asked(Verb.RESET, retry.actor, retry.reason)
            return self._lead.engine.try_apply(live, reset) and self._lead.engine.try_apply(
                live, Asked(Verb.START, ACTOR, blocked=True)
            )
        revived = self._lead.engine.try_apply(live, retry)
        if revived and run.paused:
            self._lead.engine.try_apply(live, Asked(Verb.PAUSE, ACTOR, "its run is paused"))
        return revived


def _each(calls: Sequence[Callable[[], None]]) -> Steps:
    for call in calls:
        call()
        yield
