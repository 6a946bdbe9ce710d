"""The interrupt button (Ctrl-C) while a cell waits and serves: it ends the wait, and no message is lost by it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Self

__all__ = ["HeldInterrupts"]


class HeldInterrupts:
    """Holds an interrupt that comes within the block, until its end; it is raised there. On the main thread only.

    Raised anywhere else it could lose a message that was just read, or be swallowed: destructors in zmq and callbacks
    in IPython do that.

    Args:
        wake: Called when one comes.
    """

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._came: list[tuple[int, Any]] = []
        self._before: Any = None

    @property
    def came(self) -> bool:
        """Whether there was one: who is in the block should come to its end."""
        return bool(self._came)

    def __enter__(self) -> Self:
        self._before = signal.getsignal(signal.SIGINT)
        self._handle_by(self._hold)
        return self

    def _handle_by(self, handler: Any) -> None:
        if self._before is not None:  # or else somebody handles them who is not of Python
            signal.signal(signal.SIGINT, handler)

    def _hold(self, number: int, frame: Any) -> None:
        if callable(self._before):  # an idle kernel ignores them
            self._came.append((number, frame))
            self._wake()

    @contextmanager
    def let_through(self) -> Generator[None]:
        """For code of the user's, which must not be waited for. What it swallows is raised at the end all the same."""
        self._handle_by(self._pass_on)
        try:
            yield
        finally:
            self._handle_by(self._hold)

    def _pass_on(self, number: int, frame: Any) -> None:
        self._hold(number, frame)
        if self._came:
            self._before(number, frame)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._handle_by(self._before)
        if kind is None and self._came:
            self._before(*self._came[0])
