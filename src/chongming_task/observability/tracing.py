"""A span for every attempt and for every pipeline run, made where the work is done.

A span begins when its worker does and ends with it, so nothing here waits for the engine, nor the engine for it. What
only the engine knows, that a worker was given up and that a run has ended, is heard on a thread of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from chongming_task.core.events import Event, PipelineRunStatusChanged, TaskStatusChanged
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import AttemptRequest
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.core.telemetry import Span, Tracer
from chongming_task.observability.listener import Listener, Subscribe

__all__ = ["AttemptSpan", "Origin", "Tracing", "attempted"]

_logger = logging.getLogger("chongming_task.tracing")


@dataclass(slots=True)
class Origin:
    """Where a record comes from, for its spans. Kept with it, in memory."""

    name: str  # what the task was declared as
    parent: Any  # what was current at submission
    before: Any = None  # the context of its last attempt's span


class Tracing:
    """The spans of one controller.

    Args:
        tracer: Makes them. What it raises is logged, and costs the span.
        executor: What the controller's executor is called.
        find: A record of this controller by id, from any thread.
    """

    def __init__(self, tracer: Tracer, *, executor: str, find: Callable[[str], TaskSnapshot | None]) -> None:
        self.tracer = tracer
        self.executor = executor
        self._find = find
        self._lock = threading.Lock()
        self._open: dict[tuple[str, int], AttemptSpan] = {}
        self._runs: dict[str, _RunSpan] = {}
        self._listener: Listener | None = None

    def begin(self, subscribe: Subscribe) -> None:
        """Listen from now on."""
        self._listener = Listener(subscribe, self._heard, (TaskStatusChanged, PipelineRunStatusChanged))

    def finish(self, seconds: float) -> None:
        """Wait until everything that has ended is told, but not for long; then end what is left open."""
        if self._listener is not None:
            self._listener.finish(seconds)
        with self._lock:
            attempts, runs = list(self._open.values()), list(self._runs.values())
            self._open.clear()
            self._runs.clear()
        for attempt in attempts:
            attempt.end(str(TaskStatus.LOST), _GIVEN_UP)
        for run in runs:
            run.end({}, _GIVEN_UP)

    # where the work is submitted, and done

    def origin(self, name: str) -> Origin:
        """Note what is current here, for a record that is submitted now."""
        # In the caller's own thread: his Ctrl-C is his.
        return Origin(name, attempted("tell what is current", self.tracer.current, faults=Exception))

    def attempt(self, request: AttemptRequest) -> AttemptSpan:
        """The span of an attempt, not begun yet."""
        return AttemptSpan(self, request)

    def parent_of(self, request: AttemptRequest) -> Any:
        """The span of the run the attempt belongs to, begun with its first attempt; else what was current before."""
        parent = request.origin.parent if request.origin is not None else None
        run_id = request.pipeline_run_id
        if run_id is None:
            return parent
        with self._lock:
            run = self._runs.setdefault(run_id, _RunSpan())
        return run.begin(lambda: self._start_run(run_id, parent)).context

    def _start_run(self, run_id: str, parent: Any) -> Span:
        name = run_id.rpartition(":")[0] or run_id
        attributes = {"chongming.pipeline.name": name, "chongming.pipeline_run.id": run_id}
        return self.tracer.start(name, parent=parent, links=(), attributes=attributes)

    def opened(self, key: tuple[str, int], span: AttemptSpan) -> None:
        """Keep a span that has begun; whatever was kept for the same attempt has been forgotten by a reset."""
        with self._lock:
            forgotten, self._open[key] = self._open.get(key), span
        if forgotten is not None:
            forgotten.end(str(TaskStatus.LOST), _GIVEN_UP)

    def closed(self, key: tuple[str, int], span: AttemptSpan) -> None:
        """It has ended."""
        with self._lock:
            if self._open.get(key) is span:
                del self._open[key]

    def outcome(self, task_id: str, failure: Failure | None) -> str:
        """How an attempt counts that its worker has told the end of."""
        if failure is None:
            return str(TaskStatus.SUCCEEDED)
        if failure.kind is not FailureKind.CANCELLED:
            return str(TaskStatus.FAILED)
        task = self._find(task_id)
        cancelled = task is not None and task.requested_action is RequestedAction.CANCEL
        return str(TaskStatus.CANCELLED if cancelled else TaskStatus.STOPPED)

    # on the thread of its own

    def _heard(self, event: Event) -> None:
        if isinstance(event, PipelineRunStatusChanged):
            self._run_moved(event.task_id, PipelineRunStatus(event.to_status))
        elif isinstance(event, TaskStatusChanged) and event.to_status is TaskStatus.LOST:
            self._lost(event.task_id)

    def _run_moved(self, run_id: str, status: PipelineRunStatus) -> None:
        if not status.is_terminal:
            return
        with self._lock:
            run = self._runs.pop(run_id, None)
        if run is not None:
            failure = _RUN_FAILED if status is PipelineRunStatus.FAILED else None
            run.end({"chongming.pipeline_run.status": str(status)}, failure)

    def _lost(self, task_id: str) -> None:
        """A worker was given up: its span ends here, whatever it goes on to do."""
        task = self._find(task_id)
        if task is None or task.status is not TaskStatus.LOST:
            return  # it was taken up again meanwhile: which attempt was lost cannot be told any more
        with self._lock:
            span = self._open.get((task_id, task.attempt))
        if span is not None:
            span.end(str(TaskStatus.LOST), task.failure or _GIVEN_UP)


_GIVEN_UP = Failure(FailureKind.LOST, "its end was not heard of")
_RUN_FAILED = Failure(FailureKind.DEPENDENCY_FAILED, "the pipeline run failed")


class _RunSpan:
    """The span of one run. Begins with its first attempt; who ends it does not wait for a tracer that is stuck."""

    def __init__(self) -> None:
        self._starting = threading.Lock()  # a run's own: a tracer that is stuck on one run holds up no other
        self._lock = threading.Lock()
        self._span: Span | None = None
        self._told: tuple[Mapping[str, Any], Failure | None] | None = None  # how it ended, also while it is started
        self._over = False

    def begin(self, start: Callable[[], Span]) -> Span:
        """The span, started unless that is done already."""
        with self._starting:
            if self._span is None:
                self._span = start()
                self._settle()
            return self._span

    def end(self, attributes: Mapping[str, Any], failure: Failure | None) -> None:
        """End it, as soon as it has begun. Called once."""
        self._told = attributes, failure
        self._settle()

    def _settle(self) -> None:
        with self._lock:
            span, told = self._span, self._told
            if span is None or told is None or self._over:
                return
            self._over = True
        attempted("end a span", partial(span.end, *told))


class AttemptSpan:
    """The span of one attempt. Begins once, ends once, in whichever threads that happens.

    Args:
        tracing: The controller's.
        request: The attempt.
    """

    def __init__(self, tracing: Tracing, request: AttemptRequest) -> None:
        self._tracing = tracing
        self._request = request
        self._lock = threading.Lock()
        self._begun = self._over = False
        self.span: Span | None = None  # None as well when the tracer failed

    def begin(self) -> Span | None:
        """Start it, unless that is done already."""
        with self._lock:
            if self._begun:
                return self.span
            self._begun = True
            self.span = attempted("start a span", self._start)
        if self.span is not None:
            self._tracing.opened(self._key, self)
        return self.span

    def end(self, status: str, failure: Failure | None) -> None:
        """End it, if it has begun and nobody has ended it."""
        with self._lock:
            over, self._over = self._over, True
            self._begun = True  # what has ended does not begin any more
        span = self.span
        if over or span is None:
            return
        self._tracing.closed(self._key, self)
        attributes = {"chongming.task.status": status}
        if failure is not None:
            attributes["chongming.task.failure_kind"] = str(failure.kind)
        error = None if failure is None or failure.kind is FailureKind.CANCELLED else failure
        attempted("end a span", lambda: span.end(attributes, error))

    def told_end(self, failure: Failure | None) -> None:
        """End it as its worker says."""
        self.end(self._tracing.outcome(self._request.task_id, failure), failure)

    @property
    def _key(self) -> tuple[str, int]:
        return self._request.task_id, self._request.attempt

    def _start(self) -> Span:
        request, origin = self._request, self._request.origin
        span = self._tracing.tracer.start(
            request.name if origin is None else origin.name,
            parent=self._tracing.parent_of(request),
            links=() if origin is None or origin.before is None else (origin.before,),
            attributes=_attributes(request, self._tracing.executor),
        )
        if origin is not None:
            origin.before = span.context
        return span


def _attributes(request: AttemptRequest, executor: str) -> Mapping[str, Any]:
    found = {
        "chongming.task.id": request.task_id,
        "chongming.task.name": request.name,
        "chongming.task.attempt": request.attempt,
        "chongming.task.executor": executor,
    }
    if request.pipeline_run_id is not None:
        found["chongming.pipeline_run.id"] = request.pipeline_run_id
    return found


def attempted(what: str, call: Callable[[], Any], *, faults: type[BaseException] = BaseException) -> Any:
    """What a tracer gives; None when it raises, which is its own fault and costs no task anything.

    Not even SystemExit goes further: it would take along the report that is being told, and whoever waits for it.
    """
    try:
        return call()
    except faults:
        _logger.exception("the tracer could not %s", what)
        return None
