"""The kernel around us, as far as the views must know it: is a cell running, and do clicks come through meanwhile?

They come through by one of two ways; without either they wait for the end of the cell, and the views say so.

- Subshells (ipykernel 7 with JupyterLab 4.4 or newer): messages of comms are handled on a thread of their own.
- A cell that waits for a task or a run serves them itself: see ``serving``.
"""

from __future__ import annotations

import inspect
import logging
import sys
import threading
import time
from typing import Any

from chongming_task.notebook.serving import Serving
from chongming_task.notebook.serving_line import line_of
from chongming_task.notebook.speaking import speaking_as_here
from chongming_task.runtime.hosting import live_in

__all__ = ["SHELL", "Shell", "hear_clicks_while_a_cell_runs"]

logger = logging.getLogger(__name__)

_CELL = "execute_request"


class Shell:
    """Whether the main shell runs a cell. Without IPython it never does.

    Subshells run their cells on threads of their own and trigger the same events: those are passed over. So does every
    message of a comm: one that comes in the midst of a cell neither begins nor ends anything.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watching: Any = None  # the InteractiveShell whose events we know
        self._current: tuple[str, str] | None = None  # the kind and the id of the message that is being handled
        self._idle_since = time.monotonic()

    @property
    def idle_since(self) -> float | None:
        """When the last cell ended (monotonic seconds); None while one runs."""
        return self._idle_since if self._current is None else None

    @property
    def busy(self) -> bool:
        """Whether a cell runs."""
        return self._current is not None

    def watch(self) -> None:
        """Begins to follow the cells of this kernel. Called from a cell: one runs now, unless a subshell calls."""
        ipython = _ipython()
        with self._lock:
            if ipython is None or ipython is self._watching:
                return
            self._watching = ipython
            self._current = self._in_hand() if _on_main_thread() else None
        ipython.events.register("pre_execute", self._began)
        ipython.events.register("post_execute", self._ended)
        self._have_waits_serve(getattr(ipython, "kernel", None))

    def _have_waits_serve(self, kernel: Any) -> None:
        line = line_of(kernel)
        if line is None:
            return

        def begin() -> None:
            live_in(Serving(line, lambda: self.busy))

        if _on_main_thread():
            begin()
        else:
            line.loop.call_soon_threadsafe(begin)

    def _began(self) -> None:
        if not _on_main_thread():
            return
        began = self._in_hand()
        if began[0] == _CELL or self._current is None or self._current[0] != _CELL:
            self._current = began

    def _ended(self) -> None:
        ended = self._in_hand()
        if _on_main_thread() and (ended[0] == _CELL or ended == self._current):
            self._current = None
            self._idle_since = time.monotonic()

    def _in_hand(self) -> tuple[str, str]:
        """The kind and the id of the message that the main shell handles. In a terminal there is but one cell."""
        kernel = getattr(self._watching, "kernel", None)
        header = {} if kernel is None else kernel.get_parent("shell").get("header", {})
        return str(header.get("msg_type", _CELL)), str(header.get("msg_id", ""))


SHELL = Shell()
"""The one shell of this process."""


def _on_main_thread() -> bool:
    """Whether this is the thread of the main shell: ipykernel runs it on the process's main thread."""
    return threading.current_thread() is threading.main_thread()


def _ipython() -> Any:
    """The running InteractiveShell, or None. IPython is not imported for it: whoever runs in it has done so."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def hear_clicks_while_a_cell_runs(comm: Any) -> None:
    """Keeps a widget in touch with its views while a cell runs, on those kernels that would not do it by themselves.

    What is used for it is private to ipykernel: nothing is done where it is missing or looks different.

    Args:
        comm: The widget's comm, which has just been made.
    """
    _let_the_front_end_choose(comm)
    _speak_from_any_thread(comm)


def _let_the_front_end_choose(comm: Any) -> None:
    """ipykernel 7.4 hands what a comm gets to the shell that last published on it: the busy one, if a cell made it.

    The front end says which subshell it wants, as other kernels understand it: this keeps to it.
    """
    route = getattr(comm, "_reply_subshell_for", None)
    if not callable(route):
        return
    try:
        inspect.signature(route).bind({}, None)
    except (TypeError, ValueError):
        logger.debug("this ipykernel routes messages in another way; clicks may wait for a cell to end")
        return
    comm._reply_subshell_for = lambda data, default: default


def _speak_from_any_thread(comm: Any) -> None:
    """Where the kernel must know which cell a message belongs to, it is the one that makes the widget now."""
    publish = getattr(comm, "publish_msg", None)
    if publish is None or getattr(_ipython(), "kernel", None) is None:
        return
    speak = speaking_as_here()
    comm.publish_msg = lambda *args, **kwargs: speak(lambda: publish(*args, **kwargs))
