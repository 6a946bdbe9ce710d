"""What pipeline runs may do with the engine that they are part of."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.triggers import Trigger
from chongming_task.errors import TaskError
from chongming_task.runtime.aside import Errand
from chongming_task.runtime.live import LiveTask

if TYPE_CHECKING:
    from chongming_task.runtime.engine import Engine

__all__ = ["RunEngine", "Steps"]

_logger = logging.getLogger("chongming_task.engine")

Steps = Iterator[None]
"""Work in steps; between two of them the engine may turn to something else."""


class RunEngine:
    """The engine, as its runs see it. On the ticking thread only.

    Args:
        engine: The engine.
        aside: Runs a function on another thread.
    """

    def __init__(self, engine: Engine, aside: Callable[[Callable[[], None]], None]) -> None:
        self._engine = engine
        self._aside = aside

    @property
    def is_shut(self) -> bool:
        """Whether nothing new may begin."""
        return self._engine.is_shut

    def watches(self, live: LiveTask) -> bool:
        """Whether a record is here."""
        return self._engine.index.find(live.draft.task_id) is live

    def take_in(self, live: LiveTask) -> None:
        """Watch a new record."""
        self._engine.take_in(live)

    def adopt(self, live: LiveTask, triggers: Sequence[Trigger]) -> None:
        """Watch a record that is stored, and apply triggers to it."""
        self._engine.transfers.take_over(live, triggers)

    def try_apply(self, live: LiveTask, trigger: Trigger) -> bool:
        """Apply a trigger; False when the record refuses it, changes nothing, or is not this controller's any more."""
        if not self.watches(live):
            return False
        try:
            return self._engine.apply(live, trigger)
        except TaskError:
            return False
        except Exception:  # a fault of ours: the other nodes still have to hear
            _logger.exception("the engine could not apply %s to a node", trigger)
            return False

    def aside(self, work: Callable[[], Callable[[], None]], wanted: Callable[[], bool]) -> None:
        """Run a caller's code on another thread, and then what it returns on the engine's.

        Args:
            work: Runs it.
            wanted: Whether anybody still waits for that.
        """
        inbox = self._engine.inbox
        self._aside(Errand(lambda: inbox.put(work()), wanted))

    def aside_is_freed(self) -> None:
        """Nobody waits any more for something that may never return: what waits behind it has room."""
        self._aside(_nothing)

    def told(self, call: Callable[[], None]) -> None:
        """Have ``call`` called once the changes of this tick are stored and told."""
        self._engine.outbox.answers.append(lambda _: call())

    def tell(self, run_id: str, before: PipelineRunStatus, now: PipelineRunStatus) -> None:
        """Let subscribers know that a run has changed its status."""
        bus = self._engine.bus
        if (narrator := bus.narrator) is not None:
            bus.publish([narrator.run_moved(run_id, before, now, self._engine.now.utc)], ())


def _nothing() -> None:
    """Work that only makes whoever does it look whether there is room."""
