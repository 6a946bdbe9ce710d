"""One connection to a Dask scheduler: from the client's first hello to the moment when it breaks."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from distributed import Client, Future
from distributed.comm.addressing import get_address_host_port, parse_address

from chongming_task.core.effects import StopReason
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.executors.dask_execution import Parcel
from chongming_task.runtime.executors.dask_scheduler import Fence
from chongming_task.runtime.executors.dask_worker import introduce, is_gone, obey, recall, run
from chongming_task.runtime.executors.wire import Pause, Resume, Stop

__all__ = ["Connection", "Heard"]

Heard = Callable[[Any], None]
"""Takes what the cluster says: bytes of a worker's messages, or a dict from the fence. Must not block."""

_logger = logging.getLogger("chongming_task.engine")
_LARGE = 1 << 20  # bytes; what is larger goes to a worker on its own, not with the graph
_KNOCK_SECONDS = 0.1  # between two tries to find anybody at an address
_RECALLS = (0.0, 0.3, 1.0)  # seconds before each try to call an attempt back
_LOOKS = (0.0, 0.05, 0.2, 0.5, 0.75, 1.0)  # seconds between looks whether a process is gone
_ANSWER_SECONDS = 1.0  # a neighbour may take so long to say so


class Connection:
    """A client, and the fence in the scheduler.

    Args:
        address: The scheduler's.
        security: As Dask wants it.
        timeout: Seconds to wait for the scheduler.
        heard: Takes what the cluster says.

    Raises:
        OSError: The scheduler does not answer.
        ConfigurationError: It does, and will not do.
    """

    def __init__(self, address: str, security: Any, timeout: float, heard: Heard) -> None:
        self.address = address
        self.topic = f"chongming-{uuid4().hex[:12]}"
        self._lock = threading.Lock()
        self._processes: dict[str, str] = {}  # of workers, see ownership
        self._words: dict[str, list[Stop | Pause | Resume]] = {}  # to be sent, by worker
        self._telling: set[str] = set()  # workers that are being told something
        _wait_for(address, timeout)
        self._client = Client(address, security=security, timeout=timeout, set_as_default=False, name="chongming")
        try:
            self._client.register_plugin(Fence(self.topic, self._client.id))
        except (ImportError, ValueError, AttributeError) as refused:
            self.close()
            raise ConfigurationError(
                f"the Dask scheduler at {address} does not take what keeps it from running tasks twice ({refused}); it "
                "needs the same chongming-task as this process, and distributed.scheduler.pickle must be true"
            ) from refused
        except BaseException:
            self.close()
            raise
        self._client.subscribe_topic(self.topic, lambda event: heard(event[1]))
        self._line = self._client.scheduler_comm
        self._loop = self._client.loop  # a callback on one that is closed is left out without a word
        self.meet(None)

    @property
    def broken(self) -> bool:
        """Whether the scheduler was lost, even if the client has found one again: that knows nothing of us."""
        client, line = self._client, self._line
        return client.status != "running" or client.scheduler_comm is not line or bool(line.closed())

    def close(self) -> None:
        """Let go of everything on the cluster."""
        try:
            if self._client.status == "running":
                self._client.unregister_scheduler_plugin(self.topic)
        except Exception:  # the scheduler may be going as well; the fence goes with its client
            _logger.debug("the plugin was not taken out of the scheduler", exc_info=True)
        self._client.close(timeout=2)

    # tasks

    def submit(self, parcels: Sequence[Parcel], needs: tuple[tuple[str, float], ...]) -> list[Any]:
        """Have Dask run attempts, each once.

        Args:
            parcels: The attempts.
            needs: How much each takes of which worker resource.
        """
        futures: list[Any] = self._client.map(
            run,
            [self._sent(each.sent) for each in parcels],
            [list(each.held) for each in parcels],
            key=[each.key for each in parcels],
            pure=False,
            retries=0,
            resources=dict(needs) or None,
        )
        return futures

    def _sent(self, sent: bytes) -> Any:
        return self._client.scatter(sent, hash=False) if len(sent) > _LARGE else sent

    def hold(self, key: str) -> Any:
        """A hold on the value of a task."""
        return Future(key, client=self._client)

    # signals

    def tell(self, worker: str, message: Stop | Pause | Resume) -> None:
        """Send a worker a message; it takes them one after the other."""
        with self._lock:
            self._words.setdefault(worker, []).append(message)
            if worker in self._telling:
                return
            self._telling.add(worker)
        self._loop.add_callback(self._tell, worker)

    async def _tell(self, worker: str) -> None:
        while True:
            with self._lock:
                words = self._words.pop(worker, [])
                if not words:
                    self._telling.discard(worker)
                    return
            try:
                await self._client.run(obey, self.topic, words, workers=[worker], on_error="ignore")
            except Exception:  # when it is gone the fence tells, and else the engine's grace ends
                _logger.debug("the Dask worker %s could not be told", worker, exc_info=True)

    def recall(self, serial: int, reason: StopReason, never_began: Callable[[StopReason], None]) -> None:
        """Stop an attempt wherever it is.

        Args:
            serial: The attempt.
            reason: Why.
            never_began: Called when it is sure that it never will; when it has begun, it tells its end itself.
        """
        self._loop.add_callback(self._recall, serial, reason, never_began)

    async def _recall(self, serial: int, reason: StopReason, never_began: Callable[[StopReason], None]) -> None:
        for seconds in _RECALLS:
            await asyncio.sleep(seconds)
            try:
                if not await self._has_begun(serial, reason):
                    never_began(reason)
                return
            except Exception:  # a worker does not answer, and has perhaps just gone
                _logger.debug("not every Dask worker said whether it has attempt %d", serial, exc_info=True)
        # Nobody can say: the engine's grace ends, and the attempt counts as lost.

    async def _has_begun(self, serial: int, reason: StopReason) -> bool:
        """Whether an attempt runs, and was told to stop; otherwise it never will."""
        stops = {serial: reason}
        if await self._found(stops):
            return True
        await self._client.cancel([self.hold(f"{self.topic}-{serial}")], force=True)
        return await self._found(stops)  # on a worker that came meanwhile

    async def _found(self, stops: dict[int, StopReason]) -> bool:
        """Whether an attempt is on some worker; the others will not run it."""
        answers = await self._client.run(recall, self.topic, stops, on_error="raise")
        return any(answers.values())

    # the end of workers

    def meet(self, workers: list[str] | None) -> None:
        """Ask workers who they are, while they live; None: all that there are."""
        self._loop.add_callback(self._meet, workers)

    async def _meet(self, workers: list[str] | None) -> None:
        try:
            self._processes |= await self._client.run(introduce, workers=workers, on_error="ignore")
        except Exception:  # they are gone already, or have no chongming-task: whoever sends them something is told
            _logger.debug("Dask workers did not say who they are", exc_info=True)

    def met(self, worker: str, process: str) -> None:
        """A worker has said by itself who it is."""
        self._processes[worker] = process

    def find_out(self, worker: str | None, done: Callable[[bool], None]) -> None:
        """Find out whether a worker's process has ended; it may be about to.

        Args:
            worker: Its address; None when nobody knows which it is.
            done: Called with the answer; False also when nobody knows.
        """
        process = None if worker is None else self._processes.get(worker)
        self._loop.add_callback(self._find_out, process, done)

    async def _find_out(self, process: str | None, done: Callable[[bool], None]) -> None:
        gone: bool | None = False
        for seconds in _LOOKS if process is not None else ():
            assert process is not None
            await asyncio.sleep(seconds)
            gone = is_gone(process)
            if gone is None:
                gone = await self._neighbours_say(process)
            if gone:
                break
        done(bool(gone))

    async def _neighbours_say(self, process: str) -> bool:
        """What workers on the same machine say, such as the one that a nanny has put in its place."""
        try:
            asked = self._client.run(is_gone, process, on_error="ignore")
            answers = await asyncio.wait_for(asked, _ANSWER_SECONDS)
        except Exception:  # nobody answers: it is not known
            return False
        return any(answers.values())


def _wait_for(address: str, timeout: float) -> None:
    """Wait until somebody listens there: a client that is made in vain leaves a thread and descriptors behind.

    Raises:
        OSError: Nobody does.
        ValueError: That is no address.
    """
    if parse_address(address)[0] == "inproc":
        return
    host, port = get_address_host_port(address)
    ends = time.monotonic() + timeout
    while True:
        try:
            socket.create_connection((host, port), timeout).close()
            return
        except OSError:
            if time.monotonic() + _KNOCK_SECONDS > ends:
                raise
        time.sleep(_KNOCK_SECONDS)
