"""The thread that links a worker to the engine: stop and pause go in, checkpoints and progress come out.

The fast path of a checkpoint is one attribute read and one clock read; it takes no lock. Only a worker that is told
something takes the lock, and only then can it wait.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from functools import partial

from chongming_task.core.effects import StopReason
from chongming_task.core.ports import Deliver, ProgressReported
from chongming_task.core.records import Progress
from chongming_task.core.text import NAME_LIMIT, clean
from chongming_task.core.triggers import Held
from chongming_task.errors import ConfigurationError, TaskCancelled

__all__ = ["WAIT_SECONDS", "CancellationToken"]

_PROGRESS_SECONDS = 0.5  # at least this often while the numbers move
_PROGRESS_STEPS = 100  # and with every hundredth of the way
WAIT_SECONDS = 0.5  # a sleeping task still passes a checkpoint this often


def _plain(value: float) -> float:
    """A number of any library as one of Python's own, made where the task can be told that it is none."""
    if type(value) is int or type(value) is float:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f'progress takes numbers, got {value!r:.50}; words go into message=: progress(3, 10, message="half")'
        ) from None


def _finite(value: float | None) -> float | None:
    """A number as it is; None for NaN, infinities and whole numbers beyond any float."""
    try:
        return value if value is not None and math.isfinite(value) else None
    except OverflowError:
        return None


def _next_step(done: float, total: float | None) -> float:
    """Where the next hundredth of the way ends; infinity when it is unknown how long that is, or behind."""
    try:
        return done + total / _PROGRESS_STEPS if total is not None and done < total else math.inf
    except OverflowError:
        return math.inf


class CancellationToken:
    """One attempt's line to the engine.

    The engine side calls ``stop``, ``pause``, ``resume``; the worker side ``checkpoint`` and ``report``. A stop is
    sticky: every checkpoint after it raises again.

    Args:
        attempt: The attempt's number; it marks every report.
        deliver: Takes reports to the engine.
        monotonic: Seconds on a monotonic clock, the one the engine uses.
    """

    __slots__ = (
        "_asked",
        "_deliver",
        "_done",
        "_gate",
        "_held_seconds",
        "_held_since",
        "_holding",
        "_lock",
        "_message",
        "_next_done",
        "_next_report",
        "_pause",
        "_total",
        "_unit",
        "_wakers",
        "attempt",
        "last_checkpoint",
        "monotonic",
        "stop_reason",
    )

    def __init__(self, attempt: int, deliver: Deliver, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.attempt = attempt
        self.last_checkpoint: float | None = None
        self.stop_reason: StopReason | None = None
        self._deliver = deliver
        self.monotonic = monotonic
        self._asked = False  # anything at all; what the fast path looks at
        self._pause: int | None = None  # the request to pause that stands
        self._lock = threading.Lock()
        self._gate: threading.Condition | None = None  # where the worker waits; made when it first does
        self._wakers: tuple[Callable[[], None], ...] = ()  # the same for coroutines; called at every word of the engine
        self._holding = 0  # threads and coroutines that wait for the end of a pause
        self._held_since = 0.0  # while there are any
        self._held_seconds = 0.0  # in earlier pauses
        self._done: float | None = None
        self._total: float | None = None
        self._unit: str | None = None
        self._message: str | None = None
        self._next_done = float("-inf")
        self._next_report = 0.0

    # engine side

    def stop(self, reason: StopReason) -> None:
        """Raise TaskCancelled at the next checkpoint and at every one after it; wakes a held worker."""
        with self._lock:
            self.stop_reason = reason
            self._asked = True
            self._open_gate()

    def pause(self, request: int) -> None:
        """Hold the worker at its next checkpoint, until ``resume`` or ``stop``."""
        with self._lock:
            self._pause = request
            self._asked = True
            self._open_gate()

    def resume(self) -> None:
        """Let a held worker go on, or withdraw a pause that has not come true."""
        with self._lock:
            self._pause = None
            self._asked = self.stop_reason is not None
            self._open_gate()

    def _open_gate(self) -> None:
        if self._gate is not None:
            self._gate.notify_all()
        for wake in self._wakers:
            wake()

    @property
    def held_seconds(self) -> float:
        """How long the worker has been held so far."""
        with self._lock:
            return self._held_seconds + (self.monotonic() - self._held_since if self._holding else 0.0)

    @property
    def progress(self) -> Progress | None:
        """What the worker last reported, made safe to store; None when it never did."""
        if self._next_report == 0.0:
            return None
        unit, message = self._unit, self._message
        return Progress(
            _finite(self._done),
            _finite(self._total),
            None if unit is None else clean(unit, NAME_LIMIT),
            None if message is None else clean(message, NAME_LIMIT),
        )

    # worker side

    @property
    def checkpoint(self) -> Callable[[], None]:
        """The function to call at a checkpoint: it passes, waits while paused, or raises TaskCancelled."""
        clock = self.monotonic
        return self._checkpoint if clock is time.monotonic else partial(self._checkpoint, clock)

    def _checkpoint(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Pass at once, wait here while the task is paused, or raise TaskCancelled when it was asked to stop."""
        # The clock is a default argument because that is the quickest of all ways to reach it: this runs in every
        # loop of every task.
        self.last_checkpoint = clock()
        if self._asked:
            self._obey()

    def _obey(self) -> None:
        with self._lock:
            while (request := self._begin_hold()) is not None:
                try:
                    while self.holds(request):
                        self._wait_at_gate(None)
                finally:
                    self._end_hold()
            if self.stop_reason is not None:
                raise TaskCancelled(f"asked to stop: {self.stop_reason}")
        self.last_checkpoint = self.monotonic()

    def _begin_hold(self) -> int | None:
        """Say that the worker is held, if it is asked to: the request it is held for. Under the lock."""
        request = self._pause
        if request is None or self.stop_reason is not None:
            return None
        if not self._holding:
            self._held_since = self.monotonic()
        self._holding += 1
        self._deliver(Held(self.attempt, request))
        return request

    def _end_hold(self) -> None:
        self._holding -= 1
        if not self._holding:
            self._held_seconds += max(self.monotonic() - self._held_since, 0.0)

    def holds(self, request: int) -> bool:
        """Whether that request to pause still stands."""
        return self._pause == request and self.stop_reason is None

    # the worker side of coroutines: the same, waiting left to the loop; see runtime.awaiting

    def pass_by(self) -> bool:
        """Note a checkpoint; whether anything is asked."""
        self.last_checkpoint = self.monotonic()
        return self._asked

    @property
    def asked(self) -> bool:
        """Whether the engine wants anything."""
        return self._asked

    def listen(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called at every word of the engine, from its thread; it must not block."""
        with self._lock:
            self._wakers += (wake,)

    def unlisten(self, wake: Callable[[], None]) -> None:
        """Call it no longer; no call is under way once this returns."""
        with self._lock:
            self._wakers = tuple(each for each in self._wakers if each is not wake)

    def begin_hold(self) -> int | None:
        """Say that a coroutine is held, if it is asked to: the request it is held for."""
        with self._lock:
            return self._begin_hold()

    def end_hold(self) -> None:
        """It is held no longer."""
        with self._lock:
            self._end_hold()

    def _wait_at_gate(self, seconds: float | None) -> None:
        """Wait until the engine says something, or for so long. Holds the lock before and after."""
        if self._gate is None:
            self._gate = threading.Condition(self._lock)
        self._gate.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Sleep with checkpoints: obeys a stop at once, and a pause; time spent paused does not count.

        Raises:
            TaskCancelled: When the attempt was asked to stop.
        """
        left, checkpoint = seconds, self.checkpoint
        while True:
            checkpoint()
            if left <= 0:
                return
            began = self.monotonic()
            nap = min(left, WAIT_SECONDS)
            self.last_checkpoint = began + nap  # a sleeper hears at once, so it is as good as at a checkpoint till then
            with self._lock:
                if not self._asked:
                    self._wait_at_gate(nap)
            left -= self.monotonic() - began

    def report(self, done: float | None, total: float | None, unit: str | None, message: str | None) -> None:
        """Note the progress; tell the engine when it is news: throttled by time and by share of the way."""
        if done is not None:
            self._done = done = _plain(done)
        if total is not None:
            self._total = _plain(total)
        if unit is not None:
            self._unit = str(unit)
        if message is not None:
            self._message = str(message)
        now = self.monotonic()
        if now >= self._next_report or (done is not None and done >= self._next_done):
            self._next_report = now + _PROGRESS_SECONDS
            if done is not None:
                self._next_done = _next_step(done, self._total)
            self._deliver(ProgressReported(self.attempt))
