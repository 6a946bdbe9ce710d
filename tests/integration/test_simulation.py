"""Thousands of simulated steps find nothing, and every planted fault is found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from chongming_task.core import rules
from chongming_task.core.effects import Launch, Signal
from chongming_task.core.limits import AttemptWatch
from chongming_task.core.states import TaskStatus
from chongming_task.core.triggers import Timer
from chongming_task.runtime.engine import Engine
from chongming_task.runtime.inbox import Inbox
from chongming_task.runtime.journal import Journal
from chongming_task.runtime.outbox import Outbox
from chongming_task.runtime.ready_queue import Limit, ReadyQueue
from chongming_task.runtime.reports import Reports
from chongming_task.runtime.supervisor import Supervisor
from chongming_task.runtime.timers import Timers
from chongming_task.stores.memory import MemoryTaskStore
from chongming_task.testing.simulation import Simulation, SimulationError, simulate

WORLDS = 170
STEPS = 300

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.timeout(300)
def test_fifty_thousand_steps_find_nothing():
    """170 worlds of 300 steps each, and every one comes to rest."""
    assert simulate(range(WORLDS), STEPS) == WORLDS * STEPS >= 50_000


def test_a_world_leaves_the_streams_alone():
    """Its controllers crash and are never closed, so none may take stdout for its tasks."""
    before = sys.stdout
    Simulation(3).run(50)
    assert sys.stdout is before


def test_a_world_is_the_same_again():
    """A seed decides everything: the trace of a world is the same when it is played twice."""
    traces = []
    for _ in range(2):
        lines: list[str] = []
        Simulation(11, tell=lines.append).run(200)
        traces.append(lines)
    assert traces[0] == traces[1]


def skip_the_version_check(patch):
    """A store that lets a late writer overwrite what is newer."""

    def commit(self, writes):
        for write in writes:
            self._apply(write.snapshot.task_id, write)
        return []

    patch.setattr(MemoryTaskStore, "commit", commit)


def drop_a_slot_release(patch):
    """Every fifth slot is not given back."""
    release, calls = ReadyQueue.release, [0]

    def forgetful(self, task_id):
        calls[0] += 1
        if calls[0] % 5:
            release(self, task_id)

    patch.setattr(ReadyQueue, "release", forgetful)


def tell_before_storing(patch):
    """Views hear of a change before it is stored."""
    store = Outbox._store

    def hasty(self, changed):
        self._tell(changed, [])
        for live in changed:
            live.changed = True
        store(self, changed)

    patch.setattr(Outbox, "_store", hasty)


def launch_before_storing(patch):
    """A worker is started before STARTING is stored."""
    apply = Engine.apply

    def hasty(self, live, trigger):
        acted = apply(self, live, trigger)
        for entry in [e for e in self.outbox.effects if isinstance(e[2], Launch)]:
            self.outbox.effects.remove(entry)
            self.supervisor.perform(*entry)
        return acted

    patch.setattr(Engine, "apply", hasty)


def count_the_reports_of_earlier_attempts(patch):
    """A late end of attempt 1 ends attempt 2."""
    take = Reports._end

    def gullible(self, live, ended):
        take(self, live, ended._replace(attempt=live.draft.attempt))

    patch.setattr(Reports, "_end", gullible)


def believe_an_old_hold(patch):
    """A worker that waited for a pause that was withdrawn counts as held for the next one."""

    def held(draft, trigger):
        if draft.task.live and draft.status is TaskStatus.PAUSING:
            draft.changes["requested_action"] = None
            draft.move(TaskStatus.PAUSED, "worker:held", "engine")

    patch.setitem(rules._HANDLERS, rules.Held, held)


def retry_a_stopped_attempt(patch):
    """An attempt that was asked to stop is treated like any failure."""

    def failed(draft, trigger):
        if trigger.failure is None:
            rules._succeed(draft, trigger)
        else:
            again = replace(trigger.failure, kind=rules.FailureKind.EXCEPTION, retryable=True)
            rules._fail(draft, trigger, again)

    patch.setattr(rules, "_ended_while_stopping", failed)


def call_a_lost_worker_stopped(patch):
    """A thread that did not stop in time is told to have stopped."""

    def lie(draft, trigger, why):
        failure = rules.Failure(rules.FailureKind.CANCELLED, why)
        rules._finish(draft, trigger, TaskStatus.STOPPED, "timer:stop_window", failure=failure)

    patch.setattr(rules, "_lose", lie)


def leave_timers_behind(patch):
    """An ended attempt keeps its timers."""
    let_go = Supervisor.let_go

    def careless(self, live, *, give_up):
        timers, live.timers = live.timers, set()
        let_go(self, live, give_up=give_up)
        live.timers = timers

    patch.setattr(Supervisor, "let_go", careless)


def forget_what_the_store_did_not_take(patch):
    """What a failing store refused is not kept."""
    flush = Journal.flush

    def forgetful(self, now):
        again = flush(self, now)
        if again is not None:
            self._backlog.clear()
        return again

    patch.setattr(Journal, "flush", forgetful)


def overlook_full_limits(patch):
    """A tag's limit is never full."""
    patch.setattr(Limit, "full", property(lambda self: self.size > 3 and self.used >= self.size))


def never_say_go_on(patch):
    """A worker is not told that its pause is over."""
    tell = Supervisor._tell

    def silent(self, live, effect):
        if effect.signal is not Signal.RESUME:
            tell(self, live, effect)

    patch.setattr(Supervisor, "_tell", silent)


def lose_the_retry_timer(patch):
    """A back-off never ends."""
    set_timer = Timers.set

    def lossy(self, key, due):
        if key[1] is not Timer.RETRY:
            set_timer(self, key, due)

    patch.setattr(Timers, "set", lossy)


def lose_a_message(patch):
    """Every fiftieth message never arrives."""
    put, count = Inbox.put, [0]

    def lossy(self, call, *args):
        count[0] += 1
        if count[0] % 50:
            put(self, call, *args)

    patch.setattr(Inbox, "put", lossy)


def count_paused_time(patch):
    """The watch of an attempt runs on while it is paused."""
    patch.setattr(AttemptWatch, "hold", lambda self, now: None)


PLANTED: list[Plant] = [
    skip_the_version_check,
    drop_a_slot_release,
    tell_before_storing,
    launch_before_storing,
    count_the_reports_of_earlier_attempts,
    believe_an_old_hold,
    retry_a_stopped_attempt,
    call_a_lost_worker_stopped,
    leave_timers_behind,
    forget_what_the_store_did_not_take,
    overlook_full_limits,
    never_say_go_on,
    lose_the_retry_timer,
    lose_a_message,
    count_paused_time,
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant, monkeypatch):
    """The same worlds that find nothing in our code find each of these faults."""
    plant(monkeypatch)
    with pytest.raises(SimulationError, match="replay: python -m"):
        simulate(range(WORLDS), STEPS)
