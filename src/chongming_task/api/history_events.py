"""The events of one record, rebuilt from what is stored of it. Pure.

What is stored tells of every change, of attempts since the last reset, of the lines that are kept, and of the newest
progress; heartbeats, earlier progress and what a task emitted are told live only. An event that is rebuilt has the id
it was told with, so it equals the one a subscriber has heard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from chongming_task.core.events import Event, TaskCreated, TaskLogLine, TaskOutput
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.errors import ConfigurationError
from chongming_task.runtime import narrate

__all__ = ["chosen", "needs_output", "rebuilt"]

S = TaskStatus
_IDENTITY = TaskSnapshot._fields.index("inputs") + 1  # fields that never change


class _Aside(NamedTuple):
    """What was told between two changes."""

    attempt: int
    event: Event


class _Place(NamedTuple):
    """An edge, and where it stands in the record's attempts."""

    edge: Transition
    attempt: int
    epoch: int  # how often the record had been reset: attempts count anew
    closes: bool  # the attempt is over


def rebuilt(
    task: TaskSnapshot, trail: Sequence[Transition], attempts: Sequence[AttemptRecord], lines: Sequence[OutputLine]
) -> Iterator[Event]:
    """The events, in the order in which they were told.

    Args:
        task: The record.
        trail: Its transitions.
        attempts: Its attempts.
        lines: Its output.
    """
    yield _created(task, attempts)
    asides = _Asides(task, lines)
    ended = {each.attempt: each for each in attempts if each.ended_at is not None}
    places = list(_places(trail))
    newest = places[-1].epoch if places else 0
    for place in places:
        edge, attempt, epoch, closes = place
        if epoch == newest:
            yield from asides.before(place)
        yield from narrate.edge_events(task, edge, attempt)
        if epoch == newest:
            asides.passed(place)
            if closes and attempt in ended:
                yield narrate.attempt_ended(task, ended[attempt], edge.version)
    yield from asides.rest()


def needs_output(wanted: tuple[type[Event], ...], since: datetime | str | None) -> bool:
    """Whether the lines have to be read."""
    return isinstance(since, str) or any(issubclass(each, wanted) for each in (TaskOutput, TaskLogLine))


def chosen(history: Iterable[Event], wanted: tuple[type[Event], ...], since: Any) -> list[Event]:
    """The events a caller wants.

    Args:
        history: All of them.
        wanted: Their classes.
        since: The first moment, or the id of the last event that is known.

    Raises:
        ConfigurationError: For a moment without a time zone, or an id that is not there.
    """
    if since is None:
        return [event for event in history if isinstance(event, wanted)]
    if isinstance(since, str):
        events = list(history)
        known = next((number for number, event in enumerate(events) if event.event_id == since), None)
        if known is None:
            raise ConfigurationError(
                f"no stored event of this record has the id {since!r:.200}; heartbeats, what a task emitted and all "
                "progress but the newest are not stored: give the time instead, since=event.at"
            )
        return [event for event in events[known + 1 :] if isinstance(event, wanted)]
    if not isinstance(since, datetime) or since.tzinfo is None:
        raise ConfigurationError(
            f"since takes a datetime with a time zone, such as datetime.now(UTC), or an event_id, got {since!r:.100}"
        )
    return [event for event in history if event.at >= since and isinstance(event, wanted)]


def _created(task: TaskSnapshot, attempts: Sequence[AttemptRecord]) -> TaskCreated:
    owner = attempts[0].owner if attempts else task.owner
    fresh: dict[str, Any] = dict(zip(TaskSnapshot._fields, task[:_IDENTITY], strict=False))
    return narrate.created(TaskSnapshot(**fresh, max_attempts=task.max_attempts, owner=owner))


def _places(trail: Sequence[Transition]) -> Iterator[_Place]:
    attempt = epoch = 0
    live = False
    for edge in trail:
        forced = edge.trigger == "force:override"
        if edge.trigger == "scheduler:dispatch":
            attempt, live = attempt + 1, True
        elif edge.to_status is S.PENDING and not forced:
            attempt, epoch = 0, epoch + 1
        closes = live and (forced or edge.to_status in TERMINAL or edge.to_status is S.RETRY_WAIT)
        live = live and not closes
        yield _Place(edge, attempt, epoch, closes)


class _Asides:
    """Lines and progress on their way to their places: after their attempt began, and by their time."""

    def __init__(self, task: TaskSnapshot, lines: Sequence[OutputLine]) -> None:
        events = narrate.wrote(task, lines)
        self._lines = deque(_Aside(line.attempt, event) for line, event in zip(lines, events, strict=True))
        self._progress: deque[_Aside] = deque()
        if task.progress is not None and task.progress.updated_at is not None:
            told = narrate.progressed(task, task.progress, task.progress.updated_at)
            self._progress.append(_Aside(task.attempt, told))
        self._begun = 0  # the newest attempt that has

    def passed(self, place: _Place) -> None:
        """An edge was told."""
        if place.edge.to_status is S.RUNNING:
            self._begun = max(self._begun, place.attempt)

    def before(self, place: _Place) -> Iterator[Event]:
        """What was told before an edge."""
        while (queue := self._next()) is not None and self._precedes(queue[0], place):
            yield queue.popleft().event

    def _precedes(self, aside: _Aside, place: _Place) -> bool:
        # A worker is a little ahead of the engine, which notes its beginning later: the time alone does not tell.
        if place.closes and aside.attempt == place.attempt:
            return aside.event.at <= place.edge.at
        return aside.attempt <= self._begun and aside.event.at < place.edge.at

    def rest(self) -> Iterator[Event]:
        """What was told last."""
        while (queue := self._next()) is not None:
            yield queue.popleft().event

    def _next(self) -> deque[_Aside] | None:
        """The queue whose first is the older one."""
        waiting = [queue for queue in (self._lines, self._progress) if queue]
        return min(waiting, key=lambda queue: queue[0].event.at, default=None)
