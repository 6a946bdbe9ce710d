"""The engine's hold on an attempt that runs on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, FailureKind, describe_exception
from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.triggers import Ended, Started
from chongming_task.errors import ResultUnavailable
from chongming_task.runtime.codecs import BUILT_IN
from chongming_task.runtime.executors.dask_results import ClusterResults, OnCluster, is_on_cluster
from chongming_task.runtime.executors.dask_worker import BeganAt, pack
from chongming_task.runtime.executors.pickling import dump
from chongming_task.runtime.executors.relayed import RelayedExecution
from chongming_task.runtime.executors.wire import Beat, Pause, Resume, Stop, Told, Wrote
from chongming_task.runtime.ownership import is_alive
from chongming_task.runtime.results import CodecResults

__all__ = ["DaskExecution", "Parcel"]


class Parcel(NamedTuple):
    """An attempt, ready to be sent."""

    key: str  # what Dask calls its task
    sent: bytes
    held: tuple[Any, ...] = ()  # Dask's holds on values that it needs


class Wire(Protocol):
    """What carries words to workers."""

    def tell(self, worker: str, message: Stop | Pause | Resume) -> None:
        """Send a message to the worker where an attempt runs."""
        ...

    def recall(self, execution: DaskExecution, reason: StopReason) -> None:
        """Stop an attempt that has not said where it is; it may be nowhere yet."""
        ...

    def hold(self, key: str) -> Any:
        """Dask's hold on a value that is on the cluster."""
        ...

    def released(self, execution: DaskExecution) -> None:
        """The attempt is over."""
        ...


class DaskExecution(RelayedExecution):
    """An attempt on a cluster. It can be told, held and asked; killing its worker would kill others' tasks along.

    Args:
        request: What to run.
        deliver: Takes its reports.
        serial: Tells it from all others of the executor.
        monotonic: The engine's monotonic clock.
        wire: Carries words to it.
        needs: How much it takes of which worker resource.
    """

    killable = False

    def __init__(
        self,
        request: AttemptRequest,
        deliver: Deliver,
        serial: int,
        monotonic: Callable[[], float],
        *,
        wire: Wire,
        needs: tuple[tuple[str, float], ...] = (),
    ) -> None:
        super().__init__(request, deliver, serial, monotonic)
        self.needs = needs
        self.worker: str | None = None  # its address, once it has begun
        self.future: Any = None  # Dask's hold on its task
        self.sent = False
        self._wire = wire
        self._pause: int | None = None  # is to be told as soon as it is known whom to tell
        self._near = False  # its worker runs on this machine
        self._missed = False  # its end is being looked into

    @property
    def running(self) -> bool:
        """Whether it has begun and has not told its end. The truth as far as anybody here knows it."""
        return self._started and not self._over

    # the engine's side

    def stop(self, reason: StopReason) -> None:
        """Raise in it at its next checkpoint; one that was not sent yet ends here and now."""
        with self._lock:
            if self._over:
                return
            worker, sent = self.worker, self.sent
        if worker is not None:
            self._wire.tell(worker, Stop(self.serial, reason))
        elif sent:
            self._wire.recall(self, reason)
        else:
            self.never_began(reason)

    def pause(self, request: int) -> bool:
        """Hold it at its next checkpoint; one that waits for a worker is told when it begins."""
        with self._lock:
            worker = self.worker
            self._pause = request if worker is None else None
        if worker is not None:
            self._wire.tell(worker, Pause(self.serial, request))
        return True

    def resume(self) -> None:
        """Let it go on."""
        with self._lock:
            worker, self._pause = self.worker, None
        if worker is not None:
            self._wire.tell(worker, Resume(self.serial))

    def kill(self, reason: StopReason) -> None:
        """A thread of a shared worker cannot be killed; the engine does not ask."""
        raise NotImplementedError("a Dask worker's thread cannot be killed")

    # the line's side: its threads, and Dask's event loop

    def parcel(self, topic: str, cluster: str) -> Parcel | None:
        """What is to be sent; None when there is nothing any more. Pickling runs user code: never on the engine's
        thread.

        Args:
            topic: Where its reports go.
            cluster: The scheduler's address.
        """
        with self._lock:
            request = self.taken(over=self._over)
            self.sent = not self._over
        if request is None:
            return None
        key = f"{topic}-{self.serial}"
        try:
            return self._parcel(request, topic, key, cluster)
        except BaseException as error:  # it was checked when it was submitted, and has changed since
            self.finish(Ended(self.attempt, failure=describe_exception(error)))
            return None

    def _parcel(self, request: AttemptRequest, topic: str, key: str, cluster: str) -> Parcel:
        held = {} if request.upstream is None else _held(request.upstream.outcomes(), cluster)
        results = request.results
        if isinstance(results, CodecResults):
            asked = results.codecs[: -len(BUILT_IN)] if results.codecs[-len(BUILT_IN) :] == BUILT_IN else results.codecs
            results = ClusterResults(asked, key, cluster)
        # A mapping proxy cannot be pickled; what a tracer has noted is of use in this process only.
        request = request._replace(kwargs=dict(request.kwargs), results=results, origin=None)
        sent = pack(topic, self.serial, self.attempt, tuple(held), dump(request))
        return Parcel(key, sent, tuple(held.values()))

    def kept(self, future: Any) -> None:
        """Hold on to its task, as long as it is not over."""
        with self._lock:
            if not self._over:
                self.future = future

    def began_at(self, message: BeganAt) -> None:
        """It is known now who is to be told."""
        with self._lock:
            self.worker = message.worker
            pause, self._pause = self._pause, None
        self._near = is_alive(message.process) is not None
        if pause is not None:
            self._wire.tell(message.worker, Pause(self.serial, pause))

    def received(self, message: Beat | Wrote | Told) -> None:
        """Take what the worker says of this attempt."""
        report = message.report if isinstance(message, Told) else None
        if isinstance(report, Started) and not self._near:
            report = report._replace(pid=None)  # a number of another machine would be taken for one of this
        elif isinstance(report, Ended):
            report = self._as_known_here(report)
        super().received(message if report is None else Told(message.serial, report))

    def _as_known_here(self, ended: Ended) -> Ended:
        """Its end, with a hold on the value that has stayed on the cluster, and with why nobody wanted it any more."""
        if is_on_cluster(ended.outcome):
            return ended._replace(outcome=OnCluster(ended.outcome, self._wire.hold(ended.outcome["key"])))
        failure = ended.failure
        if self._missed and failure is not None and failure.kind is FailureKind.CANCELLED:
            said = f"Dask gave the task up, as when somebody cancels it or restarts the cluster: {failure.message}"
            return ended._replace(failure=replace(failure, message=said))
        return ended

    def never_began(self, reason: StopReason) -> None:
        """It was called back in time."""
        self.finish(Ended(self.attempt, failure=reason.obeyed("stopped before it began")))

    def missed(self) -> bool:
        """Dask has given it up, and it has not told its end: whether that is news."""
        with self._lock:
            news = not (self._over or self._missed)
            self._missed = True
        return news

    def could_not_run(self, why: str) -> None:
        """Dask could not run it at all."""
        where = f" on {self.worker}" if self.worker else ""
        hint = "; install chongming-task on every worker" if "chongming_task" in why else ""
        failure = Failure(FailureKind.EXCEPTION, f"Dask could not run the task{where}: {why}{hint}", retryable=True)
        self.finish(Ended(self.attempt, failure=failure))

    def went_with(self, worker: str | None, *, gone: bool) -> None:
        """It was lost with its worker.

        Args:
            worker: Where Dask had sent it; None when nowhere.
            gone: Whether the worker's process is known to have ended: nothing of it runs any more.
        """
        place = "a Dask worker" if worker is None else f"the Dask worker {worker}"
        far = "half-way" if self._started else "before it had said that it began, though it may have"
        if gone:
            said = f"the process of {place} ended, and the task with it, {far}: side effects are possible"
            failure = Failure(FailureKind.NONZERO_EXIT, said, retryable=True)
        else:
            said = (
                f"Dask has lost the task, which it had given to {place}, {far}; whether that worker still runs it is "
                "not known"
            )
            failure = Failure(FailureKind.LOST, said)
        self.finish(Ended(self.attempt, failure=failure))

    def cut_off(self, cluster: str) -> None:
        """The scheduler is out of reach."""
        where = "waited for a worker, or had just begun" if self.worker is None else f"ran on the worker {self.worker}"
        said = (
            f"the connection to the Dask scheduler at {cluster} broke while the task {where}; workers stop when they "
            "lose their scheduler, but how far it came is not known"
        )
        self.finish(Ended(self.attempt, failure=Failure(FailureKind.LOST, said)))

    def _released(self) -> None:
        self.future = None
        self._wire.released(self)


def _held(outcomes: Any, cluster: str) -> dict[str, Any]:
    """Dask's holds on the values that outcomes point to, by key.

    Raises:
        ResultUnavailable: When one of them is gone.
    """
    held = {}
    for outcome in outcomes:
        if is_on_cluster(outcome):
            if not isinstance(outcome, OnCluster) or outcome["cluster"] != cluster or outcome.lost:
                raise ResultUnavailable(
                    f"an upstream result, a {outcome['type']}, is no longer on the Dask cluster at {cluster}: its "
                    "worker or its controller is gone. Reset the node that made it, and start it"
                )
            held[outcome["key"]] = outcome.future
    return held
