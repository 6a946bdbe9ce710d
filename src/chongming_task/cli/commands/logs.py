"""``logs``: what a task has printed and logged."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chongming_task.cli.console import Console
from chongming_task.cli.database import reading
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.lookup import find
from chongming_task.cli.render.documents import line_document
from chongming_task.cli.render.text import plain
from chongming_task.cli.render.units import clock_time
from chongming_task.cli.watching import Watching

if TYPE_CHECKING:
    from chongming_task.core.ports import TaskStore
    from chongming_task.core.records import OutputLine, TaskSnapshot

__all__ = ["line_text", "logs"]

_LOOK_SECONDS = 2.0  # between two looks at whether its process lives, when nothing is written
_LAST_SECONDS = 0.5  # what it wrote last may be stored just after its end


def logs(options: Namespace, console: Console) -> int:
    """Show a record's lines."""
    with reading(options, console) as store:
        task = find(store, options.id)
        if options.follow:
            return _follow(store, task, _before(store, task.task_id, options.tail), options, console)
        _show_all(store.output(task.task_id, limit=options.tail), options, console)
    return ExitCode.DONE


def _before(store: TaskStore, task_id: str, tail: int | None) -> int:
    """The last line that is not to be shown, where only the newest ``tail`` of those written so far are."""
    lines = [] if tail is None else store.output(task_id, limit=max(tail, 1))
    return lines[0].seq - (tail != 0) if lines else 0


def _follow(store: TaskStore, task: TaskSnapshot, after: int, options: Namespace, console: Console) -> int:
    """Show what comes, until the record has ended, or nobody watches it any more."""
    mark, ended = store.wait_for_change(0), False
    while True:
        current = store.get(task.task_id)
        lines = store.output(task.task_id, after)
        _show(lines, after, options, console)
        after = lines[-1].seq if lines else after
        if ended and not lines:
            return ExitCode.DONE
        ended = current is None or current.is_terminal
        if not lines and current is not None and Watching(store).of(current) is False:
            console.error("nobody watches this task any more: its process is gone, see reconcile")
            return ExitCode.LOST
        if not lines:
            mark = store.wait_for_change(_LAST_SECONDS if ended else _LOOK_SECONDS, mark)


def _show_all(lines: Sequence[OutputLine], options: Namespace, console: Console) -> None:
    if console.json:
        console.document({"lines": [line_document(line) for line in lines]})
    else:
        _show(lines, lines[0].seq - 1 if lines and options.tail is not None else 0, options, console)


def _show(lines: Sequence[OutputLine], after: int, options: Namespace, console: Console) -> None:
    if console.json:
        console.documents(map(line_document, lines))
    elif lines:
        console.lines(_told(lines, after, timestamps=options.timestamps))


def _told(lines: Sequence[OutputLine], after: int, *, timestamps: bool) -> Iterator[str]:
    for line in lines:
        if line.seq > after + 1:
            yield f"[{line.seq - after - 1} lines were left out]"
        after = line.seq
        yield f"{clock_time(line.at)} {line_text(line)}" if timestamps else line_text(line)


def line_text(line: OutputLine) -> str:
    """A line as it is shown: one that was logged begins with its level."""
    level = "" if line.level is None else f"{logging.getLevelName(line.level)} "
    return level + plain(line.text).replace("\n", " ")
