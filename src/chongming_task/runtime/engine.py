"""The one writer of state. A tick takes what has arrived, applies the rules, stores, tells and acts, in that order.

Nothing is told that is not stored, and nothing is started that is not told; so a crash at any point leaves records that
say less than what happened, never more. User code never runs here.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chongming_task.core.effects import ClearTimer, Detach
from chongming_task.core.ports import (
    Clock,
    Executor,
    Report,
    TaskStore,
)
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.rules import Step, step
from chongming_task.core.states import BROKEN, TERMINAL, TaskStatus
from chongming_task.core.triggers import Dispatched, Now, Timer, Trigger
from chongming_task.errors import (
    ConcurrencyConflict,
    ControllerClosed,
    NotRestartable,
    TaskError,
    UnknownTask,
)
from chongming_task.runtime.aside import at_once
from chongming_task.runtime.bus import Bus
from chongming_task.runtime.inbox import Inbox
from chongming_task.runtime.index import TaskIndex
from chongming_task.runtime.journal import Journal
from chongming_task.runtime.live import LiveTask, NoWork
from chongming_task.runtime.outbox import Outbox
from chongming_task.runtime.pulse import PULSE_TIMER, Pulse
from chongming_task.runtime.ready_queue import ReadyQueue
from chongming_task.runtime.reports import Reports
from chongming_task.runtime.supervisor import Supervisor
from chongming_task.runtime.task_log import fields_of
from chongming_task.runtime.timers import Timers
from chongming_task.runtime.transfers import Transfers

if TYPE_CHECKING:
    from chongming_task.runtime.pipelines import Pipelines

__all__ = ["Answer", "Engine"]

S = TaskStatus
_STEPS_A_TICK = 250  # of pipeline runs, about 20 ms; then whoever has waited has his turn
_logger = logging.getLogger("chongming_task.engine")


class Answer(NamedTuple):
    """What became of one verb on one record.

    Example:
        >>> from queue import SimpleQueue
        >>> from chongming_task import Controller
        >>> answers = SimpleQueue()
        >>> with Controller() as controller:
        ...     handle = controller.submit(pow, 2, 10, start=False)
        ...     controller.ask("skip", [handle], actor="ann", done=answers.put)
        ...     print([(answer.ok, answer.acted) for answer in answers.get(timeout=10)])
        [(True, True)]
    """

    task_id: str
    error: TaskError | None = None  # why it was refused
    acted: bool = False  # False without an error: there was nothing left to do

    @property
    def ok(self) -> bool:
        """Whether it was accepted."""
        return self.error is None


def _settled(answer: Answer, fenced: Mapping[str, ConcurrencyConflict]) -> Answer:
    """The answer once the store has spoken."""
    conflict = fenced.get(answer.task_id)
    return answer if conflict is None else Answer(answer.task_id, conflict)


def _go_on() -> None:
    """Wakes the engine for work it has left over from its last tick."""


class Engine:
    """Owns the records of this process.

    ``post`` may be called from any thread; ``tick`` from one. Everything else belongs to the ticking thread.

    Args:
        store: Where records are kept.
        executor: Runs attempts.
        clock: Time.
        ready: The queue, with its limits set.
        owner: Whose records they are.
        keep_terminal: How many ended records stay in memory.
        dice: Random numbers in [0, 1), for jitter.
        aside: Runs a caller's code, such as a node's condition: not on the engine's thread, unless by hand.
    """

    def __init__(
        self,
        store: TaskStore,
        executor: Executor,
        clock: Clock,
        ready: ReadyQueue,
        *,
        owner: str | None = None,
        keep_terminal: int = 10_000,
        dice: Callable[[], float] = random.random,
        aside: Callable[[Callable[[], None]], None] = at_once,
    ) -> None:
        self.clock = clock
        self.bus = Bus()
        self.inbox = Inbox()
        self.journal = Journal(store, owner)
        self.ready = ready
        self.index = TaskIndex(keep_terminal)
        self.tasks = self.index.tasks
        self.timers: Timers[tuple[str, Timer]] = Timers()
        self.supervisor = Supervisor(executor, clock, self.timers, self.deliver)
        self.transfers = Transfers(self)
        self.reports = Reports(self, dice)
        self.pulse = Pulse(self)
        self.outbox = Outbox(self.journal, self.bus, self.supervisor, clock, self.timers, fence=self.transfers.fence)
        self.pipelines: Pipelines | None = None  # with the first run
        self._aside = aside
        self.is_shut = False
        self.now = Now(clock.now())
        if self.supervisor.gate is not None:
            self.supervisor.gate.when_clear(lambda: self.inbox.put(_go_on))

    # from any thread

    def submit(self, live: LiveTask, start: Trigger | None) -> None:
        """Take in a new record, and start it unless ``start`` is None."""
        self.inbox.put(self._take_in, live, start)

    def run(self, call: Callable[[Pipelines], None]) -> None:
        """Have ``call`` done to the pipeline runs."""
        self.inbox.put(self._take_run, call)

    def ask(self, task_ids: Sequence[str], trigger: Trigger, done: Callable[[list[Answer]], None]) -> None:
        """Apply a verb to records; ``done`` is called on the engine thread once the outcome is stored."""
        self.inbox.put(self._take_ask, task_ids, trigger, done)

    def deliver(self, live: LiveTask, epoch: int, report: Report) -> None:
        """Take the report of a worker that was launched when the record had been reset ``epoch`` times."""
        self.inbox.put(self.reports.take, live, epoch, report)

    def shut(self, stop: Trigger, done: Callable[[list[LiveTask]], None]) -> None:
        """Take in nothing more from callers, and stop every record that has not ended; ``done`` is given those."""
        self.inbox.put(self._take_shut, stop, done)

    def look_at_output(self, task_id: str) -> None:
        """Take in what the workers of a record have written so far."""
        self.inbox.put(self.reports.take_output, task_id)

    def call(self, done: Callable[[], None]) -> None:
        """Have ``done`` called on the engine thread, once everything posted before is stored."""
        self.inbox.put(self._take_call, done)

    # the tick

    def tick(self, timeout: float | None = 0.0) -> bool:
        """Do everything there is to do now; whether there was anything.

        Args:
            timeout: Seconds to wait for the first message, if nothing is due before.
        """
        busy = False
        gather = self.outbox.worth_a_wait if len(self.ready.holding) > 1 else 0.0
        for call, args in self.inbox.drain(self._patience(timeout), gather):
            if not busy:
                busy, self.now = True, Now(self.clock.now())
            try:
                call(*args)
            except Exception:  # one bad message must not end the engine
                _logger.exception("the engine could not handle %s", getattr(call, "__name__", call))
        if self.timers:
            self._fire_due()
        if self.pipelines is not None and self.pipelines.busy:
            busy = self._advance()
        self._dispatch()
        busy = self.outbox.settle() or busy
        self.index.drop_oldest()
        return busy

    def _advance(self) -> bool:
        assert self.pipelines is not None
        self.now = Now(self.clock.now())
        self.pipelines.advance(_STEPS_A_TICK)
        if self.pipelines.busy:
            self.inbox.put(_go_on)
        return True

    def _patience(self, timeout: float | None) -> float | None:
        due = self.timers.next_due()
        if due is None or timeout == 0.0:
            return timeout
        until = max(due - self.clock.monotonic(), 0.0)
        return until if timeout is None else min(until, timeout)

    def _take_in(self, live: LiveTask, start: Trigger | None) -> None:
        if self.is_shut:
            return
        self.take_in(live)
        if start is not None:
            self.apply(live, start)

    def take_in(self, live: LiveTask) -> None:
        """Watch a record from now on. On the ticking thread."""
        self.index.add(live)
        self.outbox.mark(live)
        if (narrator := self.bus.narrator) is not None:
            self.outbox.events.append(narrator.created(live.draft))

    def _take_run(self, call: Callable[[Pipelines], None]) -> None:
        if self.pipelines is None:
            from chongming_task.runtime.pipelines import Pipelines  # only who has runs pays for them
            from chongming_task.runtime.run_engine import RunEngine

            self.pipelines = Pipelines(RunEngine(self, self._aside))
        call(self.pipelines)

    def _take_ask(self, task_ids: Sequence[str], trigger: Trigger, told: Callable[[list[Answer]], None]) -> None:
        answers = [self.answer(task_id, trigger) for task_id in task_ids]
        self.outbox.answers.append(lambda fenced: told([_settled(answer, fenced) for answer in answers]))

    def _take_shut(self, stop: Trigger, told: Callable[[list[LiveTask]], None]) -> None:
        if self.pipelines is not None:
            self.pipelines.shut()
        self.is_shut = True
        open_ones = [live for live in self.tasks.values() if live.draft.status not in TERMINAL]
        for live in open_ones:
            self.apply(live, stop)
        self.outbox.answers.append(lambda _: told(open_ones))

    def _take_call(self, call: Callable[[], None]) -> None:
        self.outbox.answers.append(lambda _: call())

    def answer(self, task_id: str, trigger: Trigger) -> Answer:
        """Apply a verb, and say what became of it. On the ticking thread."""
        live = self.index.find(task_id)
        if self.is_shut:
            return Answer(task_id, ControllerClosed("this controller is closed; make a new one"))
        if live is None:
            return Answer(task_id, UnknownTask(f"no task {task_id!r} in this controller"))
        try:
            return Answer(task_id, acted=self._apply_asked(live, trigger))
        except TaskError as refused:
            return Answer(task_id, refused)
        except Exception as error:  # a fault of ours: told to whoever waits, who would wait for ever
            _logger.exception("the engine could not apply %s", trigger, extra=fields_of(live.draft))
            return Answer(task_id, TaskError(f"the engine could not do that: {error!r}"))

    def _apply_asked(self, live: LiveTask, trigger: Trigger) -> bool:
        if live.member is None or self.pipelines is None:
            return self.apply(live, trigger)
        return [self.apply(live, each) for each in self.pipelines.verbs.asked(live, trigger)][-1]

    def _fire_due(self) -> None:
        for task_id, timer in self.timers.pop_due(self.clock.monotonic()):
            self.now = Now(self.clock.now())
            try:
                self._fire(task_id, timer)
            except Exception:  # as with messages
                _logger.exception("the engine could not handle the %s timer of %s", timer, task_id)

    def _fire(self, task_id: str, timer: Timer) -> None:
        live = self.tasks.get(task_id)
        if live is None:
            if (task_id, timer) == PULSE_TIMER:
                self.pulse.beat()
            return
        live.timers -= {timer}
        if timer is Timer.PROGRESS:
            self.reports.look(live)
            return
        if timer is Timer.OUTPUT:
            self.reports.collect(live)
            return
        trigger = self.supervisor.elapsed(live, timer)
        if trigger is not None:
            self.apply(live, trigger)

    def _dispatch(self) -> None:
        if self.supervisor.obstacle is not None:
            return
        while (task_id := self.ready.pick()) is not None:
            live = self.tasks[task_id]
            try:
                self.apply(live, Dispatched())
            except Exception:  # as with messages
                _logger.exception("the engine could not start %s", task_id, extra=fields_of(live.draft))
            finally:
                if not live.draft.live:
                    self.ready.release(task_id)

    # one step

    def apply(self, live: LiveTask, trigger: Trigger) -> bool:
        """Apply a trigger to a record; whether its status moved. On the ticking thread.

        Raises:
            TaskError: When the rules refuse it.
        """
        before = live.draft
        made = step(before, trigger, self.now, live.policy)
        after = made.snapshot
        if after.status is S.QUEUED and isinstance(live.work, NoWork):
            raise NotRestartable(live.work.why)
        live.draft = after
        for effect in made.effects:
            self.outbox.effects.append((live, after.attempt, effect))
            if isinstance(effect, ClearTimer):  # now as well: it must not fire later in this tick
                self.supervisor.clear_timer(live, effect.timer)
        if after is before:
            return False
        live.transitions += made.transitions
        if made.clear_attempts:
            live.attempts = ()
            live.clear_attempts = True
            live.epoch += 1
        if made.attempt is not None:
            live.attempts += (made.attempt,)
        self.outbox.mark(live)
        self._follow(live, before, made)
        if (narrator := self.bus.narrator) is not None:
            self.outbox.events += narrator.moved(before, made)
        self._tell_run(live, before.status)
        return made.acted

    def _tell_run(self, live: LiveTask, before: TaskStatus) -> None:
        """Let the pipeline run of a record know that its status has moved."""
        if live.member is not None and live.draft.status is not before:
            assert self.pipelines is not None
            self.pipelines.moved(live, before, live.draft.status)

    def _follow(self, live: LiveTask, before: TaskSnapshot, made: Step) -> None:
        """Keep the queue, the slots and the watch in line with the record: they follow from it, by rule."""
        after = made.snapshot
        old, new, task_id = before.status, after.status, after.task_id
        if new is S.QUEUED:
            self.ready.add(task_id, live.needs, priority=after.priority, age=live.age)
        elif old is S.QUEUED:
            self.ready.discard(task_id)
        if before.live and not after.live:
            self.ready.release(task_id)
            if not self.ready.holding:
                self.pulse.end()
            give_up = bool(made.effects) and any(isinstance(effect, Detach) for effect in made.effects)
            self.supervisor.let_go(live, give_up=give_up)
            if give_up and not live.given_up:  # it never had a worker: the launch had failed
                live.draft = after.evolve({"abandoned": False})
        elif after.live:
            self.supervisor.keep_time(live, old, new)
        if new in TERMINAL or old in TERMINAL:
            self.index.follow(live)
        if new in BROKEN and old is not new and not after.overridden:  # who sets it by hand knows
            self.outbox.unhappy.append(after)

    def try_again(self) -> float | None:
        """Store what the store did not take so far; None when nothing is left, else when to try again."""
        return self.journal.flush(self.clock.monotonic()) if self.journal.behind else None

    def flush(self) -> None:
        """Store at last what the store did not take so far; after the last tick."""
        self.journal.finish(self.clock.monotonic())
