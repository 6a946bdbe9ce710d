"""Tells views what changes in a store: one thread, as long as somebody listens. A store that is away is waited for."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from chongming_task.api.attach_following import Course, standing
from chongming_task.core.ports import Clock, TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.errors import StoreError
from chongming_task.runtime.ownership import Watchers

__all__ = ["Following", "Telling"]

_logger = logging.getLogger("chongming_task.store")
_LOOK_SECONDS = 1.0  # so long a dead controller can go unseen while the store does not change
_REST_SECONDS = 0.1  # between two looks, however busy the store is
_REST_SHARE = 4  # and so many times as long as a look takes
_AWAY_SECONDS = 1.0  # between two tries to reach a store that is away

Tap = Callable[[Sequence[TaskSnapshot]], None]


class Following(NamedTuple):
    """Whether a store can be followed. As text: one sentence for a log or a panel."""

    ok: bool
    at: datetime  # when this was found
    failing_since: datetime | None = None  # what is shown is as of then
    last_failure: str | None = None  # also when it is over

    def __str__(self) -> str:
        if self.failing_since is None:
            return "no trouble with the store is known"
        return f"the store cannot be reached since {self.failing_since:%Y-%m-%d %H:%M:%S} UTC ({self.last_failure})"


class Telling:
    """Those who listen to a store, and the thread that tells them.

    Args:
        store: What is followed.
        clock: Time.
    """

    def __init__(self, store: TaskStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()  # guards the taps and the thread
        self._taps: tuple[Tap, ...] = ()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()  # for the thread that is there
        self._course: Course | None = None  # None: the store is away, and when it is back everything is told
        self._away_since: datetime | None = None
        self._last_failure: str | None = None

    def tap(self, tap: Tap) -> Callable[[], None]:
        """Tell somebody of what changes from now on; also of a store that is away, as soon as it is back.

        Returns:
            The function that ends it.
        """
        mine = _Listener(tap)
        with self._lock:
            self._taps += (mine,)
            if self._thread is None:
                self._begin()
        return lambda: self._untap(mine)

    def _begin(self) -> None:
        try:
            self._course = Course(self._store, self._clock)
        except StoreError as error:
            self._lost(error)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._ended,), name="chongming-attached", daemon=True)
        self._thread.start()

    def _untap(self, tap: Tap) -> None:
        with self._lock:
            self._taps = tuple(each for each in self._taps if each is not tap)
            if not self._taps:
                self._end()

    def _end(self) -> threading.Thread | None:
        thread, self._thread, self._course, self._taps = self._thread, None, None, ()
        self._ended.set()
        return thread

    def stop(self) -> Callable[[], None]:
        """Tell nobody any more.

        Returns:
            What waits for the thread; it ends at once when the store is closed before.
        """
        with self._lock:
            thread = self._end()

        def join() -> None:
            if thread is not None and thread is not threading.current_thread():
                thread.join(_LOOK_SECONDS * 2)

        return join

    def shown(self, tasks: Sequence[TaskSnapshot]) -> list[TaskSnapshot]:
        """Records of the store as they stand; what changes of them without a transition is followed from now on."""
        course = self._course
        if course is not None:
            course.note(tasks)
        return standing(tasks, Watchers(self._store.owner_leases(), self._clock.now()))

    @property
    def health(self) -> Following:
        """Whether the store can be followed."""
        since = self._away_since
        return Following(since is None, self._clock.now(), since, self._last_failure)

    # the thread

    def _run(self, ended: threading.Event) -> None:
        while not ended.is_set():
            began = time.monotonic()
            try:
                mark = self._look(ended)
                rest = max(_REST_SECONDS, _REST_SHARE * (time.monotonic() - began))
                if not ended.wait(rest):
                    self._store.wait_for_change(_LOOK_SECONDS, mark)
            except Exception as error:  # whatever the store raises: it is waited for, and this is told once
                if not ended.is_set():
                    self._lost(error)
                    ended.wait(_AWAY_SECONDS)

    def _look(self, ended: threading.Event) -> int:
        course = self._course
        if ended.is_set():  # that course may be another thread's already
            return 0
        if course is None:
            course = Course(self._store, self._clock)
            with self._lock:
                if not ended.is_set():
                    self._course = course
            news = self.shown(self._store.query(TaskQuery()))
        else:
            news = course.look()
        self._away_since = None
        self._tell(news, ended)
        return course.mark

    def _tell(self, news: Sequence[TaskSnapshot], ended: threading.Event) -> None:
        if not news:
            return
        for tap in self._taps if not ended.is_set() else ():
            try:
                tap(news)
            except Exception:  # a broken view must not silence the others
                _logger.exception("a view of an attached store raised")

    def _lost(self, error: Exception) -> None:
        self._course = None
        self._last_failure = f"{type(error).__name__}: {error}"
        if self._away_since is None:
            self._away_since = self._clock.now()
            _logger.warning("the store is not followed until it can be reached again: %s", error)


class _Listener:
    """One tap, also of a callback that taps twice."""

    def __init__(self, callback: Tap) -> None:
        self._callback = callback

    def __call__(self, tasks: Sequence[TaskSnapshot]) -> None:
        self._callback(tasks)
