"""What the drawer under a row shows of one task, cut to what a message may carry. Reads a controller; holds nothing.

A view that follows a task asks again and again. What rarely changes comes with a word that stands for it: a view that
has seen that word is not told again. Output comes from the line that the view had last. Times are Unix milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import blake2s
from typing import Any, Protocol

from chongming_task.core.failures import Failure
from chongming_task.core.records import AttemptRecord, OutputLine, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus
from chongming_task.core.text import clean
from chongming_task.errors import TaskError

__all__ = ["TaskReader", "details_of", "waits_of"]

ATTEMPTS_SHOWN = 50
STEPS_SHOWN = 100
LINES_SHOWN = 300
LINES_CHARS = 40_000  # of all lines of one message
LINE_CHARS = 2_000
VALUE_CHARS = 4_000  # of inputs and of the result
MESSAGE_CHARS = 4_000
WORD_CHARS = 300  # reasons, notes, names
TRACEBACK_CHARS = 40_000
UPSTREAM_SHOWN = 3
UPSTREAM_LOOKED_AT = 200


class TaskReader(Protocol):
    """What is asked of a controller; every question may wait for a store."""

    def get(self, task_id: str, /) -> TaskSnapshot:
        """The record."""

    def attempts(self, task_id: str, /) -> list[AttemptRecord]:
        """Its tries, first to last."""

    def transitions(self, task_id: str, /) -> list[Transition]:
        """Its audit trail."""

    def output(self, task_id: str, /, *, after: int = 0, limit: int | None = None) -> list[OutputLine]:
        """Its lines above ``after``, or the newest ``limit`` of them."""

    def waiting_for(self, task_id: str, /) -> list[str]:
        """The full limits it waits for."""


def details_of(source: TaskReader, task_id: str, *, seen: str, after: int) -> dict[str, Any]:
    """What a view is told of a task.

    Args:
        source: The controller.
        task_id: The task.
        seen: The word for what the view was told last; empty at first.
        after: The number of the last line the view has.
    """
    task = source.get(task_id)
    attempts, trail = source.attempts(task_id), source.transitions(task_id)
    told: dict[str, Any] = {
        "overview": _overview(task),
        "attempts": [_attempt(each) for each in attempts[-ATTEMPTS_SHOWN:]],
        "attempts_cut": max(len(attempts) - ATTEMPTS_SHOWN, 0),
        "history": [_step(each) for each in trail[-STEPS_SHOWN:]],
        "history_cut": max(len(trail) - STEPS_SHOWN, 0),
        "failure": _failure(task.failure),
    }
    word = blake2s(json.dumps(told).encode(), digest_size=8).hexdigest()
    news = {} if word == seen else told
    lines = source.output(task_id, after=after, limit=LINES_SHOWN)
    heard = _ms(task.last_heartbeat_at)  # moves all the time, so it stands beside what the word stands for
    return {"seen": word, "waits": waits_of(source, task_id), "heard": heard, "lines": _lines(lines), **news}


def waits_of(source: TaskReader, task_id: str) -> dict[str, Any] | None:
    """Why a task has not begun; None when it has, or only waits for its turn.

    Returns:
        ``{"limits": ["tag db (4/4)"]}``, or ``{"after": ["extract"], "more": 2}``: what it comes after, and how many
        others.
    """
    task = source.get(task_id)
    if task.status is TaskStatus.QUEUED:
        full = source.waiting_for(task_id)
        return {"limits": [clean(each, WORD_CHARS) for each in full[:UPSTREAM_SHOWN]]} if full else None
    if task.status is not TaskStatus.BLOCKED:
        return None
    names = list(_unfinished(source, task.depends_on[:UPSTREAM_LOOKED_AT]))
    more = max(len(names) - UPSTREAM_SHOWN, 0)
    return {"after": names[:UPSTREAM_SHOWN], "more": more} if names else None


def _unfinished(source: TaskReader, task_ids: Sequence[str]) -> Iterator[str]:
    for task_id in task_ids:
        try:
            task = source.get(task_id)
        except TaskError:  # it was pruned: whoever waits for it is told by the engine
            continue
        if not task.is_terminal:
            yield clean(task.name, WORD_CHARS)


def _overview(task: TaskSnapshot) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "spec": task.spec_name,
        "run": task.pipeline_run_id,
        "node": task.node,
        "owner": task.owner,
        "pid": task.pid,
        "executor": task.executor,
        "bucket": task.bucket_key if task.bucket_key is not None else task.bucket,
        "priority": task.priority or None,
        "created": _ms(task.created_at),
        "queued": _ms(task.queued_at),
        "started": _ms(task.started_at),
        "ended": _ms(task.ended_at),
        "inputs": _value(task.inputs),
        "result": _value(task.outcome),
        "overridden": task.overridden or None,
    }
    return {name: _word(fact) for name, fact in facts.items() if fact is not None}


def _word(fact: Any) -> Any:
    return clean(fact, VALUE_CHARS) if isinstance(fact, str) else fact


def _value(value: Any) -> str | None:
    """JSON as text: what is short on one line."""
    if value is None:
        return None
    short = json.dumps(value, ensure_ascii=False)
    return clean(short if len(short) <= 80 else json.dumps(value, ensure_ascii=False, indent=2), VALUE_CHARS)


def _attempt(each: AttemptRecord) -> dict[str, Any]:
    failure = _failure(each.failure)
    return {
        "attempt": each.attempt,
        "status": each.status.value,
        "started": _ms(each.started_at),
        "ended": _ms(each.ended_at),
        "seconds": each.seconds,
        "paused": round(each.paused_seconds, 3),
        "failure": None if failure is None else clean(failure["title"], WORD_CHARS),
        "pid": each.pid,
        "owner": each.owner,
        "note": None if each.note is None else clean(each.note, WORD_CHARS),
    }


def _step(each: Transition) -> dict[str, Any]:
    return {
        "version": each.version,
        "at": _ms(each.at),
        "from": each.from_status.value,
        "to": each.to_status.value,
        "trigger": clean(each.trigger, WORD_CHARS),
        "actor": clean(each.actor, WORD_CHARS),
        "reason": None if each.reason is None else clean(each.reason, WORD_CHARS),
    }


def _failure(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    name = failure.exception_type.rpartition(".")[2] if failure.exception_type else failure.kind.replace("_", " ")
    message = clean(failure.message, MESSAGE_CHARS)
    return {
        "title": f"{name}: {message}" if message else name,
        "exit_code": failure.exit_code,
        "traceback": None if failure.traceback is None else clean(failure.traceback, TRACEBACK_CHARS),
    }


def _lines(lines: Sequence[OutputLine]) -> list[list[Any]]:
    """The newest lines that fit: number, attempt, stream, level, time and text of each."""
    told: list[list[Any]] = []
    room = LINES_CHARS
    for line in reversed(lines):
        text = clean(line.text, LINE_CHARS)
        room -= len(text) + 40
        if room < 0:
            break
        told.append([line.seq, line.attempt, line.stream, line.level, _ms(line.at), text])
    return told[::-1]


def _ms(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
