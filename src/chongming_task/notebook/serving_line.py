"""The line on which ipykernel's main shell gets its messages, and how one of them is handled out of its turn.

All that is known here of ipykernel's inside, from 6.29 on. Kernels differ in where messages wait for their turn:

=============== ======================= ================================================================================
ipykernel       the line                a message's turn
=============== ======================= ================================================================================
6, 7 (no        the shell socket        the kernel's own queue
subshells)
7.0 to 7.3      from the shell          the main shell's lock, also while a cell awaits
                channel's thread
from 7.4 on     the same                the same, but that of a comm comes at once while a cell awaits
=============== ======================= ================================================================================

A kernel that lacks any of this is left alone: ``line_of`` returns None.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from chongming_task.notebook.serving_interrupts import HeldInterrupts

__all__ = ["Frames", "Line", "line_of"]

_logger = logging.getLogger(__name__)

Frames = list[Any]  # a message as it came, undecoded
Turn = Callable[[], Coroutine[Any, Any, None]]
_NEEDED = (
    *("session", "io_loop", "shell_handlers", "get_parent", "set_parent", "_parent_ident"),
    *("_publish_status", "_publish_status_and_flush"),
)


class Line:
    """The main shell's line.

    Args:
        kernel: The IPythonKernel.
        stream: Its ZMQStream.
        replies: What answers are sent on.
    """

    def __init__(self, kernel: Any, stream: Any, replies: Any) -> None:
        self._kernel = kernel
        self.stream = stream
        self._replies = replies
        self._deliver: Callable[[Frames], Awaitable[None] | None] = stream._recv_callback

    @property
    def loop(self) -> Any:
        """The asyncio loop of the main shell."""
        return self._kernel.io_loop.asyncio_loop

    def intercept(self, arrived: Callable[[Frames], Awaitable[None] | None]) -> None:
        """Have every message brought to ``arrived`` first."""
        self.stream.on_recv(arrived, copy=False)

    def restore(self) -> None:
        """Bring messages to the kernel again."""
        self.stream.on_recv(self._deliver, copy=False)

    def deliver(self, frames: Frames) -> Awaitable[None] | None:
        """Let the kernel have a message, as if nobody had looked at it."""
        return self._deliver(frames)

    def in_turn(self, take: Callable[[], Frames | None]) -> Awaitable[None] | None:
        """Have the kernel handle what ``take`` gives, when the turn of a message comes that arrives now."""
        raise NotImplementedError

    def take_in(self) -> None:
        """Read what has come, without the loop. Interrupts must be held: one in its midst would lose a message."""
        import zmq  # it is here: the kernel speaks by it

        self.stream.flush(zmq.POLLIN)

    def look_again(self) -> None:
        """Have the loop look for messages: that one came is told once, and may have been told to us."""
        self._kernel.io_loop.add_callback(self._flush_unless_closed)

    def _flush_unless_closed(self) -> None:
        import zmq

        if not self.stream.closed():
            self.stream.flush(zmq.POLLIN)

    def kind_of(self, frames: Frames) -> str | None:
        """The type of a message; None when it cannot be read, which the kernel has words for."""
        session = self._kernel.session
        try:
            _, parts = session.feed_identities(frames, copy=False)
            kind = session.unpack(parts[1].bytes)["msg_type"]
        except (ValueError, LookupError, TypeError, AttributeError):  # no message, or none of this kernel's session
            return None
        return kind if isinstance(kind, str) else None

    def handle(self, frames: Frames, interrupts: HeldInterrupts, *, cell_runs: bool) -> None:
        """Handle a message now, in the midst of another one, which is the kernel's current one again afterwards.

        Args:
            frames: The message.
            interrupts: Held; let through to the handler.
            cell_runs: Front ends hear that the kernel is busy still.

        Raises:
            KeyboardInterrupt: It is meant for who waits.
        """
        kernel = self._kernel
        idents, parts = kernel.session.feed_identities(frames, copy=False)
        try:
            message = kernel.session.deserialize(parts, content=True, copy=False)
        except Exception as error:  # a wrong signature: refused, as the kernel does
            _logger.warning("a message was refused: %s", error)
            return
        current = kernel._parent_ident["shell"], kernel.get_parent("shell")
        kernel.set_parent(idents, message, channel="shell")
        kernel._publish_status("busy", "shell")
        try:
            with interrupts.let_through():
                _run(kernel.shell_handlers[message["header"]["msg_type"]](self._replies, idents, message))
        except Exception:  # as in the kernel: told in the log, and never to the cell
            _logger.exception("a message could not be handled")
        finally:
            _flush(sys.stdout, sys.stderr)
            kernel._publish_status_and_flush("idle", "shell", self._replies)
            kernel.set_parent(*current, channel="shell")
            if cell_runs:
                kernel._publish_status("busy", "shell")


class _QueuedLine(Line):
    """Messages wait in the kernel's queue."""

    def in_turn(self, take: Callable[[], Frames | None]) -> None:
        async def turn() -> None:
            frames = take()
            if frames is not None:
                await self._kernel.dispatch_shell(frames)

        self._kernel.schedule_dispatch(turn)


class _LockedLine(Line):
    """Messages wait for the main shell's lock."""

    async def in_turn(self, take: Callable[[], Frames | None]) -> None:
        async with self._kernel._main_asyncio_lock:
            frames = take()
            if frames is not None:
                await self._kernel.dispatch_shell(frames)


class _ConcurrentLine(Line):
    """The kernel knows what may pass by a cell that awaits."""

    async def in_turn(self, take: Callable[[], Frames | None]) -> None:
        frames = take()
        delivered = None if frames is None else self._deliver(frames)
        if delivered is not None:
            await delivered


def line_of(kernel: Any) -> Line | None:
    """The line of a kernel's main shell; None when it is no ipykernel, or one that is made differently."""
    if any(not hasattr(kernel, name) for name in _NEEDED):
        return None
    thread = getattr(kernel, "shell_channel_thread", None)
    try:
        if thread is not None:
            stream = thread.manager._shell_channel_to_main.to_stream
            replies = thread.manager._main_to_shell_channel.from_socket
        else:
            stream = replies = kernel.shell_stream
        if stream is None or stream.closed() or not callable(stream._recv_callback) or not stream._recv_callback:
            return None
        return _kind_of_line(kernel, queued=thread is None)(kernel, stream, replies)
    except (AttributeError, TypeError) as error:
        _logger.debug("this kernel's line is not known: %s", error)
        return None


def _kind_of_line(kernel: Any, *, queued: bool) -> type[Line]:
    if queued and hasattr(kernel, "schedule_dispatch"):
        return _QueuedLine
    if "concurrent" in inspect.signature(kernel.dispatch_shell).parameters:
        return _ConcurrentLine
    kernel._main_asyncio_lock.locked  # noqa: B018 - AttributeError: another kernel
    return _LockedLine


def _run(result: Any) -> None:
    """Runs a handler that is a coroutine to its end. Those that are served await nothing."""
    if inspect.iscoroutine(result):
        try:
            result.send(None)
        except StopIteration:
            return
        result.close()
        raise RuntimeError("it awaits something, and cannot while a cell runs")


def _flush(*files: Any) -> None:
    for file in files:
        if file is not None:
            file.flush()
