"""Records as rows of a table, and one record as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from chongming_task.cli.render.documents import json_text
from chongming_task.cli.render.table import Cell, Column, table
from chongming_task.cli.render.text import one_line, pad, plain
from chongming_task.cli.render.units import clock_time, elapsed, moment, progress_text, span
from chongming_task.core.failures import Failure
from chongming_task.core.records import AttemptRecord, Command, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus as S

__all__ = ["counts_line", "detail", "status_cell", "status_page", "task_table", "trail_table"]

_RED, _GREEN, _YELLOW, _BLUE, _DIM = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[2m"
_STYLES = {
    S.RUNNING: _BLUE,
    S.STARTING: _BLUE,
    S.SUCCEEDED: _GREEN,
    S.FAILED: _RED,
    S.LOST: _RED,
    S.PAUSING: _YELLOW,
    S.PAUSED: _YELLOW,
    S.STOPPING: _YELLOW,
    S.RETRY_WAIT: _YELLOW,
    S.STOPPED: _DIM,
    S.CANCELLED: _DIM,
    S.SKIPPED: _DIM,
}
_COLUMNS = (
    Column("ID"),
    Column("NAME", widest=40),
    Column("STATUS"),
    Column("TRY", right=True),
    Column("PROGRESS", widest=32),
    Column("TIME", right=True),
    Column("DETAIL", widest=200),
)


def status_cell(status: S, colour: bool) -> Cell:
    """A status; its colour only repeats its word."""
    return Cell(status.value, _STYLES.get(status, "") if colour else "")


def detail(task: TaskSnapshot, watched: bool | None, now: datetime) -> str:
    """What else is worth knowing of a record, in one sentence; empty for nothing."""
    said = _cause(task.failure)
    if watched is False:
        return "nobody watches it: its process is gone, see reconcile"
    if task.abandoned:
        return f"its worker was given up and may still run; {said}"
    if task.requested_action is not None and not task.is_terminal:
        return f"asked to {task.requested_action}"
    if task.status is S.RETRY_WAIT and task.retry_at is not None:
        return f"again in {span((task.retry_at - now).total_seconds())}; {said}"
    if said:
        return said
    return task.progress.message or "" if task.progress is not None else ""


def _cause(failure: Failure | None) -> str:
    """The first line of what went wrong."""
    if failure is None:
        return ""
    kind = (failure.exception_type or "").rpartition(".")[2]
    first = failure.message.strip().partition("\n")[0]
    return f"{kind}: {first}" if kind and first else first or kind or failure.kind.value


def task_table(
    tasks: Sequence[TaskSnapshot],
    short: Mapping[str, str],
    watched: Mapping[str, bool | None],
    now: datetime,
    *,
    colour: bool = False,
    room: int | None = None,
) -> list[str]:
    """Records as a table, the lines of it.

    Args:
        tasks: What to show, in this order.
        short: What to call each, by its id.
        watched: Whether its controller lives, by its id.
        now: The time.
        colour: Whether the terminal has colours.
        room: How wide the lines may be.
    """
    rows: list[list[Cell | str]] = [
        [
            short[task.task_id],
            task.name,
            status_cell(task.status, colour),
            f"{task.attempt}/{task.max_attempts}",
            progress_text(task.progress),
            elapsed(task, now),
            detail(task, watched.get(task.task_id), now),
        ]
        for task in tasks
    ]
    return table(_COLUMNS, rows, room)


def counts_line(counts: Mapping[S, int]) -> str:
    """How many records are in each status."""
    said = [f"{counts[status]} {status}" for status in S if counts.get(status)]
    return ", ".join(said) if said else "no tasks"


def trail_table(trail: Sequence[Transition], colour: bool, room: int | None) -> list[str]:
    """A record's changes."""
    columns = (Column("TIME"), Column("FROM"), Column("TO"), Column("BY"), Column("ACTOR", widest=40), Column("REASON"))
    rows = [
        [
            clock_time(edge.at),
            edge.from_status.value,
            status_cell(edge.to_status, colour),
            edge.trigger,
            edge.actor,
            edge.reason or "",
        ]
        for edge in trail
    ]
    return table(columns, rows, room)


def status_page(
    task: TaskSnapshot,
    *,
    attempts: Sequence[AttemptRecord],
    trail: Sequence[Transition],
    commands: Sequence[Command],
    watched: bool | None,
    now: datetime,
    verbose: bool = False,
    colour: bool = False,
    room: int | None = None,
) -> list[str]:
    """All about one record, the lines of it."""
    lines = [f"{pad(label, 11)} {text}" for label, text in _facts(task, watched, now, verbose) if text]
    if attempts:
        lines += ["", "Attempts", *_attempt_table(attempts, colour, room)]
    if trail:
        lines += ["", f"Changes, from {moment(trail[0].at)}", *trail_table(trail, colour, room)]
    if commands:
        lines += ["", "Asked from elsewhere", *_command_table(commands, room)]
    if verbose and task.failure is not None and task.failure.traceback:
        lines += ["", "Traceback", *plain(task.failure.traceback).rstrip().split("\n")]
    return lines


def _facts(task: TaskSnapshot, watched: bool | None, now: datetime, verbose: bool) -> list[tuple[str, str]]:
    asked = f", asked to {task.requested_action}" if task.requested_action is not None else ""
    gone = "; its process is gone, see reconcile" if watched is False else ""
    failure = task.failure
    facts = [
        ("id", task.task_id),
        ("name", one_line(task.name)),
        ("task", one_line(task.spec_name or "") if task.spec_name != task.name else ""),
        ("status", f"{task.status}{asked}{', set by hand' if task.overridden else ''}{gone}"),
        ("attempt", f"{task.attempt} of {task.max_attempts}"),
        ("progress", _progress(task)),
        ("created", moment(task.created_at)),
        ("started", "" if task.started_at is None else moment(task.started_at)),
        ("ended", "" if task.ended_at is None else moment(task.ended_at)),
        ("time", elapsed(task, now)),
        ("tags", one_line(", ".join(sorted(task.tags)))),
        ("run", "" if task.pipeline_run_id is None else f"{task.pipeline_run_id}, node {one_line(task.node or '')}"),
        ("bucket", "" if task.bucket is None else f"{task.bucket}, key {one_line(task.bucket_key or '')}"),
        ("executor", _executor(task)),
        ("owner", one_line(task.owner or "")),
        ("failure", "" if failure is None else one_line(f"{failure.kind}: {_cause(failure)}")),
    ]
    if verbose:
        facts.append(("arguments", "" if task.inputs is None else json_text(task.inputs)))
        facts.append(("result", "" if task.outcome is None else json_text(task.outcome)))
    return facts


def _progress(task: TaskSnapshot) -> str:
    message = "" if task.progress is None else task.progress.message or ""
    return one_line(f"{progress_text(task.progress)} {message}".strip())


def _executor(task: TaskSnapshot) -> str:
    process = "" if task.pid is None else f", process {task.pid}"
    return f"{one_line(task.executor or '')}{process}{', its worker may still run' if task.abandoned else ''}"


def _attempt_table(attempts: Sequence[AttemptRecord], colour: bool, room: int | None) -> list[str]:
    columns = (
        Column("TRY", right=True),
        Column("STATUS"),
        Column("STARTED"),
        Column("TOOK", right=True),
        Column("END"),
    )
    rows: list[list[Cell | str]] = []
    for each in attempts:
        end = each.note or ""
        if each.failure is not None:
            end = f"{each.failure.kind}: {_cause(each.failure)}{f'; {end}' if end else ''}"
        took = "" if each.seconds is None else span(each.seconds)
        rows.append([str(each.attempt), status_cell(each.status, colour), moment(each.started_at), took, end])
    return table(columns, rows, room)


def _command_table(commands: Sequence[Command], room: int | None) -> list[str]:
    columns = (Column("TIME"), Column("VERB"), Column("ACTOR", widest=40), Column("ANSWER"))
    rows = [[clock_time(each.created_at), each.verb, each.actor, _answer(each)] for each in commands]
    return table(columns, rows, room)


def _answer(command: Command) -> str:
    outcome = command.outcome
    if command.completed_at is None or not isinstance(outcome, Mapping):
        return "none yet" if command.completed_at is None else ""
    if not outcome.get("ok"):
        return f"refused: {outcome.get('message', '')}"
    return f"done, {outcome.get('status', '')}" if outcome.get("acted") else "nothing to do"
