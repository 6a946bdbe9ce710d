"""The kernel around us, as far as the views must know it: is a cell running, and do clicks come through meanwhile?"""

from __future__ import annotations

import threading
import time
from typing import Any

__all__ = ["SHELL", "Shell", "hear_clicks_while_a_cell_runs"]


class Shell:
    """Whether the main shell runs a cell. Without IPython it never does.

    Subshells run their cells on threads of their own and trigger the same events: those are passed over.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watching: Any = None  # the InteractiveShell whose events we know
        self._busy = False
        self._idle_since = time.monotonic()

    @property
    def idle_since(self) -> float | None:
        """When the last cell ended (monotonic seconds); None while one runs."""
        return None if self._busy else self._idle_since

    def watch(self) -> None:
        """Begins to follow the cells of this kernel. Called from a cell: one runs now, unless a subshell calls."""
        ipython = _ipython()
        with self._lock:
            if ipython is None or ipython is self._watching:
                return
            self._watching = ipython
            self._busy = _on_main_thread()
        ipython.events.register("pre_execute", self._began)
        ipython.events.register("post_execute", self._ended)

    def _began(self) -> None:
        if _on_main_thread():
            self._busy = True

    def _ended(self) -> None:
        if _on_main_thread():
            self._busy = False
            self._idle_since = time.monotonic()


SHELL = Shell()
"""The one shell of this process."""


def _on_main_thread() -> bool:
    """Whether this is the thread of the main shell: ipykernel runs it on the process's main thread."""
    return threading.current_thread() is threading.main_thread()


def _ipython() -> Any:
    """The running InteractiveShell, or None. IPython is not imported for it: whoever runs in it has done so."""
    import sys

    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def hear_clicks_while_a_cell_runs(comm: Any) -> None:
    """Lets clicks through on ipykernel 7.4, which hands them to the shell that last published on the comm.

    That is the busy one whenever a cell made the panel. The front end says which subshell it wants; this keeps to it.
    The hook is private to ipykernel, so nothing is done where it is missing or looks different.

    Args:
        comm: A widget's comm.
    """
    if callable(getattr(comm, "_reply_subshell_for", None)):
        comm._reply_subshell_for = lambda data, default: default
