"""The way from any thread to the engine and back: post, wait for the answer, wait for a state."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from weakref import WeakSet

from chongming_task.api.naming import name_hint
from chongming_task.core.ports import TaskStore
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.triggers import Trigger
from chongming_task.errors import ControllerClosed, UnknownTask
from chongming_task.runtime.driver import Driver
from chongming_task.runtime.engine import Answer, Engine
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.hosting import Notice
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.steward import Steward
from chongming_task.runtime.waiters import Waiter

__all__ = ["EngineLink"]


class EngineLink:
    """What the facade and its handles share.

    Args:
        engine: Owns the records.
        driver: Makes it tick.
    """

    def __init__(self, engine: Engine, driver: Driver) -> None:
        self.engine = engine
        self.driver = driver
        self.steward: Steward | None = None  # only where others can meet this controller
        self.closed = False
        self._forked = False
        _links.add(self)
        self._closing = threading.Lock()
        self._announced = False
        self._announcing = threading.Lock()

    @property
    def store(self) -> TaskStore:
        """Where records are kept.

        Raises:
            ControllerClosed: In a forked child, whose parent uses the same connections.
        """
        if self._forked:
            self.check_open()
        return self.engine.journal.store

    def check_open(self) -> None:
        """Refuse work after the end.

        Raises:
            ControllerClosed: After ``close``, and in a forked child.
        """
        if self._forked:
            raise ControllerClosed(
                "this controller belongs to the process that this one was forked from; make a new one"
            )
        if self.closed:
            raise ControllerClosed("this controller is closed; make a new one")

    def forked(self) -> None:
        """Leave everything to the parent: its threads are not here, and its leases and connections are its own."""
        self.closed = self._forked = True

    def begin_close(self) -> bool:
        """Refuse work from here on; False when somebody has begun before."""
        with self._closing:
            begun, self.closed = self.closed, True
        return not begun

    def announce(self) -> None:
        """Let the others on the store know of this controller, before it has its first record there.

        Raises:
            ConfigurationError: When another controller goes by the same name.
        """
        if self._announced or self.steward is None:
            return
        with self._announcing:
            if not self._announced:
                self.steward.announce()
                self.driver.serve(self.steward)
                self._announced = True

    def depart(self) -> None:
        """Let the others know that this controller is gone."""
        with self._announcing:
            if self._announced and self.steward is not None:
                self.steward.close()

    def submit(self, live: LiveTask, start: Trigger | None) -> None:
        """Hand a new record to the engine.

        Raises:
            ControllerClosed: When it was closed at this very moment, and did not take the record in.
            ConfigurationError: When another controller goes by this one's name.
        """
        self.announce()
        self.engine.submit(live, start)
        if self.closed:
            self.call(lambda: None)
            if live.stored_version is None:
                self.check_open()

    def find(self, task_id: str) -> LiveTask | None:
        """A record in memory, also one that was posted a moment ago."""
        live = self.engine.tasks.get(task_id)
        if live is None and not self.closed:
            self.sync()
            live = self.engine.tasks.get(task_id)
        return live

    def snapshot(self, task_id: str) -> TaskSnapshot:
        """The record as it stands, from memory or the store.

        Raises:
            UnknownTask: When there is none.
        """
        live = self.find(task_id)
        found = live.snapshot if live is not None else self.store.get(task_id)
        if found is None:
            raise UnknownTask(f"no task {task_id!r:.100} in this controller or its store{name_hint(task_id)}")
        return found

    def ask(self, task_id: str, trigger: Trigger) -> Answer:
        """Apply a verb, and wait for the engine's answer: what it changed is stored when this returns.

        Raises:
            TaskError: What the engine refused it with.
        """
        self.check_open()
        event = threading.Event()
        answers: list[Answer] = []

        def done(found: Sequence[Answer]) -> None:
            answers.extend(found)
            event.set()

        self.engine.ask([task_id], trigger, done)
        if not self.driver.wait(event):
            raise ControllerClosed("this controller was closed before it could do that")
        answer = answers[0]
        if isinstance(answer.error, UnknownTask):
            raise UnknownTask(f"{answer.error}{name_hint(task_id)}")
        if answer.error is not None:
            raise answer.error
        return answer

    def ask_and_run(self, task_id: str, trigger: Trigger) -> None:
        """Apply a verb that may start an attempt; with the inline executor the attempt runs here."""
        live = self.find(task_id)
        if live is None:
            self.ask(task_id, trigger)
        else:
            self.run(live, lambda: self.ask(task_id, trigger))

    def run(self, live: LiveTask, post: Callable[[], object]) -> None:
        """Post what may start an attempt of ``live``; with the inline executor, run its attempts in this thread."""
        executor = self.engine.supervisor.executor
        if not isinstance(executor, InlineExecutor):
            post()
            return

        def begin(look_again: Callable[[], None]) -> Callable[[], bool]:
            post()
            self.sync()
            return lambda: live.subscribe(Waiter(lambda task: task.is_at_rest, look_again))

        executor.serve(live.snapshot.task_id, begin)

    def wait_until(self, live: LiveTask, satisfied: Callable[[TaskSnapshot], bool], timeout: float | None) -> bool:
        """Wait until a record satisfies; False when the time ran out first.

        Raises:
            ControllerClosed: In a forked child, which hears of no change.
        """
        if satisfied(live.snapshot):
            return True
        if self._forked:
            self.check_open()
        notice = Notice()
        waiter = Waiter(satisfied, notice.set)
        if not live.subscribe(waiter):
            return True
        try:
            return self.driver.wait(notice, timeout)
        finally:
            live.unsubscribe(waiter)

    def sync(self) -> None:
        """Wait until everything posted so far is stored and published, so that readers see their own writes."""
        if not self.closed:
            self.call(lambda: None)

    def call(self, function: Callable[[], None]) -> None:
        """Run a function of our own on the engine thread, and wait for it."""
        event = threading.Event()

        def done() -> None:
            try:
                function()
            finally:
                event.set()

        self.engine.call(done)
        self.driver.wait(event)


_links: WeakSet[EngineLink] = WeakSet()  # of this process


def _leave_to_the_parent() -> None:
    for link in list(_links):
        link.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
