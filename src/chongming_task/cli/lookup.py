"""Which record somebody means who does not type all of an id.

An id begins with the time, so records of one afternoon begin alike; the end of an id tells them apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chongming_task.cli.render.text import one_line
from chongming_task.cli.render.units import moment
from chongming_task.core.query import TaskQuery
from chongming_task.errors import ConfigurationError, UnknownTask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chongming_task.core.ports import TaskStore
    from chongming_task.core.records import TaskSnapshot

__all__ = ["find", "short_ids"]

_FRAGMENT = re.compile(r"[0-9a-f-]{4,}", re.IGNORECASE)
_SHORT = 8  # letters
_SHOWN = 10  # candidates


def find(store: TaskStore, word: str) -> TaskSnapshot:
    """The record that a word means: its id, the end or the beginning of its id (four letters or more), or its name.

    Raises:
        UnknownTask: When there is none.
        ConfigurationError: When there are several; with the candidates.
    """
    exact = store.get(word)
    if exact is not None:
        return exact
    found = {task.task_id: task for task in store.query(TaskQuery(name=word))}
    if _FRAGMENT.fullmatch(word):
        part = word.lower()
        every = store.query(TaskQuery())
        found |= {t.task_id: t for t in every if t.task_id.endswith(part) or t.task_id.startswith(part)}
    if not found:
        raise UnknownTask(f"no task {one_line(word)!r:.100}; chongming-task ps --all lists what there is")
    if len(found) > 1:
        raise ConfigurationError(_several(word, list(found.values())))
    return next(iter(found.values()))


def _several(word: str, found: list[TaskSnapshot]) -> str:
    newest = sorted(found, key=lambda task: task.created_at, reverse=True)
    short = short_ids(task.task_id for task in newest[:_SHOWN])
    lines = [
        f"  {short[task.task_id]}  {one_line(task.name):.40}  {task.status}  {moment(task.created_at)}"
        for task in newest[:_SHOWN]
    ]
    more = [f"  ... {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return "\n".join([f"{one_line(word)!r:.100} means {len(found)} tasks; give one of these ids:", *lines, *more])


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The ends of ids, as short as they tell them apart."""
    whole = list(ids)
    length = _SHORT
    while len({each[-length:] for each in whole}) < len(set(whole)):
        length += 2
    return {each: each[-length:] for each in whole}
