"""``ps``: which tasks there are."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from chongming_task.cli.console import Console
from chongming_task.cli.database import reading
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.lookup import short_ids
from chongming_task.cli.render.documents import task_document
from chongming_task.cli.render.tasks import counts_line, task_table
from chongming_task.cli.watching import Watching
from chongming_task.core.query import TaskQuery
from chongming_task.core.states import OPEN, TaskStatus

if TYPE_CHECKING:
    from chongming_task.core.ports import TaskStore
    from chongming_task.core.records import TaskSnapshot

__all__ = ["ps"]

_OTHER_LINES = 3  # of a screen: titles, footer, cursor
_REFRESH_SECONDS = 1.0  # of what moves without a change in the store: times
_REST_SECONDS = 0.2  # between two looks, however busy the store is


class _Found(NamedTuple):
    """What one look has found."""

    tasks: list[TaskSnapshot]  # oldest first
    counts: dict[TaskStatus, int]  # of all, or of the pipeline's run
    watching: Watching


def ps(options: Namespace, console: Console) -> int:
    """List records."""
    query = _query(options)
    with reading(options, console) as store:
        if options.watch:
            if console.screen:  # more would scroll the titles away
                query = replace(query, limit=min(query.limit or console.height, max(console.height - _OTHER_LINES, 1)))
            return _watch(store, query, options, console)
        _show(_look(store, query), options, console)
    return ExitCode.DONE


def _query(options: Namespace) -> TaskQuery:
    names = [name.strip() for word in options.status or () for name in word.split(",")]
    status = names or (None if options.all else OPEN)
    return TaskQuery.of(status=status, tag=options.tag, pipeline_run_id=options.pipeline, limit=options.limit or None)


def _look(store: TaskStore, query: TaskQuery) -> _Found:
    return _Found(store.query(query), store.counts(query.pipeline_run_id), Watching(store))


def _show(found: _Found, options: Namespace, console: Console) -> None:
    watched = {task.task_id: found.watching.of(task) for task in found.tasks}
    if console.json:
        console.document(
            {
                "tasks": [task_document(task, watched[task.task_id]) for task in found.tasks],
                "counts": {status.value: found.counts.get(status, 0) for status in TaskStatus},
            }
        )
        return
    lines = []
    if found.tasks:
        short = short_ids(watched)
        lines = task_table(found.tasks, short, watched, found.watching.now, colour=console.colour, room=console.room)
    lines.append(_footer(found, options))
    if options.watch and console.screen:
        console.redraw(lines)
    else:
        console.lines(lines)


def _footer(found: _Found, options: Namespace) -> str:
    """What there is beside what is shown."""
    said = f"in all: {counts_line(found.counts)}"
    filtered = options.all or options.status or options.tag or options.pipeline
    if not found.tasks and any(found.counts.values()):
        said = f"none of these; {said}" if filtered else f"all have ended, --all shows them; {said}"
    elif len(found.tasks) == options.limit:
        said = f"the newest {options.limit}, --limit shows more; {said}"
    return said


def _watch(store: TaskStore, query: TaskQuery, options: Namespace, console: Console) -> int:
    """Show it again and again, until Ctrl-C. Where nobody looks, only when something has changed."""
    seen = None
    mark = store.wait_for_change(0)
    while True:
        found = _look(store, query)
        news = (found.tasks, found.counts)
        if console.screen or news != seen:
            _show(found, options, console)
        seen = news
        time.sleep(_REST_SECONDS)
        mark = store.wait_for_change(_REFRESH_SECONDS, mark)
