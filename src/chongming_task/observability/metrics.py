"""Turns what is told of tasks into numbers, on a thread of its own."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from chongming_task.core.events import AttemptEnded, AttemptStarted, Event, TaskCreated, TaskStatusChanged
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import OCCUPIED, OPEN, TERMINAL, TaskStatus
from chongming_task.core.telemetry import NO_TAGS, MetricsSink, Tags
from chongming_task.observability.listener import Listener, Subscribe

__all__ = ["METRICS", "Metric", "MetricsRecorder"]

S = TaskStatus
_HOLDS_ATTEMPT = OCCUPIED | {S.PAUSED}
_logger = logging.getLogger("chongming_task.metrics")


class Metric(NamedTuple):
    """What one name means."""

    help: str
    tags: tuple[str, ...] = ()


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "chongming_tasks_ended_total": Metric("Tasks that have ended, by how", ("task", "status")),
        "chongming_tasks_open": Metric("Tasks that have not ended, by where they are", ("controller", "status")),
        "chongming_queue_wait_seconds": Metric("From being queued until a worker is asked for", ("task",)),
        "chongming_attempt_duration_seconds": Metric(
            "Attempts, pauses included, by how they ended", ("task", "status")
        ),
        "chongming_retries_total": Metric("Attempts that began after a task's first", ("task",)),
        "chongming_stop_latency_seconds": Metric(
            "From telling a worker to stop until the task has ended", ("task", "status")
        ),
        "chongming_abandoned_threads": Metric("Workers that were given up and still run", ("controller",)),
        "chongming_store_operation_seconds": Metric("Operations of the task store", ("operation",)),
        "chongming_store_failures_total": Metric("Operations of the task store that raised", ("operation",)),
        "chongming_events_dropped_total": Metric("Events that slow subscribers missed"),
    }
)
"""Every metric, with the tags it always has. ``task`` is what a task was declared as, never a record's id or name."""


@dataclass(slots=True)
class _Open:
    """What is known of a record that has not ended, or whose last attempt has not been told of."""

    task: str
    status: TaskStatus
    queued_at: datetime | None = None
    asked_at: datetime | None = None  # to stop


class MetricsRecorder:
    """Listens to one controller, and tells a sink.

    Args:
        sink: Takes the numbers. What it raises is logged once, until it works again.
        controller: What gauges call the controller.
        owner: What records of this controller say of who watches them.
        find: A record of this controller by id, from any thread.
        given_up: How many workers of a record were given up and still run. Called on the engine's thread.
        dropped: How many events subscribers have missed so far.
    """

    def __init__(
        self,
        sink: MetricsSink,
        *,
        controller: str,
        owner: str,
        find: Callable[[str], TaskSnapshot | None],
        given_up: Callable[[str], int],
        dropped: Callable[[], int],
    ) -> None:
        self._sink = sink
        self._controller = controller
        self._owner = owner
        self._find = find
        self._given_up = given_up
        self._dropped = dropped
        self._told_dropped = 0
        self._open: dict[str, _Open] = {}
        self._counts: Counter[TaskStatus] = Counter()
        self._stale: set[TaskStatus] = set()  # whose count has changed since it was told
        self._due = False  # they are about to be told
        self._abandoned: dict[str, int] = {}  # the engine's
        self._failing = False
        self._listener: Listener | None = None

    # from other threads

    def begin(self, subscribe: Subscribe) -> None:
        """Listen from now on."""
        wanted = (TaskCreated, TaskStatusChanged, AttemptStarted, AttemptEnded)
        self._listener = Listener(subscribe, self._heard, wanted)
        self._listener.post(self._zero)

    def changed(self, tasks: Sequence[TaskSnapshot]) -> None:
        """Look at the records that a tick has changed, for what no event tells. On the engine's thread."""
        assert self._listener is not None
        for task in tasks:
            if task.owner != self._owner:
                self._listener.post(partial(self._let_go, task.task_id))
            if task.abandoned or task.task_id in self._abandoned:
                self._count_abandoned(task.task_id)

    def _count_abandoned(self, task_id: str) -> None:
        assert self._listener is not None
        count = self._given_up(task_id)
        if count:
            self._abandoned[task_id] = count
        else:
            self._abandoned.pop(task_id, None)
        total = sum(self._abandoned.values())
        self._listener.post(partial(self._gauge, "chongming_abandoned_threads", total, controller=self._controller))

    def took(self, operation: str, seconds: float, failed: bool) -> None:
        """Take what an operation of the store took; see :mod:`chongming_task.observability.timed_store`."""
        if self._listener is not None:
            self._listener.post(partial(self._operated, operation, seconds, failed), droppable=True)

    def finish(self, seconds: float) -> None:
        """Wait until the sink has been told everything, but not for long."""
        if self._listener is not None:
            self._listener.post(self._catch_up)
            self._listener.finish(seconds)

    # on the thread of its own

    def _zero(self) -> None:
        """What is not there yet is 0 and not unknown."""
        self._gauge("chongming_abandoned_threads", 0, controller=self._controller)
        self._stale |= OPEN
        self._catch_up()

    def _heard(self, event: Event) -> None:
        if isinstance(event, TaskCreated):
            self._watch(event.snapshot, S.PENDING)
        elif isinstance(event, TaskStatusChanged):
            task = self._open.get(event.task_id) or self._watch(self._find(event.task_id), event.from_status)
            if task is not None:
                self._moved(task, event)
        elif (task := self._open.get(event.task_id)) is not None:
            if isinstance(event, AttemptEnded):
                self._attempt_ended(task, event)
            elif isinstance(event, AttemptStarted) and event.attempt > 1:
                self._incr("chongming_retries_total", task=task.task)
        if not self._due:
            assert self._listener is not None
            self._due = True
            self._listener.post(self._catch_up)  # after what is waiting now: of a burst only the outcome is told

    def _watch(self, task: TaskSnapshot | None, status: TaskStatus) -> _Open | None:
        """Keep a record in sight; None when it is not here any more."""
        if task is None:
            return None
        found = self._open[task.task_id] = _Open(task.spec_name or task.name, status)
        self._count(status, 1)
        return found

    def _moved(self, task: _Open, event: TaskStatusChanged) -> None:
        after, at = event.to_status, event.at
        if after is S.QUEUED:
            task.queued_at = at
        elif after is S.STARTING and task.queued_at is not None:
            self._observe("chongming_queue_wait_seconds", _between(task.queued_at, at), task=task.task)
            task.queued_at = None
        if after is S.STOPPING:
            task.asked_at = task.asked_at or at
        self._count(task.status, -1)
        self._count(after, 1)
        task.status = after
        if after in TERMINAL:
            self._ended(task, at)
            if event.from_status not in _HOLDS_ATTEMPT:  # else the end of its attempt comes next
                del self._open[event.task_id]

    def _ended(self, task: _Open, at: datetime) -> None:
        self._incr("chongming_tasks_ended_total", task=task.task, status=task.status)
        if task.asked_at is not None:
            latency = _between(task.asked_at, at)
            self._observe("chongming_stop_latency_seconds", latency, task=task.task, status=task.status)

    def _attempt_ended(self, task: _Open, event: AttemptEnded) -> None:
        if event.seconds is not None:
            how = event.status
            self._observe("chongming_attempt_duration_seconds", event.seconds, task=task.task, status=how)
        if task.status in TERMINAL:
            del self._open[event.task_id]

    def _count(self, status: TaskStatus, change: int) -> None:
        if status in OPEN:
            self._counts[status] += change
            self._stale.add(status)

    def _let_go(self, task_id: str) -> None:
        """A record is somebody else's now."""
        task = self._open.pop(task_id, None)
        if task is not None:
            self._count(task.status, -1)
            self._catch_up()

    def _operated(self, operation: str, seconds: float, failed: bool) -> None:
        self._try(lambda: self._sink.observe("chongming_store_operation_seconds", seconds, {"operation": operation}))
        if failed:
            self._incr("chongming_store_failures_total", operation=operation)

    def _catch_up(self) -> None:
        self._due = False
        stale, self._stale = self._stale, set()
        for status in stale:
            self._gauge("chongming_tasks_open", self._counts[status], controller=self._controller, status=status)
        dropped = self._dropped()
        if dropped > self._told_dropped:
            new, self._told_dropped = dropped - self._told_dropped, dropped
            self._try(lambda: self._sink.incr("chongming_events_dropped_total", new, NO_TAGS))

    # telling the sink

    def _incr(self, name: str, **tags: str) -> None:
        self._try(lambda: self._sink.incr(name, 1, _plain(tags)))

    def _gauge(self, name: str, value: float, **tags: str) -> None:
        self._try(lambda: self._sink.gauge(name, value, _plain(tags)))

    def _observe(self, name: str, seconds: float, **tags: str) -> None:
        self._try(lambda: self._sink.observe(name, seconds, _plain(tags)))

    def _try(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except BaseException:  # the sink's fault is its own: told in the log once, or the log would be full of it
            if not self._failing:
                _logger.exception("the metrics sink raised; not logged again until it works")
            self._failing = True
        else:
            self._failing = False


def _between(since: datetime, until: datetime) -> float:
    return max((until - since).total_seconds(), 0.0)  # the wall clock may have been set back meanwhile


def _plain(tags: Mapping[str, str]) -> Tags:
    """Tags without enums."""
    return {name: str(value) for name, value in tags.items()}
