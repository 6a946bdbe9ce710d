"""What crosses between the controller's process and a worker process: small frozen records, one frame each.

Both ends run the same interpreter and the same version of this library: one starts the other.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from chongming_task.core.effects import StopReason
from chongming_task.core.output import OutputBatch
from chongming_task.core.ports import Emitted
from chongming_task.core.records import Progress
from chongming_task.core.triggers import Ended, Held, Started

__all__ = ["Beat", "Frames", "Pause", "Quit", "Ready", "Resume", "Run", "Stop", "Surroundings", "Told", "Wrote", "pack"]

_LENGTH = struct.Struct("!Q")
_LARGEST = 1 << 40  # bytes; nobody sends that much, so something else wrote into the line


class Surroundings(NamedTuple):
    """What a worker takes over from the controller's process as it is at launch: a warm worker was born earlier."""

    path: list[str]
    cwd: str | None  # None: it is gone
    environ: dict[str, str]


# to the worker


class Run(NamedTuple):
    """Run an attempt."""

    serial: int  # of the launch; marks everything said about it
    attempt: int
    surroundings: Surroundings
    request: bytes  # an AttemptRequest, see pickling: reading it imports what it refers to


class Stop(NamedTuple):
    """Raise in the task at its next checkpoint."""

    serial: int
    reason: StopReason


class Pause(NamedTuple):
    """Hold the task at its next checkpoint."""

    serial: int
    request: int


class Resume(NamedTuple):
    """Let the task go on."""

    serial: int


class Quit(NamedTuple):
    """There is no more work: end."""


# to the controller


class Ready(NamedTuple):
    """The worker is up and waits for work."""


class Told(NamedTuple):
    """What the attempt reports. An Emitted carries its payload pickled: only the receiver knows if it can read it."""

    serial: int
    report: Started | Held | Emitted | Ended


class Beat(NamedTuple):
    """The attempt's vital signs."""

    serial: int
    age: float | None  # seconds since its last checkpoint, negative while it sleeps; needs no common clock
    progress: Progress | None
    news: bool  # the task reported progress worth a look


class Wrote(NamedTuple):
    """What the attempt has written since the last time; after a ``Told`` of its end nothing more comes."""

    serial: int
    batch: OutputBatch


def pack(message: Any) -> bytes:
    """A message as a frame."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """The messages that ``data`` completes.

        Raises:
            Exception: When the stream holds something else; nothing after it can be read.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if end > _LARGEST:
                raise ValueError("this is no frame")
            if len(self._buffer) < end:
                return
            body = bytes(memoryview(self._buffer)[_LENGTH.size : end])
            del self._buffer[:end]
            yield pickle.loads(body)
