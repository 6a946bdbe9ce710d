"""Who makes the engine tick: a thread of its own, or the caller, by hand."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from chongming_task.errors import StoreError
from chongming_task.runtime.aside import Aside, at_once
from chongming_task.runtime.engine import Engine
from chongming_task.runtime.hosting import Notice, block
from chongming_task.runtime.steward import Steward

__all__ = ["Driver", "ManualDriver", "ThreadDriver"]

_logger = logging.getLogger("chongming_task.engine")
_LAST_SECONDS = 3.0  # a store that fails at the end has so long to come back


class Driver(Protocol):
    """Makes the engine tick, and waits for what ticks bring."""

    @property
    def aside(self) -> Callable[[Callable[[], None]], None]:
        """Runs a caller's code beside the engine."""
        ...

    def start(self, engine: Engine) -> None:
        """Begin to drive."""
        ...

    def serve(self, steward: Steward) -> None:
        """Let a steward do its work as well, until it is closed."""
        ...

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Wait until the event is set; False when the time ran out first. A Notice may be long in coming."""
        ...

    def stop(self, timeout: float = 5.0) -> None:
        """Stop driving; what is in the inbox is still handled."""
        ...


class ThreadDriver:
    """One daemon thread. Sleeps until a message comes or a timer is due; polls nothing."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._engine: Engine | None = None
        self._stopping = False
        self._over = False  # nothing that is posted from now on is sure to be handled
        self._aside = Aside()

    @property
    def aside(self) -> Callable[[Callable[[], None]], None]:
        """A few threads of its own."""
        return self._aside

    def start(self, engine: Engine) -> None:
        """Begin to drive."""
        self._engine = engine
        self._thread = threading.Thread(target=self._run, args=(engine,), name="chongming-engine", daemon=True)
        self._thread.start()

    def serve(self, steward: Steward) -> None:
        """Give the steward a thread of its own."""
        steward.start()

    def _run(self, engine: Engine) -> None:
        while not self._stopping:
            self._tick(engine, None)
        self._over = True
        while self._tick(engine, 0.0):
            pass
        self._settle(engine)

    def _settle(self, engine: Engine) -> None:
        """Store what is left; a store that is just coming back is waited for."""
        monotonic = engine.clock.monotonic
        patience = monotonic() + _LAST_SECONDS
        while (again := engine.try_again()) is not None and again < patience:
            time.sleep(max(again - monotonic(), 0.0))
        engine.flush()

    def _tick(self, engine: Engine, timeout: float | None) -> bool:
        try:
            return engine.tick(timeout)
        except Exception:  # the engine must not die: a record it cannot handle is one record
            _logger.exception("a tick failed")
            return False

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Wait until the event is set; False when the time ran out first, or nobody is left to set it.

        Raises:
            RuntimeError: On the engine's thread, which would wait for itself: for ever, and everybody with it.
        """
        patience = None if timeout is None else min(timeout, threading.TIMEOUT_MAX)
        if self._thread is threading.current_thread() and not event.is_set():
            raise RuntimeError("the engine's thread cannot wait for the engine: do this in a thread of your own")
        thread = self._thread
        if not self._over and (thread is None or thread.is_alive()):  # it is not, in a forked child
            return block(event, patience) if isinstance(event, Notice) else event.wait(patience)
        if thread is not None and thread is not threading.current_thread():
            thread.join(patience)
        return event.is_set()

    def stop(self, timeout: float = 5.0) -> None:
        """Handle what is in the inbox, and end the thread."""
        thread, engine = self._thread, self._engine
        if thread is None or engine is None:
            return
        engine.call(self._stop)
        self._aside.close()
        if thread is not threading.current_thread():
            thread.join(timeout)

    def _stop(self) -> None:
        self._stopping = True


class ManualDriver:
    """Ticks in the calling thread, whenever somebody waits: for tests and simulations, where nothing moves by itself.

    Args:
        idle: Called when a waiter is not satisfied and nothing is left to do; it may advance a fake clock or finish an
            attempt, and returns whether it did anything. Without it such a wait ends at once, as if time had run out.

    Example:
        >>> from chongming_task import Controller
        >>> from chongming_task.testing import ManualExecutor
        >>> driver = ManualDriver()
        >>> controller = Controller(executor=ManualExecutor(), driver=driver)
        >>> handle = controller.submit(pow, 2, 10)
        >>> driver.settle()
        >>> handle.status.value  # nothing moves by itself
        'starting'
        >>> _ = controller.close()
    """

    def __init__(self, idle: Callable[[], bool] | None = None) -> None:
        self._engine: Engine | None = None
        self._steward: Steward | None = None
        self._turning = False
        self._idle = idle
        self.aside: Callable[[Callable[[], None]], None] = at_once

    def start(self, engine: Engine) -> None:
        """Begin to drive.

        Args:
            engine: The controller's.
        """
        self._engine = engine

    def serve(self, steward: Steward) -> None:
        """Let the steward turn whenever the engine has nothing to do.

        Args:
            steward: The controller's.
        """
        self._steward = steward

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Tick until the event is set or nothing moves any more.

        Args:
            event: What is waited for.
            timeout: Seconds; nothing passes them here, so they do not matter.

        Returns:
            Whether it is set.
        """
        while not event.is_set():
            if not self._move() and not (self._idle is not None and self._idle()):
                return event.is_set()
        return True

    def settle(self) -> None:
        """Tick until there is nothing left to do now."""
        while self._move():
            pass

    def _move(self) -> bool:
        return self._engine is not None and (self._engine.tick() or self._turn())

    def _turn(self) -> bool:
        if self._steward is None or self._turning:  # what it takes in may wait for the engine, which is us
            return False
        self._turning = True
        try:
            return self._steward.turn()
        except StoreError:  # as with a thread of its own: it tries again
            return False
        finally:
            self._turning = False

    def stop(self, timeout: float = 5.0) -> None:
        """Handle what is in the inbox.

        Args:
            timeout: Seconds; nothing takes long here.
        """
        self.settle()
        if self._engine is not None:
            self._engine.flush()
