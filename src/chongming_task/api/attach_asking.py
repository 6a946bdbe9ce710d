"""Carries verbs to controllers in other processes, and their answers back.

A verb travels as a command through the store, to whoever watches its record. Nothing is carried out here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from chongming_task.api.attach_answers import answer_at_once, outcome_of
from chongming_task.core.commands import command_of
from chongming_task.core.ports import Clock, TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import Command
from chongming_task.core.triggers import Asked, Forced
from chongming_task.errors import (
    ControllerClosed,
    NotWatched,
    StoreError,
    TaskError,
    UnknownTask,
)
from chongming_task.runtime.engine import Answer
from chongming_task.runtime.ids import new_id
from chongming_task.runtime.ownership import Watchers

__all__ = ["ANSWER_SECONDS", "Asking", "Unanswered"]

_logger = logging.getLogger("chongming_task.store")
ANSWER_SECONDS = 10.0  # a living controller answers within a second, unless its interpreter is held up
_SLICE_SECONDS = 0.05  # so long what is asked meanwhile waits
_REST_SECONDS = 0.02  # between two looks
_JOIN_SECONDS = 2.0
_FATE_SECONDS = 1.0  # between two looks at who lives, while somebody has not answered

Done = Callable[[list[Answer]], None]


class Unanswered(TaskError):
    """A living controller was asked, and has not said yet what it makes of that."""


class _Errand:
    """One verb for several records, and what has come of it so far."""

    def __init__(self, task_ids: Sequence[str], trigger: Asked | Forced, done: Done) -> None:
        self.task_ids = task_ids
        self.trigger = trigger
        self.done = done
        self.until = 0.0  # monotonic: not waited for longer, unless an answer comes
        self.fates_at = 0.0  # monotonic: when to look next who lives
        self.answers: dict[str, Answer] = {}
        # Commands without an answer, by the owner that was asked; an owner answers in order.
        self.sent: dict[str | None, deque[Command]] = defaultdict(deque)
        self.missing: set[str | None] = set()  # of those owners, who was not there when it was looked for

    def answer(self, command: Command, error: TaskError | None, *, acted: bool = False) -> None:
        self.answers[command.task_id] = Answer(command.task_id, error, acted)

    @property
    def over(self) -> bool:
        return not any(self.sent.values())


class Asking:
    """Sends verbs, and hears the answers: on a thread of its own, from the first verb on.

    Args:
        store: Where the controllers are met.
        clock: Time.
    """

    def __init__(self, store: TaskStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._wake = threading.Condition()
        self._new: deque[_Errand] = deque()
        self._open: list[_Errand] = []  # the thread's own
        self._thread: threading.Thread | None = None
        self._closed = False

    def post(self, task_ids: Sequence[str], trigger: Asked | Forced, done: Done) -> None:
        """Send a verb to whoever watches the records. Never waits.

        Args:
            task_ids: The records.
            trigger: The verb.
            done: Called on the thread with an answer for each id, in order; quick, never raises.
        """
        errand = _Errand(tuple(task_ids), trigger, done)
        with self._wake:
            if self._closed:
                raise ControllerClosed("this is closed; attach anew")
            self._new.append(errand)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="chongming-asking", daemon=True)
                self._thread.start()
            self._wake.notify()

    def answer_at_once(self, task_id: str, asked: Asked) -> Answer | None:
        """What can be said of a verb without sending it; None when its controller must be asked."""
        task = self._store.get(task_id)
        watchers = Watchers(self._store.owner_leases(), self._clock.now())
        return answer_at_once(task_id, task, asked, watched=task is not None and watchers.watch(task))

    def stop(self) -> Callable[[], None]:
        """Wait for no answer any more; who waits is told so.

        Returns:
            What waits for the thread.
        """
        with self._wake:
            self._closed = True
            self._wake.notify()
            thread = self._thread

        def join() -> None:
            if thread is not None and thread is not threading.current_thread():
                thread.join(_JOIN_SECONDS)

        return join

    # the thread

    def _run(self) -> None:
        mark: int | None = None
        while (errands := self._next()) is not None:
            for errand in errands:
                self._guarded(errand, self._send)
            try:
                mark = self._store.wait_for_change(_SLICE_SECONDS if self._open else 0, mark)
            except Exception:  # the store is away: each errand learns of that when it looks
                time.sleep(_SLICE_SECONDS)
            for errand in self._open:
                self._guarded(errand, self._hear)
            self._settle()
            if self._open:
                time.sleep(_REST_SECONDS)  # in a busy store something changes all the time
        for errand in (*self._open, *self._new):
            self._give_up(errand, ControllerClosed("this was closed before the answer came"))
            self._tell(errand)

    def _next(self) -> list[_Errand] | None:
        """What is new; waits for it when there is nothing else to do. None: it is over."""
        with self._wake:
            self._wake.wait_for(lambda: self._new or self._open or self._closed)
            if self._closed:
                return None
            new = list(self._new)
            self._new.clear()
        self._open += new
        return new

    def _settle(self) -> None:
        for errand in [each for each in self._open if each.over]:
            self._open.remove(errand)
            self._tell(errand)

    def _tell(self, errand: _Errand) -> None:
        try:
            errand.done([errand.answers[task_id] for task_id in errand.task_ids])
        except Exception:  # a broken view must not silence the others
            _logger.exception("a view that asked something raised")

    def _guarded(self, errand: _Errand, step: Callable[[_Errand], None]) -> None:
        """Do a step. Whatever the store raises is the answer to what was not sent; what was may still be done."""
        try:
            step(errand)
        except TaskError as error:
            said = f"its controller was asked, but its answer cannot be had ({error}), and it may still do it"
            for sent in (each for waiting in errand.sent.values() for each in waiting):
                errand.answer(sent, Unanswered(said))
            self._give_up(errand, error)
        except Exception as error:  # a fault of ours, or of the store's driver: told where it was asked, and to the log
            _logger.exception("a verb could not be sent or its answer not be heard")
            self._give_up(errand, StoreError(f"{type(error).__name__}: {error}"))

    def _give_up(self, errand: _Errand, error: TaskError) -> None:
        errand.sent.clear()
        for task_id in errand.task_ids:
            errand.answers.setdefault(task_id, Answer(task_id, error))

    # asking

    def _send(self, errand: _Errand) -> None:
        found = {task.task_id: task for task in self._store.query(TaskQuery(task_ids=frozenset(errand.task_ids)))}
        watchers = Watchers(self._store.owner_leases(), self._clock.now())
        for task_id in dict.fromkeys(errand.task_ids):
            task = found.get(task_id)
            answer = answer_at_once(task_id, task, errand.trigger, watched=task is not None and watchers.watch(task))
            if answer is not None:
                errand.answers[task_id] = answer
                continue
            assert task is not None
            command = command_of(new_id(), task_id, errand.trigger, self._clock.now())
            self._store.submit_command(command)
            errand.sent[task.owner].append(command)
        errand.until = self._clock.monotonic() + ANSWER_SECONDS

    # hearing

    def _hear(self, errand: _Errand) -> None:
        for waiting in errand.sent.values():
            while waiting and self._heard(errand, waiting[0]):
                waiting.popleft()
                errand.until = self._clock.monotonic() + ANSWER_SECONDS
        if not errand.over and self._clock.monotonic() >= errand.until:
            self._out_of_time(errand)
        elif not errand.over and self._clock.monotonic() >= errand.fates_at:
            errand.fates_at = self._clock.monotonic() + _FATE_SECONDS
            self._see_who_is_gone(errand)

    def _heard(self, errand: _Errand, sent: Command) -> bool:
        command = self._store.command(sent.id)
        if command is None:
            errand.answer(sent, UnknownTask(f"the task {sent.task_id} was dropped meanwhile, by a prune"))
        elif command.completed_at is None:
            return False
        else:
            error, acted = outcome_of(command, self._store.get(sent.task_id))
            errand.answer(sent, error, acted=acted)
        return True

    def _see_who_is_gone(self, errand: _Errand) -> None:
        """Twice not there is gone: one that is being closed refuses what it has not heard a moment later."""
        living = Watchers(self._store.owner_leases(), self._clock.now()).living
        missing = {owner for owner, waiting in errand.sent.items() if waiting and owner not in living}
        said = "its controller was asked, and is gone before it answered; whoever takes the record over will hear it"
        for owner in missing & errand.missing:
            self._close_account(errand, owner, NotWatched(said))
        errand.missing = missing

    def _out_of_time(self, errand: _Errand) -> None:
        said = f"its controller was asked, but has not answered within {ANSWER_SECONDS:.0f} s, and may still do it"
        for owner in list(errand.sent):
            self._close_account(errand, owner, Unanswered(said))

    def _close_account(self, errand: _Errand, owner: str | None, error: TaskError) -> None:
        """Look at everything an owner was asked once more, and wait for the rest no longer."""
        for sent in errand.sent.pop(owner):
            if not self._heard(errand, sent):
                errand.answer(sent, error)
