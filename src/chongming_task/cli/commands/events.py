"""``events``: changes of status, of one task or of all, from the store's feed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from chongming_task.cli.console import Console
from chongming_task.cli.database import reading
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.lookup import find
from chongming_task.cli.render.documents import change_document
from chongming_task.cli.render.text import one_line
from chongming_task.cli.render.units import clock_time, moment
from chongming_task.core.records import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from chongming_task.core.ports import TaskStore

__all__ = ["events", "newest_changes"]

_PAGE = 1_000
_NAMES = 10_000  # remembered
_LOOK_SECONDS = 60.0


def events(options: Namespace, console: Console) -> int:
    """Show changes; with ``--follow`` also those that come."""
    with reading(options, console) as store:
        only = None if options.id is None else find(store, options.id).task_id
        names = lru_cache(_NAMES)(lambda task_id: _name(store, task_id))
        mark = store.wait_for_change(0)
        end = store.last_change()
        first = _before(store, only, end, options.limit)
        if not options.follow and console.json:
            console.document({"events": [change_document(c, names(c.transition.task_id)) for c in first]})
            return ExitCode.DONE
        _show(first, names, console)
        while options.follow:
            page = store.changes(end, _PAGE)
            _show([c for c in page if only in (None, c.transition.task_id)], names, console)
            end = page[-1].cursor if page else end
            if not page:
                mark = store.wait_for_change(_LOOK_SECONDS, mark)
    return ExitCode.DONE


def _name(store: TaskStore, task_id: str) -> str | None:
    task = store.get(task_id)
    return None if task is None else task.name


def _before(store: TaskStore, only: str | None, end: int, limit: int) -> Sequence[Change]:
    """What there is up to the end of the feed: the newest of it, or of one record all of it."""
    if only is None:
        return newest_changes(store, end, limit or end)
    # The feed of one record is its trail; where each of its steps stands among those of others, it does not say.
    return [Change(0, edge) for edge in store.transitions(only)[-limit:]]


def newest_changes(store: TaskStore, end: int, count: int) -> list[Change]:
    """The last so many changes up to a cursor, oldest first."""
    span = count
    while True:
        after = max(end - span, 0)
        found = _read(store, after, end)
        if len(found) >= count or after == 0:
            return found[-count:] if count else []
        span *= 4  # cursors have gaps, where records were dropped


def _read(store: TaskStore, after: int, end: int) -> list[Change]:
    found: list[Change] = []
    while page := store.changes(after, _PAGE):
        found += [change for change in page if change.cursor <= end]
        after = page[-1].cursor
        if after >= end:
            break
    return found


def _show(changes: Sequence[Change], names: Callable[[str], str | None], console: Console) -> None:
    if console.json:
        console.documents(change_document(change, names(change.transition.task_id)) for change in changes)
    elif changes:
        console.lines(_line(change, names(change.transition.task_id)) for change in changes)


def _line(change: Change, name: str | None) -> str:
    edge = change.transition
    day = f"{moment(edge.at)[:10]} {clock_time(edge.at)}"
    reason = f": {one_line(edge.reason)}" if edge.reason else ""
    by = f"{edge.trigger} by {one_line(edge.actor)}{reason}"
    return f"{day}  {edge.task_id[-8:]}  {one_line(name or '')}  {edge.from_status} → {edge.to_status}  {by}"
