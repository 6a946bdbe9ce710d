"""The end of a controller: everything is stopped or named."""

from __future__ import annotations

import threading
from typing import NamedTuple

from chongming_task.core.rules import KILL_SECONDS
from chongming_task.core.states import TERMINAL, TaskStatus, Verb
from chongming_task.core.triggers import Asked
from chongming_task.runtime.driver import Driver
from chongming_task.runtime.engine import Engine
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.waiters import Waiter

__all__ = ["CloseReport", "close_all"]


class CloseReport(NamedTuple):
    """What became of the records that had not ended when the controller was closed, by id.

    Example:
        >>> from chongming_task import Controller
        >>> controller = Controller()
        >>> handle = controller.submit(lambda ctx: ctx.sleep(60))
        >>> _ = handle.wait_for("running", timeout=10)
        >>> controller.close().stopped == (handle.id,)
        True
    """

    stopped: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # their threads may still run
    ended: tuple[str, ...] = ()  # came to an end of their own meanwhile
    unfinished: tuple[str, ...] = ()  # neither; only when the engine itself was stuck


def close_all(engine: Engine, driver: Driver, grace_seconds: float) -> CloseReport:
    """Stop every record that has not ended, and wait for it."""
    shut = threading.Event()
    open_ones: list[LiveTask] = []

    def done(found: list[LiveTask]) -> None:
        open_ones.extend(found)
        shut.set()

    engine.shut(Asked(Verb.STOP, "controller", "the controller was closed", window=grace_seconds), done)
    if not driver.wait(shut, KILL_SECONDS):
        still_open = [live.snapshot for live in list(engine.tasks.values()) if live.snapshot.status not in TERMINAL]
        return CloseReport(unfinished=tuple(task.task_id for task in still_open))
    for live in open_ones:
        event = threading.Event()
        if live.subscribe(Waiter(lambda task: task.status in TERMINAL, event.set)):
            driver.wait(event, grace_seconds + 2 * KILL_SECONDS)
    groups: dict[TaskStatus | None, list[str]] = {}
    for live in open_ones:
        task = live.snapshot
        groups.setdefault(task.status if task.status in TERMINAL else None, []).append(task.task_id)
    stopped, lost, unfinished = (tuple(groups.pop(key, ())) for key in (TaskStatus.STOPPED, TaskStatus.LOST, None))
    return CloseReport(stopped, lost, tuple(task_id for ids in groups.values() for task_id in ids), unfinished)
