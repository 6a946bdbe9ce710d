"""What a step wants done once its change is durable. The engine performs them; the rules only ask."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from chongming_task.core.failures import TIMEOUT_KINDS, Failure, FailureKind
from chongming_task.core.triggers import Timer

__all__ = ["ClearTimer", "Detach", "Effect", "Kill", "Launch", "SetTimer", "Signal", "StopReason", "TellWorker"]


class StopReason(StrEnum):
    """Why a worker is told to stop; it tells how its obedience is counted."""

    STOP = "stop"
    CANCEL = "cancel"
    TIMEOUT_START = "timeout_start"
    TIMEOUT_ATTEMPT = "timeout_attempt"
    TIMEOUT_IDLE = "timeout_idle"
    DETACHED = "detached"  # the record went on without this worker

    def obeyed(self, how: str, exit_code: int | None = None) -> Failure:
        """How an attempt counts that ended because it was told to: a timeout as one, anything else as a stop.

        Args:
            how: What the failure says of it.
            exit_code: Of its process.
        """
        kind = _TIMEOUTS.get(self.value, FailureKind.CANCELLED)
        return Failure(kind, how, retryable=kind in TIMEOUT_KINDS, exit_code=exit_code)


_TIMEOUTS = {kind.value: kind for kind in TIMEOUT_KINDS}


class Signal(StrEnum):
    """What a worker is told."""

    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"


class Launch(NamedTuple):
    """Start the attempt on a worker."""

    attempt: int


class TellWorker(NamedTuple):
    """Tell the worker of the live attempt to stop, to pause or to go on."""

    signal: Signal
    reason: StopReason | None = None  # with STOP
    request: int = 0  # with PAUSE: the status_version that asks, echoed by the worker


class Kill(NamedTuple):
    """End the worker of the live attempt by force."""

    reason: StopReason


class Detach(NamedTuple):
    """The attempt no longer counts: tell its worker to stop, keep an ear on it, and note what becomes of it."""

    attempt: int


class SetTimer(NamedTuple):
    """Wake the record after ``seconds``; replaces a timer of the same kind."""

    timer: Timer
    seconds: float


class ClearTimer(NamedTuple):
    """Forget a timer."""

    timer: Timer


Effect = Launch | TellWorker | Kill | Detach | SetTimer | ClearTimer
