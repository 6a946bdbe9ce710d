"""An executor's line to its cluster, over one connection after the other: what goes out, what comes in, what is lost.

One thread sends attempts, as many at once as there are; another takes in what the cluster says, and looks after the
connection. So neither user code that pickles, nor a scheduler that is slow to answer, can hold the engine up.
"""

from __future__ import annotations

import logging
import pickle
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import describe_exception
from chongming_task.core.triggers import Ended
from chongming_task.runtime.executors.dask_connection import Connection
from chongming_task.runtime.executors.dask_execution import DaskExecution, Parcel
from chongming_task.runtime.executors.dask_worker import BeganAt
from chongming_task.runtime.executors.wire import Pause, Resume, Stop

__all__ = ["Line"]

_BATCH = 200  # attempts that are sent at once
_BATCH_BYTES = 1 << 20  # or as many as have so many bytes
_LOOK_SECONDS = 0.25  # how often the connection is looked at while nothing is heard: Dask tells nobody that it broke
_AGAIN_SECONDS = 1.0  # between two tries to reach the scheduler again
_CLOSE_SECONDS = 5.0

_logger = logging.getLogger("chongming_task.engine")


class Line:
    """The attempts of an executor and their way to the cluster.

    Args:
        address: The scheduler's.
        security: As Dask wants it.
        timeout: Seconds to wait for the scheduler.

    Raises:
        OSError: The scheduler does not answer.
        ConfigurationError: It does, and will not do.
    """

    def __init__(self, address: str, security: Any, timeout: float) -> None:
        self.address = address
        self.obstacle: str | None = None
        self.tell_clear: Callable[[], None] = lambda: None
        self._security = security
        self._timeout = timeout
        self._lock = threading.Lock()
        self._executions: dict[int, DaskExecution] = {}
        self._leaving: SimpleQueue[DaskExecution | None] = SimpleQueue()
        self._heard: SimpleQueue[Any] = SimpleQueue()
        self._closing = threading.Event()
        self._connected = threading.Event()
        self._connection = self._connect()
        self._connected.set()
        self._threads = [
            threading.Thread(target=target, name=f"chongming-dask-{name}", daemon=True)
            for name, target in (("out", self._send_all), ("in", self._take_in))
        ]
        for each in self._threads:
            each.start()

    def _connect(self) -> Connection:
        return Connection(self.address, self._security, self._timeout, self._heard.put)

    def send(self, execution: DaskExecution) -> None:
        """Have an attempt sent."""
        with self._lock:
            self._executions[execution.serial] = execution
        self._leaving.put(execution)

    def close(self) -> None:
        """Take nothing more. What runs goes on to its end; then the connection is closed."""
        self._closing.set()
        self._connected.set()
        self._leaving.put(None)
        self._heard.put(None)
        if not self._executions and threading.current_thread() not in self._threads:
            for each in self._threads:
                each.join(_CLOSE_SECONDS)

    # for executions

    def tell(self, worker: str, message: Stop | Pause | Resume) -> None:
        """Send a message to the worker where an attempt runs."""
        self._connection.tell(worker, message)

    def recall(self, execution: DaskExecution, reason: StopReason) -> None:
        """Stop an attempt that has not said where it is."""
        self._connection.recall(execution.serial, reason, execution.never_began)

    def hold(self, key: str) -> Any:
        """Dask's hold on a value that is on the cluster."""
        return self._connection.hold(key)

    def released(self, execution: DaskExecution) -> None:
        """The attempt is over."""
        with self._lock:
            self._executions.pop(execution.serial, None)
        if self._closing.is_set():
            self._heard.put(None)

    # out

    def _send_all(self) -> None:
        while (first := self._leaving.get()) is not None:
            batch = [first]
            while len(batch) < _BATCH and not self._leaving.empty():
                following = self._leaving.get()
                if following is None:
                    self._leaving.put(None)
                    break
                batch.append(following)
                del following
            self._connected.wait()
            self._send_batch(self._connection, batch)
            del first, batch  # one that waits holds on to nothing

    def _send_batch(self, connection: Connection, batch: list[DaskExecution]) -> None:
        for needs, group in _groups(batch).items():
            self._send_group(connection, needs, group)

    def _send_group(
        self, connection: Connection, needs: tuple[tuple[str, float], ...], group: list[DaskExecution]
    ) -> None:
        for part in _parts(group, connection):
            try:
                futures = connection.submit([parcel for _, parcel in part], needs)
            except Exception as error:  # whatever Dask raises: none of them has left this process
                for execution, _ in part:
                    failure = describe_exception(error, retryable=True)
                    execution.finish(Ended(execution.attempt, failure=failure))
                continue
            for (execution, _), future in zip(part, futures, strict=True):
                execution.kept(future)
                if connection.broken:  # whoever looked for what is lost with it may not have seen this one yet
                    execution.cut_off(self.address)

    # in

    def _take_in(self) -> None:
        try:
            while self._executions or not self._closing.is_set():
                try:
                    news = self._heard.get(timeout=_LOOK_SECONDS)
                except Empty:
                    news = None
                if news is not None:
                    self._take(news)
                if self._connection.broken:
                    self._reconnect()
        finally:
            self._connection.close()

    def _take(self, news: Any) -> None:
        try:
            if isinstance(news, bytes):
                for message in pickle.loads(news):
                    self._take_message(message)
            elif "came" in news:
                self._connection.meet([news["came"]])
            else:
                self._take_notice(int(news["key"].rpartition("-")[2]), news)
        except Exception:  # one bad message must not end the thread
            _logger.exception("what a Dask worker said could not be taken in")

    def _take_message(self, message: Any) -> None:
        execution = self._executions.get(message.serial)
        if isinstance(message, BeganAt):
            self._connection.met(message.worker, message.process)
        if execution is None:
            return
        if isinstance(message, BeganAt):
            execution.began_at(message)
        else:
            execution.received(message)

    def _take_notice(self, serial: int, news: dict[str, Any]) -> None:
        """The fence says that Dask is through with a task."""
        execution = self._executions.get(serial)
        if execution is None or not execution.missed():
            return
        if news["became"] == "erred":
            execution.could_not_run(news["why"])
            return
        worker = execution.worker or news["worker"]
        self._connection.find_out(worker, lambda gone: execution.went_with(worker, gone=gone))

    def _reconnect(self) -> None:
        """The scheduler is gone: so is all that it had; go on as soon as it answers."""
        away = f"the Dask scheduler at {self.address}, out of reach since {datetime.now(UTC):%H:%M:%S} UTC"
        self.obstacle = f"{away}; tasks are sent as soon as it answers"
        self._connected.clear()
        _logger.warning("the Dask scheduler at %s is out of reach; what ran on its workers is lost", self.address)
        with self._lock:
            lost = [each for each in self._executions.values() if each.sent]
        for each in lost:
            each.cut_off(self.address)
        self._connection.close()
        while not self._closing.wait(_AGAIN_SECONDS):
            try:
                self._connection = self._connect()
            except Exception as error:  # whatever Dask raises: this thread goes on trying, and whoever waits is told
                self.obstacle = f"{away} ({error}); tasks are sent as soon as it answers"
                continue
            self.obstacle = None
            self._connected.set()
            _logger.warning("the Dask scheduler at %s answers again", self.address)
            self.tell_clear()
            return
        for each in list(self._executions.values()):  # nobody will send them
            each.cut_off(self.address)
        self._connected.set()


def _groups(batch: list[DaskExecution]) -> dict[tuple[tuple[str, float], ...], list[DaskExecution]]:
    """Attempts by what they need: Dask is told that for a whole graph."""
    groups = defaultdict(list)
    for execution in batch:
        groups[execution.needs].append(execution)
    return groups


def _parts(group: list[DaskExecution], connection: Connection) -> Iterator[list[tuple[DaskExecution, Parcel]]]:
    """Attempts and their parcels, cut where it gets too much at once."""
    part: list[tuple[DaskExecution, Parcel]] = []
    size = 0
    for execution in group:
        parcel = execution.parcel(connection.topic, connection.address)
        if parcel is None:
            continue
        part.append((execution, parcel))
        size += len(parcel.sent)
        if size > _BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
