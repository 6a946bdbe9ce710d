"""Tables that need no widget: what a front end without widgets, a converted notebook or a terminal shows.

They are made once, when a panel is shown, and stay in the file like that: each says of when it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape

from chongming_task.core.states import TaskStatus
from chongming_task.notebook.rows import Row, status_of

__all__ = ["html_table", "summary_line", "text_table"]

ROWS_SHOWN = 60
"""A saved notebook carries these tables: a few kilobytes at most."""

_HEADINGS = ("status", "name", "progress", "try", "time")

# Beside the word, so that the state is never told by a glyph or a colour alone.
_GLYPHS: Mapping[TaskStatus, str] = {
    TaskStatus.PENDING: "○",
    TaskStatus.BLOCKED: "◌",
    TaskStatus.QUEUED: "○",
    TaskStatus.STARTING: "◔",
    TaskStatus.RUNNING: "●",
    TaskStatus.PAUSING: "◐",
    TaskStatus.PAUSED: "⏸",
    TaskStatus.RETRY_WAIT: "↻",
    TaskStatus.STOPPING: "■",
    TaskStatus.SUCCEEDED: "✓",
    TaskStatus.FAILED: "✕",
    TaskStatus.STOPPED: "■",
    TaskStatus.CANCELLED: "⊘",
    TaskStatus.SKIPPED: "⤼",
    TaskStatus.LOST: "?",
}

# Their failure mostly repeats the status: how far they came says more.
_ENDED_BY_HAND = frozenset({TaskStatus.STOPPED, TaskStatus.CANCELLED, TaskStatus.SKIPPED})


def summary_line(title: str, counts: Mapping[str, int]) -> str:
    """``nightly-etl: 480 tasks, 8 running, 3 failed, 312 succeeded``."""
    total = sum(counts.values())
    parts = [f"{total:,} {'task' if total == 1 else 'tasks'}" if total else "no tasks yet"]
    parts += [f"{counts[status]:,} {_word(status)}" for status in TaskStatus if counts.get(status)]
    return f"{title or 'Tasks'}: {', '.join(parts)}"


def text_table(title: str, counts: Mapping[str, int], rows: Sequence[Row], now_ms: int, shown_at: datetime) -> str:
    """The tasks as aligned text.

    Args:
        title: Heads the table.
        counts: How many tasks are in each status.
        rows: In the order to show; at most ``ROWS_SHOWN`` are.
        now_ms: The rows' present, on their own clock.
        shown_at: The same moment as the reader's clock tells it.
    """
    lines = [_HEADINGS, *(_cells(row, now_ms) for row in rows[:ROWS_SHOWN])] if rows else []
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))] if lines else []
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([summary_line(title, counts), _as_of(shown_at), *table, *_rest(counts, rows)])


def html_table(title: str, counts: Mapping[str, int], rows: Sequence[Row], now_ms: int, shown_at: datetime) -> str:
    """The tasks as an HTML table without style or script, every text escaped.

    Args:
        title: Heads the table.
        counts: How many tasks are in each status.
        rows: In the order to show; at most ``ROWS_SHOWN`` are.
        now_ms: The rows' present, on their own clock.
        shown_at: The same moment as the reader's clock tells it.
    """
    head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(row, now_ms))}</tr>" for row in rows[:ROWS_SHOWN]
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    rest = "".join(f"<p>{line}</p>" for line in _rest(counts, rows))
    heading = f"<p><b>{escape(summary_line(title, counts))}</b></p><p>{_as_of(shown_at)}</p>"
    return f"<div>{heading}{table}{rest}</div>"


def _as_of(shown_at: datetime) -> str:
    """With the date, for a file is mostly read on another day."""
    when = shown_at.strftime("%Y-%m-%d %H:%M")
    return f"as of {when} (when this was shown); open the notebook with its kernel for the live view"


def _rest(counts: Mapping[str, int], rows: Sequence[Row]) -> list[str]:
    left_out = sum(counts.values()) - min(len(rows), ROWS_SHOWN)
    return [f"… and {left_out:,} more"] if left_out > 0 else []


def _cells(row: Row, now_ms: int) -> tuple[str, ...]:
    status = status_of(row)
    word = _word(status) if row.asked is None else f"{_word(status)} (asked: {row.asked})"
    return (
        f"{_GLYPHS[status]} {word}",
        _one_line(row.name),
        _one_line(_progress(row)),
        f"{row.attempt}/{row.tries_max}" if row.attempt else "",
        _time(row, now_ms),
    )


def _word(status: TaskStatus | str) -> str:
    return str(status).replace("_", " ")


def _progress(row: Row) -> str:
    if not row.abandoned:
        return _news(row)
    if status_of(row) is TaskStatus.LOST:
        return "still running in the background"
    return " · ".join(filter(None, (_news(row), "an earlier worker still runs in the background")))


def _news(row: Row) -> str:
    amount = _amount(row)
    if row.failure is not None and not (amount and status_of(row) in _ENDED_BY_HAND):
        return row.failure
    return amount or row.note or ""


def _amount(row: Row) -> str:
    if row.done is None:
        return ""
    amount = f"{row.done:,}" if row.total is None else f"{row.done:,}/{row.total:,}"
    return f"{amount} {row.unit}" if row.unit else amount


def _time(row: Row, now_ms: int) -> str:
    end = _clock_end(row, now_ms)
    if row.started is None or end is None or end < row.started:
        return ""
    milliseconds = end - row.started
    if milliseconds < 10_000:
        return "<0.1 s" if milliseconds < 100 else f"{milliseconds // 100 / 10:.1f} s"
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _clock_end(row: Row, now_ms: int) -> int | None:
    """A paused clock stands at the last report before the pause: when it began is not recorded."""
    if row.ended is not None:
        return row.ended
    return row.progress_at if status_of(row) is TaskStatus.PAUSED else now_ms


def _one_line(text: str) -> str:
    """Control characters would break the table, or steer a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
