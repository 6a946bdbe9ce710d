"""What a panel is asked that may take a while: reading a store, setting a status by hand. One thread for each panel.

A comm handler must not wait, and neither must the thread that serves all views; so what waits, waits here. The thread
touches no widget: what it found is posted to the pump.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

__all__ = ["Errands"]

logger = logging.getLogger(__name__)

MOST_WAITING = 16


class Errands:
    """A short queue and a thread, which begins with the first errand and ends with ``close``."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def post(self, errand: Callable[[], None]) -> bool:
        """Takes an errand; never waits. False when too many wait already.

        Args:
            errand: Must not raise.
        """
        with self._wake:
            if self._closed or len(self._waiting) >= MOST_WAITING:
                return False
            self._waiting.append(errand)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="chongming-errands", daemon=True)
                self._thread.start()
            self._wake.notify()
            return True

    def close(self, timeout: float = 5.0) -> None:
        """Forgets what waits and ends the thread.

        Args:
            timeout: Seconds to wait for the errand that is under way.
        """
        with self._wake:
            self._closed = True
            self._waiting.clear()
            thread = self._thread
            self._wake.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self) -> None:
        while (errand := self._next()) is not None:
            try:
                errand()
            except Exception:  # one fault must not end the others
                logger.exception("an errand of the panel failed")

    def _next(self) -> Callable[[], None] | None:
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._closed)
            return None if self._closed else self._waiting.popleft()
