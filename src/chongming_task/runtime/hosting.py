"""How a thread waits for a state where something else may want it meanwhile: a notebook's kernel, say.

Without a host a wait is that of the standard library. A host is told here, by who knows it; this layer knows none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

__all__ = ["Host", "Notice", "awaiting", "block", "live_in"]


class Notice(threading.Event):
    """What a caller waits by for a state that may be long in coming. It can tell one listener that it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._listener: Callable[[], None] | None = None

    def tell(self, listener: Callable[[], None] | None) -> None:
        """Have ``listener`` called when it is set, from the thread that sets it; None: nobody any more.

        Whoever looks at ``is_set`` afterwards misses nothing.
        """
        self._listener = listener

    def set(self) -> None:
        """Set it, and tell."""
        super().set()
        listener = self._listener
        if listener is not None:
            listener()


class Host(Protocol):
    """What surrounds the threads that wait."""

    def block(self, notice: Notice, seconds: float | None, /) -> bool:
        """Wait until the notice is set, on any thread; False when the time ran out first."""
        ...

    def awaiting(self) -> AbstractContextManager[object]:
        """Lasts while a coroutine awaits a state, in any event loop."""
        ...


_host: Host | None = None


def live_in(host: Host | None) -> None:
    """Have every wait of this process go through the host; None: through none any more."""
    global _host  # noqa: PLW0603 - a process has one
    _host = host


def block(notice: Notice, seconds: float | None) -> bool:
    """Wait until the notice is set; False when the time ran out first."""
    host = _host
    return notice.wait(seconds) if host is None else host.block(notice, seconds)


def awaiting() -> AbstractContextManager[object]:
    """Lasts while a coroutine awaits a state."""
    host = _host
    return nullcontext() if host is None else host.awaiting()
