"""What the browser is told of one task: a snapshot as a flat row, and rows as columns. Pure.

``js/src/wire/protocol.ts`` mirrors this module. Times cross as whole milliseconds since the feed's start, texts are cut
to what a row can show, and a field that has its default value is not sent at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from chongming_task.core.failures import Failure
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import BROKEN, TERMINAL, VERB_TABLE, Outcome, TaskStatus, Verb, situation_index

__all__ = [
    "DEFAULT_ROW",
    "EVERYTHING",
    "VIEW_VERBS",
    "Row",
    "changed_fields",
    "display_key",
    "make_blocks",
    "make_row",
    "situations",
    "status_of",
]

NAME_CHARS = 200
TEXT_CHARS = 160
TAGS_SHOWN = 8

VIEW_VERBS = (Verb.PAUSE, Verb.RESUME, Verb.STOP, Verb.RETRY, Verb.CANCEL, Verb.SKIP, Verb.RESET)
"""The verbs a view may send, in the order in which a situation's rules are sent."""


class Row(NamedTuple):
    """One task on the wire."""

    id: str = ""
    name: str = ""
    tags: tuple[str, ...] = ()
    created: int | None = None
    tries_max: int = 1
    situation: int = 0  # row of the verb table; gives the status as well
    asked: str | None = None  # what somebody wants it to become
    attempt: int = 0
    queued: int | None = None
    started: int | None = None
    ended: int | None = None
    retry_at: int | None = None
    grace_until: int | None = None
    done: float | None = None
    total: float | None = None
    unit: str | None = None
    note: str | None = None  # the progress message
    progress_at: int | None = None
    failure: str | None = None  # its first line
    abandoned: bool = False
    node: str | None = None  # its name in its pipeline
    past: int = 0  # status_version where its attempts and pauses are more than this row tells; 0: it tells all
    by_hand: bool = False  # a status was set by hand: then the times here may be of something else than an attempt


DEFAULT_ROW = Row()
EVERYTHING = (1 << len(Row._fields)) - 1
"""The set of all fields, as ``changed_fields`` gives it."""


def make_row(task: TaskSnapshot, epoch_ms: int) -> Row:
    """The row of a snapshot.

    Args:
        task: The snapshot.
        epoch_ms: The feed's start in Unix milliseconds.
    """

    def at(time: datetime | None) -> int | None:
        return None if time is None else round(time.timestamp() * 1000) - epoch_ms

    progress = task.progress or _NO_PROGRESS
    return Row(
        id=task.task_id,
        name=_cut(task.name, NAME_CHARS),
        tags=tuple(_cut(tag, TEXT_CHARS) for tag in sorted(task.tags)[:TAGS_SHOWN]),
        created=at(task.created_at),
        tries_max=task.max_attempts,
        situation=situation_index(task.status, task.live),
        asked=task.requested_action.value if task.requested_action else None,
        attempt=task.attempt,
        queued=at(task.queued_at),
        started=at(task.started_at),
        ended=at(task.ended_at),
        retry_at=at(task.retry_at),
        grace_until=at(task.grace_until),
        done=_finite(progress.done),
        total=_finite(progress.total),
        unit=_line(progress.unit),
        note=_line(progress.message),
        progress_at=at(progress.updated_at),
        failure=_failure_line(task.failure),
        abandoned=task.abandoned,
        node=task.node,
        past=task.status_version if _has_past(task) else 0,
        by_hand=task.overridden,
    )


_NO_PROGRESS = Progress()

_PLAIN_STEPS: Mapping[TaskStatus, int] = {
    TaskStatus.STARTING: 3,
    TaskStatus.RUNNING: 4,
    TaskStatus.PAUSING: 5,
    TaskStatus.STOPPING: 4,
    TaskStatus.SUCCEEDED: 5,
    TaskStatus.FAILED: 5,
    TaskStatus.LOST: 4,
}
"""Within so many changes of status a first attempt cannot have been paused, and it has the times of its record."""


def _has_past(task: TaskSnapshot) -> bool:
    """Whether its attempts cannot be told from the snapshot: there were several, or pauses, or it goes on after one.

    In doubt it says yes: then somebody looks, and finds nothing more.
    """
    if task.attempt == 0:
        return False
    return task.attempt > 1 or task.overridden or task.status_version > _PLAIN_STEPS.get(task.status, 0)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _line(text: str | None) -> str | None:
    """The first line that says something, cut to what a row can show."""
    if not text:
        return None
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _cut(first, TEXT_CHARS) or None


def _finite(number: float | None) -> float | None:
    """JSON knows no NaN and no infinity; a whole float is sent as an int."""
    if number is None or not math.isfinite(number):
        return None
    return int(number) if number == int(number) else round(number, 6)


def _failure_line(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    message = _line(failure.message)
    if failure.exception_type is None:
        return message or failure.kind.value.replace("_", " ")
    name = failure.exception_type.rpartition(".")[2]
    return _cut(f"{name}: {message}" if message else name, TEXT_CHARS)


# ---- what changed, as a set of bits, one a field


def changed_fields(before: Row, after: Row) -> int:
    """The fields that differ, as bits in the order of ``Row``."""
    if before == after:
        return 0
    return sum(1 << index for index, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)


_COLUMNS: dict[int, tuple[tuple[str, int], ...]] = {}


def _columns_of(fields: int) -> tuple[tuple[str, int], ...]:
    """Name and position of each field in a set of bits."""
    if fields not in _COLUMNS:
        _COLUMNS[fields] = tuple((name, i) for i, name in enumerate(Row._fields) if fields >> i & 1)
    return _COLUMNS[fields]


def make_blocks(rows: Iterable[tuple[int, Row, int]]) -> list[dict[str, Any]]:
    """Rows as column blocks: those that changed in the same fields share one.

    Args:
        rows: Row number, row and changed fields. ``EVERYTHING`` sends the whole row: the fields that differ from the
            default, in a block marked ``whole``.
    """
    groups: dict[tuple[bool, int], list[tuple[int, Row]]] = defaultdict(list)
    for number, row, fields in rows:
        whole = fields == EVERYTHING
        groups[whole, changed_fields(DEFAULT_ROW, row) if whole else fields].append((number, row))
    return [_block(whole, fields, members) for (whole, fields), members in groups.items()]


def _block(whole: bool, fields: int, members: Sequence[tuple[int, Row]]) -> dict[str, Any]:
    block: dict[str, Any] = {
        "rows": [number for number, _ in members],
        "cols": {name: [row[position] for _, row in members] for name, position in _columns_of(fields)},
    }
    return {"whole": True, **block} if whole else block


# ---- situations: the verb table as the browser gets it

_LETTERS: Mapping[Outcome, str] = {Outcome.ACT: "a", Outcome.NOOP: "n", Outcome.REFUSED: "r"}
_AT_WORK = frozenset({TaskStatus.STARTING, TaskStatus.RUNNING, TaskStatus.PAUSING, TaskStatus.STOPPING})


def _rank(status: TaskStatus, in_place: bool | None) -> int:
    """Its place in the default order: active, then failed and lost, then waiting, then ended."""
    if status in _AT_WORK or in_place:
        return 0
    if status in BROKEN:
        return 1
    return 3 if status in TERMINAL else 2


_RANKS = tuple(_rank(row.status, row.in_place) for row in VERB_TABLE)


def situations() -> list[dict[str, Any]]:
    """The verb table, a line a situation, so that the browser holds no rule of its own."""
    return [
        {
            "status": row.status.value,
            "held": row.in_place,
            "rank": rank,
            "rules": "".join(_LETTERS[row.rules[verb].outcome] for verb in VIEW_VERBS),
        }
        for row, rank in zip(VERB_TABLE, _RANKS, strict=True)
    ]


def status_of(row: Row) -> TaskStatus:
    """The status of a row."""
    return VERB_TABLE[row.situation].status


def display_key(row: Row) -> tuple[int, int]:
    """Sorts rows as the panel shows them at first: by rank, newest activity first."""
    activity = next((time for time in (row.ended, row.started, row.queued, row.created) if time is not None), 0)
    return _RANKS[row.situation], -activity
