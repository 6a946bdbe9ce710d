"""One task as traits, so that any widget can follow it.

model = TaskModel(controller.submit(train))
traitlets.dlink((model, "progress"), (bar, "value"))
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from chongming_task.api.handle import TaskHandle
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.notebook.extra import require
from chongming_task.notebook.rows import Row, make_row, status_of
from chongming_task.notebook.speaking import speaking_as_here
from chongming_task.notebook.task_model_desk import DESK

if TYPE_CHECKING:
    import traitlets
else:
    traitlets = require("traitlets", "A TaskModel")

__all__ = ["TaskModel"]

logger = logging.getLogger(__name__)


class TaskModel(traitlets.HasTraits):
    """A live model of one task. Its traits follow the task; nobody else can set them.

    They are set by one thread for all models and views of the process, at most eight times a second for each model,
    and less often where many change at once. What is between is left out, the final state never is. Functions that
    observe a trait run on that thread: they must be quick. One that raises is logged, and the others are still told.

    The model is told as long as its controller lives, or until ``close()``; a task that is retried goes on in it.

    Args:
        handle: The task.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     handle = controller.submit(sum, [1, 2])
        ...     model = TaskModel(handle)
        ...     (handle.result(), model.task_id == handle.id)
        (3, True)
    """

    task_id = traitlets.Unicode(read_only=True, help="The task's id.")
    name = traitlets.Unicode(read_only=True, help="What it is called.")
    attempt = traitlets.Int(read_only=True, help="Its latest try; 0 before the first.")
    max_attempts = traitlets.Int(1, read_only=True, help="How many tries it has.")
    asked = traitlets.Unicode(read_only=True, help='What was asked of it and is not done yet: "stop", "pause", or "".')
    unit = traitlets.Unicode(read_only=True, help="What is counted.")
    done = traitlets.Float(None, allow_none=True, read_only=True, help="How much is done; None: it does not say.")
    total = traitlets.Float(None, allow_none=True, read_only=True, help="How much there is; None: it does not say.")
    message = traitlets.Unicode(read_only=True, help="What it last said of itself, in one line.")
    error = traitlets.Unicode(read_only=True, help='Why it failed, in one line: "ValueError: bad header"; else "".')
    elapsed = traitlets.Float(
        read_only=True,
        help="Seconds since its latest try began, or that it took, pauses included; stands while paused.",
    )
    progress = traitlets.Float(
        read_only=True, help="How far it is, 0 to 1: done of total, 0 while that is unknown, and 1 when it succeeded."
    )
    ended = traitlets.Bool(read_only=True, help="Whether it has ended, whichever way.")
    status = traitlets.Unicode(read_only=True, help='Where it is in its life: "running". Set last of all.')

    def __init__(self, handle: TaskHandle[Any]) -> None:
        super().__init__()
        self.set_trait("task_id", handle.id)
        self._take_over(handle.snapshot)
        self._speak = speaking_as_here()
        self._let_go = DESK.add(handle._controller, self, lambda: handle.snapshot)

    def show(self, task: TaskSnapshot) -> None:
        """For the desk: takes over how the task stands.

        Args:
            task: The record as it stands.
        """
        self._speak(lambda: self._take_over(task))

    def _take_over(self, task: TaskSnapshot) -> None:
        for trait, value in _traits_of(make_row(task, 0), time.time() * 1000).items():
            try:
                self.set_trait(trait, value)
            except Exception:  # an observer's, or a linked widget's that does not take the value: the others go on
                logger.exception("who observes %r of a TaskModel raised", trait)

    def close(self) -> None:
        """It follows the task no longer; its traits stay as they are."""
        self._let_go()

    def __repr__(self) -> str:
        return f"<TaskModel {self.name!r} {self.status} {self.progress:.0%}>"


def _traits_of(row: Row, now_ms: float) -> dict[str, Any]:
    """All traits of a task as it stands, in the order to set them."""
    status = status_of(row)
    end = now_ms if row.ended is None else row.ended
    return {
        "name": row.name,
        "attempt": row.attempt,
        "max_attempts": row.tries_max,
        "asked": row.asked or "",
        "unit": row.unit or "",
        "done": row.done,
        "total": row.total,
        "message": row.note or "",
        "error": row.failure or "",
        "elapsed": 0.0 if row.started is None else max(end - row.started, 0) / 1000,
        "progress": 1.0 if status is TaskStatus.SUCCEEDED else _fraction(row),
        "ended": status in TERMINAL,
        "status": status.value,
    }


def _fraction(row: Row) -> float:
    if row.done is None or not row.total or row.total < 0:
        return 0.0
    return min(max(row.done / row.total, 0.0), 1.0)
