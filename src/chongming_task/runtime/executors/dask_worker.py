"""What runs in a Dask worker: attempts in the worker's own threads, and an agent that is their line to the controller.

Stops and pauses come by a call that Dask makes on the worker's event loop, and reach the attempt's own token at once.
What attempts say goes the way of Dask's own news, through the scheduler. A thread of the agent sends their vital signs
and what they write, and stops those that nobody wants any more: the controller is gone, or the worker is about to.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from typing import Any, NamedTuple, NoReturn

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, describe_exception
from chongming_task.core.ports import AttemptRequest
from chongming_task.core.triggers import Ended
from chongming_task.errors import ConfigurationError, ResultUnavailable
from chongming_task.runtime import capture
from chongming_task.runtime.executors.dask_results import ClusterResults, held_values
from chongming_task.runtime.executors.pickling import load
from chongming_task.runtime.executors.relay import Relay
from chongming_task.runtime.executors.wire import Pause, Resume, Stop, Told
from chongming_task.runtime.invoke import invoke
from chongming_task.runtime.ownership import is_alive, this_process

__all__ = ["BeganAt", "introduce", "is_gone", "obey", "pack", "recall", "refuse_to_run_again", "run"]

_BEAT_SECONDS = 0.2  # how often vital signs and output go out, if there is news
_IDLE_SECONDS = 1.0  # how long its thread waits for the next attempt
_REFUSALS = 10_000  # attempts that were called back before they came; the oldest are forgotten
_GOING = frozenset({"closing", "closed", "failed"})
_WANTED = frozenset({"executing", "long-running"})

_logger = logging.getLogger("chongming_task.worker")


class BeganAt(NamedTuple):
    """Where an attempt runs; sent just before it reports that it began."""

    serial: int
    worker: str  # its address
    process: str  # see ownership


class _Order(NamedTuple):
    """An attempt on its way to a worker."""

    topic: str  # where its reports go
    serial: int  # of the launch, within the topic
    attempt: int
    held: tuple[str, ...]  # keys of the values that come along
    request: bytes  # an AttemptRequest, see pickling

    @property
    def key(self) -> str:
        """What Dask calls it."""
        return f"{self.topic}-{self.serial}"


@cache
def _version() -> str:
    """Of this library, in this process."""
    return version("chongming-task")


def pack(topic: str, serial: int, attempt: int, held: Sequence[str], request: bytes) -> bytes:
    """An attempt as bytes: plain data, so that a worker of another version can tell that it is one."""
    return pickle.dumps((_version(), topic, serial, attempt, tuple(held), request))


def run(sent: bytes, held: Sequence[Any]) -> Any:
    """What Dask runs.

    Args:
        sent: The attempt.
        held: Values from the cluster.

    Returns:
        The attempt's value, where it is to stay on the cluster; else None.
    """
    from distributed import get_worker

    theirs, *order = pickle.loads(sent)
    if theirs != _version():
        raise ConfigurationError(
            f"this worker has chongming-task {_version()}, the controller {theirs}: install the same on both"
        )
    return _agent_of(get_worker()).run(_Order(*order), held)


def obey(topic: str, messages: Sequence[Stop | Pause | Resume], dask_worker: Any) -> None:
    """Do what the controller says. Called by Dask on the worker's event loop."""
    agent = _agent_of(dask_worker)
    for message in messages:
        relay = agent.attempts.get((topic, message.serial))
        if relay is not None:  # else it has ended meanwhile
            relay.obey(message)


def recall(topic: str, stops: Mapping[int, StopReason], dask_worker: Any) -> list[int]:
    """Stop attempts that may be here; those that are not will not run when they come. Called as ``obey``.

    Returns:
        Those that are here.
    """
    return _agent_of(dask_worker).recall(topic, stops)


def introduce() -> str:
    """The worker's process, see ownership; asked before it has anything to do, so that it has loaded this module."""
    return this_process()


def is_gone(process: str) -> bool | None:
    """Whether a process has ended; None when this is not its machine."""
    alive = is_alive(process)
    return None if alive is None else not alive


def refuse_to_run_again() -> NoReturn:
    """What Dask runs in the place of an attempt that it would run a second time."""
    raise ResultUnavailable(
        "the Dask worker that held this result is gone, and its task is not run again behind anybody's back: "
        "reset the task that made it, and start it"
    )


_making = threading.Lock()


def _agent_of(worker: Any) -> Agent:
    """The one agent of a worker; a process may have several workers."""
    with _making:
        found = worker.extensions.get("chongming-task")
        if found is None:
            found = worker.extensions["chongming-task"] = Agent(worker)
    return found  # type: ignore[no-any-return]


class Agent:
    """The attempts of one worker, and what they say.

    Args:
        worker: Dask's own object.
    """

    def __init__(self, worker: Any) -> None:
        self.attempts: dict[tuple[str, int], Relay] = {}
        self._worker = worker
        self._process = this_process()
        self._lock = threading.Lock()
        self._refused: dict[tuple[str, int], StopReason] = {}
        self._said: dict[str, list[Any]] = {}  # what waits to be sent, by topic
        self._flushing = False
        self._watching = False
        self._come = threading.Event()  # an attempt, for the thread that waits for one

    # the task's thread

    def run(self, order: _Order, held: Sequence[Any]) -> Any:
        """Run an attempt to its end."""
        say = partial(self._say, order.topic)
        relay = Relay(order.serial, order.attempt, say)
        self._enter(order, relay)
        try:
            say(BeganAt(order.serial, self._worker.address, self._process))
            ended, kept = self._ended(order, relay, held)
            relay.beat()
            relay.relay()
            say(Told(order.serial, ended))  # before Dask tells that its task is over: both go the same way
            return kept
        finally:
            del self.attempts[order.topic, order.serial]

    def _enter(self, order: _Order, relay: Relay) -> None:
        with self._lock:
            name = order.topic, order.serial
            self.attempts[name] = relay
            refused = self._refused.pop(name, None)
            if refused is not None:
                relay.token.stop(refused)
            if not self._watching:
                self._watching = True
                capture.start()
                threading.Thread(target=self._watch, name="chongming-agent", daemon=True).start()
        self._come.set()

    def _ended(self, order: _Order, relay: Relay, held: Sequence[Any]) -> tuple[Ended, Any]:
        try:
            request = _opened(order, held)
        except BaseException as error:  # imports and __setstate__ are user code: what they raise ends the attempt only
            return Ended(order.attempt, failure=_unreadable(error, self._worker.address)), None
        ended = invoke(request, relay.token, relay.deliver, keep=lambda error: None, pid=os.getpid())
        return ended, request.results.value if isinstance(request.results, ClusterResults) else None

    # from Dask's event loop

    def recall(self, topic: str, stops: Mapping[int, StopReason]) -> list[int]:
        """See :func:`recall`."""
        here = []
        with self._lock:
            for serial, reason in stops.items():
                relay = self.attempts.get((topic, serial))
                if relay is None:
                    self._refused[topic, serial] = reason
                else:
                    relay.token.stop(reason)
                    here.append(serial)
            while len(self._refused) > _REFUSALS:
                del self._refused[next(iter(self._refused))]
        return here

    # on the way out

    def _say(self, topic: str, message: Any) -> None:
        """Have a message sent, with what else is said before the loop comes to it."""
        with self._lock:
            self._said.setdefault(topic, []).append(message)
            called, self._flushing = self._flushing, True
        if not called:
            try:
                self._worker.loop.add_callback(self._flush)
            except RuntimeError:  # the worker is closed: nobody can be told
                pass

    def _flush(self) -> None:
        with self._lock:
            said, self._said = self._said, {}
            self._flushing = False
        for topic, messages in said.items():
            self._worker.log_event(topic, pickle.dumps(messages, protocol=pickle.HIGHEST_PROTOCOL))

    # the agent's thread

    def _watch(self) -> None:
        try:
            while self._go_on():
                try:
                    self._look()
                except Exception:  # one bad look must not leave all others unheard
                    _logger.exception("the agent of a Dask worker could not look after its attempts")
                self._come.clear()
                if self.attempts:
                    time.sleep(_BEAT_SECONDS)
        finally:
            capture.stop()

    def _look(self) -> None:
        going = self._worker.status.name in _GOING
        for (topic, serial), relay in list(self.attempts.items()):
            relay.beat()
            relay.relay()
            if going or not self._is_wanted(f"{topic}-{serial}"):
                relay.token.stop(StopReason.DETACHED)

    def _go_on(self) -> bool:
        """Wait for an attempt, unless there are some; False when none has come for a while."""
        if self.attempts or self._come.wait(_IDLE_SECONDS):
            return True
        with self._lock:
            self._watching = bool(self.attempts)
            return self._watching

    def _is_wanted(self, key: str) -> bool:
        """Whether Dask still wants the task that runs an attempt. It does not once its client has gone."""
        task = self._worker.state.tasks.get(key)
        return task is not None and task.state in _WANTED


def _opened(order: _Order, held: Sequence[Any]) -> AttemptRequest:
    request: AttemptRequest = load(order.request)
    if order.held and request.upstream is not None:
        values = held_values(dict(zip(order.held, held, strict=True)))
        request = request._replace(upstream=request.upstream.replaced(values))
    return request


def _unreadable(error: BaseException, worker: str) -> Failure:
    failure = describe_exception(error, retryable=True)
    where = f"the Dask worker {worker} (Python {platform.python_version()}) could not read the task: {failure.message}"
    if isinstance(error, ImportError):
        where += "; what a task refers to must be installed there, or be sent with client.upload_file(...)"
    return replace(failure, message=where)
