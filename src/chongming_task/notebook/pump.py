"""The one thread that talks to the browser, for all views of the process.

Widgets may be touched by one thread only: two that set traits lose updates, and each short-lived thread that does
leaves a socket behind. So everything that wants to reach a view is posted here: changes by the engine's tap, signals
and answers by the comm handlers. The thread sleeps until something happens or is due, and ends with the last view.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chongming_task.core.records import TaskSnapshot
from chongming_task.errors import TaskError
from chongming_task.notebook.feed import Feed
from chongming_task.notebook.outlet import Outlet, Port
from chongming_task.notebook.shell import SHELL

__all__ = ["PUMP", "Clock", "Pump", "TaskSource"]

logger = logging.getLogger(__name__)

LOOK_AFTER = 1.0  # seconds between two looks at how the sources do
SHORTEST_ROUND = 0.05  # seconds between two rounds of a busy pump: bounds what it takes from the kernel


class Health(Protocol):
    """Whether a source tells all that is true. As text: one sentence."""

    @property
    def ok(self) -> bool:
        """It does."""


class TaskSource(Protocol):
    """What the pump needs of a controller."""

    name: str | None  # what the views are headed with

    @property
    def health(self) -> Health:
        """How it does; never waits."""

    @property
    def closed(self) -> bool:
        """Whether nothing more will happen to what it has."""

    def get(self, task_id: str, /) -> TaskSnapshot:
        """One task as it stands."""

    def list_tasks(self) -> list[TaskSnapshot]:
        """Every task as it stands."""

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None], /) -> Callable[[], None]:
        """Calls back with the latest snapshots after every change; returns how to end that."""


class Clock:
    """The time and the shell, as a round of the pump sees them; tests hand in their own."""

    @property
    def now(self) -> float:
        """Seconds on a monotonic clock."""
        return time.monotonic()

    @property
    def unix_ms(self) -> int:
        """Wall clock, milliseconds."""
        return time.time_ns() // 1_000_000

    @property
    def idle_since(self) -> float | None:
        """When the kernel's last cell ended; None while one runs."""
        return SHELL.idle_since


@dataclass(slots=True)
class _Line:
    """One controller, its rows and the views of them. Touched by the pump's rounds only, but for the two deques."""

    source: TaskSource
    feed: Feed
    news: deque[Sequence[TaskSnapshot]] = field(default_factory=deque)  # from the engine's thread
    outlets: list[Outlet] = field(default_factory=list)
    untap: Callable[[], None] | None = None
    out_of_reach: str | None = None  # why it cannot be followed


class Pump:
    """Carries changes and answers to the views.

    Args:
        clock: Tells the time.
        threaded: False: no thread is started, and ``round()`` is called by hand.
    """

    def __init__(self, clock: Clock | None = None, *, threaded: bool = True) -> None:
        self._clock = clock or Clock()
        self._threaded = threaded
        self._lock = threading.Lock()  # guards the lists of lines and outlets, and the thread
        self._lines: list[_Line] = []
        self._opened: dict[Feed, _Line] = {}  # that have no view yet
        self._holds: set[object] = set()
        self._posts: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- called from any thread

    def feed_of(self, source: TaskSource, make: Callable[[str, int], Feed] = Feed) -> Feed:
        """The rows of a controller, filled and followed; all its views share them while it has any.

        Whoever asks for them adds a view, or says that there will be none: ``forget``.

        Args:
            source: The controller, or a part of one.
            make: Makes them, of a title and of now in Unix milliseconds.
        """
        with self._lock:
            line = next((line for line in self._lines if line.source is source), None)
        if line is not None:
            return line.feed
        line = _Line(source, make(source.name or "", self._clock.unix_ms))
        try:
            _listen(line, self._wake.set)
        except BaseException:
            _let_go(line)
            raise
        _take_in(line)
        with self._lock:
            self._opened[line.feed] = line
        return line.feed

    def forget(self, feed: Feed) -> None:
        """There will be no view of these rows, unless there is one already."""
        with self._lock:
            line = self._opened.pop(feed, None)
        if line is not None:
            _let_go(line)

    def add(self, source: TaskSource, feed: Feed, port: Port) -> Outlet:
        """Begins to serve a view.

        Args:
            source: The controller.
            feed: What ``feed_of`` gave for it.
            port: The widget.
        """
        outlet = Outlet(feed, port, self._clock.now)
        with self._lock:
            line = next((line for line in self._lines if line.feed is feed), None)
            if line is None:  # the last view before this one may have been closed meanwhile
                line = self._opened.pop(feed, None) or _Line(source, feed)
                self._lines.append(line)
            line.outlets.append(outlet)
            self._begin()
        self._wake.set()
        return outlet

    def hold(self) -> Callable[[], None]:
        """Keeps the thread for somebody who posts to it and has no view.

        Returns:
            The function that lets go. With the last view and the last hold the thread ends.
        """
        token = object()
        with self._lock:
            self._holds.add(token)
            self._begin()

        def let_go() -> None:
            # At the interpreter's end threads are frozen where they stand, maybe with the lock in their hands.
            if not sys.is_finalizing():
                with self._lock:
                    self._holds.discard(token)
                self.stop()

        return let_go

    def _begin(self) -> None:
        """Starts the thread; the lock is held."""
        if self._threaded and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="chongming-pump", daemon=True)
            self._thread.start()

    def remove(self, outlet: Outlet) -> None:
        """Ends serving a view; with the last one the thread ends."""
        with self._lock:
            for line in self._lines:
                if outlet in line.outlets:
                    line.outlets.remove(outlet)
            left = [line for line in self._lines if not line.outlets]
            self._lines = [line for line in self._lines if line.outlets]
        self.post(outlet.close)
        for line in left:
            self.post(lambda line=line: _let_go(line))  # type: ignore[misc]
        self.stop()

    def post(self, action: Callable[[], None]) -> None:
        """Has the pump's thread do something to an outlet. Never blocks.

        Args:
            action: Quick; it must not raise.
        """
        self._posts.append(action)
        self._wake.set()

    @property
    def now(self) -> float:
        """Seconds on the pump's monotonic clock."""
        return self._clock.now

    def stop(self, timeout: float = 5.0) -> None:
        """Ends the thread, unless there is a view or a hold. Those that come later start a new one.

        Args:
            timeout: Seconds to wait for a round that is under way.
        """
        with self._lock:
            if self._lines or self._holds:
                return
            thread, self._thread = self._thread, None
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        self._run_posts()

    # ---- the thread

    def _run(self) -> None:
        me = threading.current_thread()
        while self._thread is me:
            began = self._clock.now
            self._wake.clear()
            try:
                due = self.round()
            except Exception:  # the pump serves every view: one fault must not silence them all
                logger.exception("a round of the panel's publisher failed")
                due = began + 1.0
            if not self._wake.is_set():
                self._wake.wait(None if due is None else max(due - self._clock.now, 0.0))
            # Whatever woke us, a busy engine must not make this thread spin.
            rest = began + SHORTEST_ROUND - self._clock.now
            if rest > 0 and self._thread is me:
                time.sleep(rest)

    def round(self) -> float | None:
        """Takes in what was posted and changed, and sends what is due. Returns when the next round is due."""
        self._run_posts()
        with self._lock:
            lines = [(line, list(line.outlets)) for line in self._lines]
        due: list[float] = []
        for line, outlets in lines:
            _follow(line, _is_watched(outlets), self._wake.set)
            if _take_in(line) | _look(line):
                for outlet in outlets:
                    outlet.changed(self._clock.now)
            due += [at for outlet in outlets if (at := outlet.tick(self._clock)) is not None]
            if _is_watched(outlets):
                due.append(self._clock.now + LOOK_AFTER)
        return min(due, default=None)

    def _run_posts(self) -> None:
        while self._posts:
            self._posts.popleft()()


def _is_watched(outlets: Sequence[Outlet]) -> bool:
    return any(outlet.awake for outlet in outlets)


def _take_in(line: _Line) -> bool:
    """Drains the news; of several snapshots of a task the last one counts. Returns whether a row changed."""
    latest: dict[str, TaskSnapshot] = {}
    while line.news:
        latest.update((task.task_id, task) for task in line.news.popleft())
    return line.feed.absorb(latest.values())


def _look(line: _Line) -> bool:
    """Asks the source how it does. Returns whether that has changed."""
    health = line.source.health
    before, line.feed.trouble = line.feed.trouble, line.out_of_reach or (None if health.ok else str(health))
    return line.feed.trouble != before


def _follow(line: _Line, wanted: bool, wake: Callable[[], None]) -> None:
    """Listens to the controller while a view is awake, and only then."""
    if not wanted:
        _let_go(line)
    elif line.untap is None:
        line.untap = _nothing_to_undo
        try:
            _listen(line, wake)
        except Exception as error:  # a store out of reach, say: the views keep what they show, and say so
            if line.source.closed:
                line.news.append(_as_they_ended(line))
                return
            if line.out_of_reach is None:
                logger.warning("a view cannot follow its controller (%s), and tries again", type(error).__name__)
            line.out_of_reach = f"its store cannot be read: {str(error) or type(error).__name__}"
            line.untap()
            line.untap = None


def _listen(line: _Line, wake: Callable[[], None]) -> None:
    """Taps the source, and takes what it has. What is committed from now on comes after that: nothing is missed."""

    def hear(tasks: Sequence[TaskSnapshot]) -> None:
        if tasks:
            line.news.append(tasks)
            wake()

    line.untap = line.source.tap(hear)
    line.news.appendleft(line.source.list_tasks())
    line.out_of_reach = None


def _as_they_ended(line: _Line) -> list[TaskSnapshot]:
    """What a closed source still knows of the rows that had not ended when they were last seen."""
    found: list[TaskSnapshot] = []
    for task_id in line.feed.unfinished():
        try:
            found.append(line.source.get(task_id))
        except TaskError:  # somebody else's, and the store is closed as well
            continue
    return found


def _let_go(line: _Line) -> None:
    untap, line.untap = line.untap or _nothing_to_undo, None
    untap()
    line.news.clear()


def _nothing_to_undo() -> None:
    """Stands in for the end of a tap that could not be had."""


PUMP = Pump()
"""The pump of this process. It has no thread while there is no view."""
