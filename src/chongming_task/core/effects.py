"""What a step wants done once its change is durable. The engine performs them; the rules only ask."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

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
