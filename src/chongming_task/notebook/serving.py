"""Buttons work while a cell waits, also where the kernel has one thread for cells and clicks.

There a click lies unread until the cell ends. A wait of ours need not keep it so long: the thread has nothing else to
do. It sleeps until the task has news *or* a message has come, and then:

- messages of comms (clicks, sliders, heartbeats) are handled at once, in the order in which they came, and so is what a
  reloaded page asks before it shows widgets again;
- all others, such as the next cell, go where they would have gone, and have their turn after this cell.

While a coroutine of ours awaits, the loop reads the messages, and the same is done with them. Without a wait nothing
changes: every message has its turn.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context

from chongming_task.notebook.serving_interrupts import HeldInterrupts
from chongming_task.notebook.serving_line import Frames, Line
from chongming_task.runtime.hosting import Notice

__all__ = ["Serving"]

COMMS = frozenset({"comm_open", "comm_msg", "comm_close"})
RELOADS = frozenset({"kernel_info_request", "comm_info_request"})  # what a page asks first that is opened again
SERVED = COMMS | RELOADS
_LONGEST_SLEEP = 86_400.0  # seconds; a longer one is slept in parts


class Serving:
    """The kernel's main thread, as a host of waits.

    Args:
        line: Where its messages come from.
        cell_runs: Whether it runs a cell.
    """

    def __init__(self, line: Line, cell_runs: Callable[[], bool]) -> None:
        self._line = line
        self._cell_runs = cell_runs
        self._pid = os.getpid()
        self._parked: deque[Frames] = deque()  # to be served, and not handled yet; first come, first served
        self._handling = False
        self._awaits: dict[object, Context] = {}  # each with what is current in its cell
        self._ear, self._mouth = socket.socketpair()
        self._ear.setblocking(False)
        self._mouth.setblocking(False)
        line.intercept(self._arrived)

    # ---- a thread that blocks

    def block(self, notice: Notice, seconds: float | None, /) -> bool:
        """Wait until the notice is set, and serve meanwhile; on other threads, just wait."""
        if not self._holds_up_the_kernel():
            return notice.wait(seconds)
        ends = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            self._serve_until(notice, ends)
            if notice.is_set() or time.monotonic() >= ends:
                return notice.is_set()

    def _serve_until(self, notice: Notice, ends: float) -> None:
        """Serve until the notice is set, the time is up, or an interrupt came, which is then heard."""
        with HeldInterrupts(self._wake) as interrupts:
            notice.tell(self._wake)
            try:
                while not interrupts.came:
                    self._line.take_in()
                    self._serve(copy_context(), interrupts)
                    left = ends - time.monotonic()
                    if notice.is_set() or left <= 0:
                        return
                    self._sleep(left)
            finally:
                notice.tell(None)
                self._line.look_again()

    def _holds_up_the_kernel(self) -> bool:
        """Whether this thread is the one whose loop reads messages, and is not handling one for a wait already."""
        return (
            asyncio._get_running_loop() is self._line.loop
            and threading.current_thread() is threading.main_thread()
            and not self._handling
            and not self._line.stream.closed()
            and os.getpid() == self._pid  # the line is the parent's
        )

    def _sleep(self, seconds: float) -> None:
        """Sleep until a message comes, or somebody wakes us."""
        import zmq  # it is here: the kernel speaks by it

        poller = zmq.Poller()
        poller.register(self._line.stream.socket, zmq.POLLIN)
        poller.register(self._ear, zmq.POLLIN)
        poller.poll(math.ceil(min(seconds, _LONGEST_SLEEP) * 1000))
        try:
            self._ear.recv(4096)
        except BlockingIOError:
            pass

    def _wake(self) -> None:
        try:
            self._mouth.send(b"!")
        except BlockingIOError:  # it has been told often enough
            pass

    # ---- a coroutine that awaits

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """While it lasts, what is served is handled when it comes; in other loops, nothing changes."""
        if not self._holds_up_the_kernel():
            yield
            return
        token = object()
        self._awaits[token] = copy_context()
        self._line.loop.call_soon(self._serve_awaiting)
        try:
            yield
        finally:
            del self._awaits[token]

    def _serve_awaiting(self) -> None:
        if self._awaits and not self._handling:
            with HeldInterrupts() as interrupts:
                self._serve(next(reversed(self._awaits.values())), interrupts)

    # ---- messages

    def _arrived(self, frames: Frames) -> Awaitable[None] | None:
        """Takes a message from the line. It keeps its turn, for the case that nobody serves it before."""
        if self._line.kind_of(frames) not in SERVED:
            return self._line.deliver(frames)
        self._parked.append(frames)
        if self._awaits:
            self._line.loop.call_soon(self._serve_awaiting)
        return self._line.in_turn(self._next)

    def _next(self) -> Frames | None:
        return self._parked.popleft() if self._parked else None

    def _serve(self, context: Context, interrupts: HeldInterrupts) -> None:
        """Handles what is parked, with what is current in the cell that waits. After an interrupt no more of it."""
        self._handling = True
        try:
            while not interrupts.came and (frames := self._next()) is not None:
                context.run(self._line.handle, frames, interrupts, cell_runs=self._cell_runs())
        finally:
            self._handling = False

    def close(self) -> None:
        """Leave the line to the kernel again."""
        self._line.restore()
        self._ear.close()
        self._mouth.close()
