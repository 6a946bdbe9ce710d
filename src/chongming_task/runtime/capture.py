"""Sends what tasks print and log to their own output, and leaves everybody else's alone.

While a controller that captures is open, a router stands in the place of ``sys.stdout`` and of ``sys.stderr``. It looks
which task runs in the writing thread: a task's text goes to that task, all other text passes through unchanged.

Others put streams of their own there, too: pytest, IPython's ``%%capture``, ``contextlib.redirect_stdout``. So a router
takes the text of those attempts only that began after it was put in place. What a task has redirected itself goes where
it wants it; and an attempt that begins while somebody else's stream is in place gets a router before that one, which
passes through to it.

Log records are taken where ``logging`` hands them to handlers: a handler could not tell those of loggers that do not
propagate, and what console handlers then print would be taken for output once more.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token
from typing import Any

from chongming_task.runtime.context import TaskContext, running_context
from chongming_task.runtime.task_log import fields_of, text_of

__all__ = ["begin_attempt", "end_attempt", "start", "stop"]

_captured: ContextVar[TaskContext | None] = ContextVar("chongming_task_captured", default=None)
"""The attempt whose text is taken; None outside of one, and while a log handler writes in it."""

_writing = _captured.get
_in_cover: ContextVar[bool] = ContextVar("chongming_task_in_cover", default=False)


class _Nowhere:
    """Where text goes in a process without a console."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing is held."""

    def isatty(self) -> bool:
        return False


class _Router:
    """Stands in the place of a standard stream.

    Args:
        name: ``"stdout"`` or ``"stderr"``.
        stream: What stood there.
        since: Which attempts it takes the text of: those that began since.
    """

    __slots__ = ("_cover", "_name", "_since", "_stream")

    _cover: Callable[[str], Any] | None  # what somebody has set as our `write`
    _name: str
    _since: int
    _stream: Any

    def __init__(self, name: str, stream: Any, since: int) -> None:
        put = super().__setattr__
        put("_cover", None)
        put("_name", name)
        put("_since", since)
        put("_stream", _Nowhere() if stream is None else stream)

    def _taken(self) -> TaskContext | None:
        """The attempt that writes, if its text is taken here."""
        context = _writing()
        return context if context is not None and context._captured_since >= self._since else None

    def write(self, text: str) -> int:
        """Take a task's text, or pass it through."""
        context = _writing()  # as _taken does: print() comes here twice a line, a call less is felt
        if context is None or context._captured_since < self._since:
            return self._pass_through(text)
        if self._cover is not None and _in_cover.get():  # echoed, and here again on its way out
            return self._pass_through(text)
        if type(text) is not str:
            text = _exactly_text(text)
        if context._echoes:
            self._pass_through(text)
        return (context._write_output or context._write_first)(self._name, text)

    def _pass_through(self, text: str) -> int:
        """Write to what stood here; by way of whoever has covered our ``write``, and calls it in turn."""
        cover = self._cover
        if cover is None or _in_cover.get():
            return int(self._stream.write(text) or 0)  # some streams return None
        mark = _in_cover.set(True)
        try:
            return int(cover(text) or 0)
        finally:
            _in_cover.reset(mark)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them one after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Nothing is held here; what stands behind may hold something."""
        context = self._taken()
        if context is None or context._echoes:
            self._stream.flush()

    def isatty(self) -> bool:
        """A task's output is no terminal."""
        return self._taken() is None and bool(self._stream.isatty())

    @property
    def buffer(self) -> Any:
        """For bytes: the buffer of what stood there, or a task's."""
        return self._stream.buffer if self._taken() is None else _Bytes(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """What is set is meant for what stood here. IPython covers ``write`` while a cell runs, to remember what the
        cell shows: the text of tasks is none of that."""
        if name == "write":
            super().__setattr__("_cover", None if value == self.write else value)
        else:
            setattr(self._stream, name, value)

    def __repr__(self) -> str:
        return f"<{self._name} of tasks, before {self._stream!r}>"


class _Bytes:
    """The ``buffer`` of a task's stream: bytes are taken as text."""

    def __init__(self, router: _Router) -> None:
        self._router = router

    def write(self, data: bytes) -> int:
        self._router.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        self._router.flush()


def _exactly_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"write() argument must be str, not {type(text).__name__}")
    return str.__str__(text)


class _Capture:
    """What stands in place in this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0  # open controllers that capture
        self.generation = 0  # counts the routers put in place
        self.stdout: object = None
        self.stderr: object = None
        self.call_handlers: Callable[[logging.Logger, logging.LogRecord], None] = logging.Logger.callHandlers
        self.hooked = False  # into logging, though somebody else may have hooked in before us

    def hook_in(self) -> None:
        """Have logging call us; once only, else we would call ourselves, or somebody who calls us."""
        if not self.hooked and logging.Logger.callHandlers is not _call_handlers:
            self.call_handlers = logging.Logger.callHandlers
            logging.Logger.callHandlers = _call_handlers  # type: ignore[assignment,method-assign]
        self.hooked = True

    def hook_out(self) -> None:
        """Leave logging as it was; where somebody has covered us, we stay and pass everything through."""
        if logging.Logger.callHandlers is _call_handlers:
            logging.Logger.callHandlers, self.hooked = self.call_handlers, False  # type: ignore[assignment,method-assign]

    def put_in_place(self) -> None:
        """Put routers where there are none."""
        with self.lock:
            if self.users:
                self.stdout, self.stderr = self._route("stdout"), self._route("stderr")

    def _route(self, name: str) -> object:
        stream = getattr(sys, name)
        if not isinstance(stream, _Router):
            self.generation += 1
            stream = _Router(name, stream, self.generation)
            setattr(sys, name, stream)
        return stream

    def take_out(self) -> None:
        """Put back what stood there; a router that somebody else has covered stays, and passes everything through."""
        for name in ("stdout", "stderr"):
            router = getattr(sys, name)
            if isinstance(router, _Router):
                setattr(sys, name, None if isinstance(router._stream, _Nowhere) else router._stream)
        self.stdout = self.stderr = None


_capture = _Capture()


def start() -> None:
    """Begin to capture, on behalf of one controller (or of a worker process)."""
    with _capture.lock:
        _capture.users += 1
        _capture.put_in_place()
        _capture.hook_in()


def stop() -> None:
    """Capture no longer, on behalf of one controller; with the last one everything is as it was."""
    with _capture.lock:
        _capture.users -= 1
        if not _capture.users:
            _capture.take_out()
            _capture.hook_out()


def begin_attempt(context: TaskContext) -> Token[TaskContext | None] | None:
    """Take what this attempt writes in this thread from now on, if anybody captures in this process.

    Returns:
        What ``end_attempt`` wants.
    """
    if not _capture.users:
        return None
    if sys.stdout is not _capture.stdout or sys.stderr is not _capture.stderr:
        _capture.put_in_place()
    context._captured_since = _capture.generation
    return _captured.set(context)


def end_attempt(context: TaskContext, mark: Token[TaskContext | None] | None) -> None:
    """The attempt is over: hand over what it wrote last."""
    if mark is not None:
        _captured.reset(mark)
    context._close_output()


def _call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
    """In the place of ``Logger.callHandlers``: a task's record is told whose it is, goes to the task's output, and then
    to the handlers."""
    task = running_context.get()
    if task is not None:
        for name, value in fields_of(task).items():
            record.__dict__.setdefault(name, value)
    context = _writing()
    if context is None:
        _capture.call_handlers(logger, record)
        return
    (context._write_output or context._write_first)("log", text_of(record), record.levelno)
    if not context._echoes and not logger.hasHandlers():
        return  # logging would print it on stderr, for want of a handler: it has been heard
    mark = _captured.set(None)  # what handlers print is not the task's
    try:
        _capture.call_handlers(logger, record)
    finally:
        _captured.reset(mark)
