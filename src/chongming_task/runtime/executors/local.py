"""The engine's hold on an attempt that runs in this process."""

from __future__ import annotations

from collections.abc import Callable

from chongming_task.core.effects import StopReason
from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.records import Progress
from chongming_task.runtime.invoke import invoke
from chongming_task.runtime.token import CancellationToken

__all__ = ["LocalExecution"]


class LocalExecution:
    """An attempt in a thread of this process. It can be told, held and asked, but never killed."""

    killable = False
    worker = None  # a part of this process

    __slots__ = ("_deliver", "_done", "_request", "_token", "error", "pausable")

    def __init__(
        self, request: AttemptRequest, deliver: Deliver, monotonic: Callable[[], float], *, pausable: bool
    ) -> None:
        self.error: BaseException | None = None  # what ended it, for result() in this process
        self.pausable = pausable
        self._request = request
        self._deliver = deliver
        self._token = CancellationToken(request.attempt, deliver, monotonic)
        self._done = False

    @property
    def running(self) -> bool:
        """Whether user code still runs; true also of one that was given up."""
        return not self._done

    @property
    def last_checkpoint(self) -> float | None:
        """Monotonic seconds of its last checkpoint."""
        return self._token.last_checkpoint

    @property
    def progress(self) -> Progress | None:
        """What it last reported."""
        return self._token.progress

    def stop(self, reason: StopReason) -> None:
        """Raise in it at its next checkpoint."""
        self._token.stop(reason)

    def pause(self, request: int) -> bool:
        """Hold it at its next checkpoint; False when holding it would hold its caller."""
        if self.pausable:
            self._token.pause(request)
        return self.pausable

    def resume(self) -> None:
        """Let it go on."""
        self._token.resume()

    def kill(self, reason: StopReason) -> None:
        """Threads cannot be killed; the engine does not ask."""
        raise NotImplementedError("a thread cannot be killed")

    def run(self) -> None:
        """Run the attempt in the calling thread, to its end. Called once, by the worker."""
        ended = invoke(self._request, self._token, self._deliver, keep=self._keep)
        self._done = True
        self._deliver(ended)

    def _keep(self, error: BaseException) -> None:
        self.error = error
