"""The questions of the facade: what there is, and how it stands. Part of :class:`~chongming_task.Controller`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from chongming_task.api.assembly import kept_of
from chongming_task.api.health import Health, health_of
from chongming_task.api.link import EngineLink
from chongming_task.api.naming import id_of
from chongming_task.api.reading import Reading
from chongming_task.core.records import TaskSnapshot
from chongming_task.runtime.ready_queue import Limit

if TYPE_CHECKING:
    from chongming_task.api.handle import TaskHandle
    from chongming_task.runtime.engine import Engine

__all__ = ["Queries"]


class Queries(Reading):
    """Those that the engine answers as well."""

    _link: EngineLink

    def _look_at_output(self, task_id: str) -> None:
        if not self._link.closed:
            self._link.engine.look_at_output(task_id)
            self._link.sync()

    def prune(self, *, keep_terminal: int) -> int:
        """Drop the oldest ended records from the store, with their history.

        Args:
            keep_terminal: How many ended ones stay.

        Returns:
            How many went.
        """
        kept = kept_of(keep_terminal)
        self._link.sync()
        return self._link.store.prune(kept)

    def abandoned(self) -> list[TaskSnapshot]:
        """Records with a worker that was given up and still runs in the background."""
        lives = list(self._link.engine.tasks.values())
        return [live.snapshot for live in lives if any(w.running for w in list(live.given_up.values()))]

    def waiting_for(self, task_id: str | TaskHandle[Any]) -> list[str]:
        """The full limits a queued record waits for, such as ``["tag db (4/4)"]``; empty when it waits its turn.

        First of all what keeps the executor from taking anything, such as a Dask scheduler that is out of reach.

        Args:
            task_id: The record: its id or its handle.
        """
        found: list[str] = []
        wanted = id_of(task_id)
        self._link.call(lambda: found.extend(_describe(self._link.engine, wanted)))
        return found

    @property
    def persist_failures(self) -> list[str]:
        """What could not be stored at once, oldest first, also when it is over; :attr:`health` tells how it stands."""
        return list(self._link.engine.journal.failures)

    @property
    def desynced_tasks(self) -> list[str]:
        """Records that are not stored any more: somebody else wrote them, or the store refuses them.

        What the store refuses, while it takes others, is tried again every minute; ``persist_failures`` says why.
        """
        return list(self.health.desynced)

    @property
    def health(self) -> Health:
        """How the store does; never waits, neither for it nor for the engine.

        Example:
            >>> from chongming_task import Controller
            >>> with Controller() as controller:
            ...     controller.health.ok, controller.health.behind
            (True, 0)
        """
        return health_of(self._link.engine.journal, self._link.engine.clock, self._link.steward)


def _describe(engine: Engine, task_id: str) -> list[str]:
    ready, obstacle = engine.ready, engine.supervisor.obstacle
    found = [] if obstacle is None or task_id not in ready else [obstacle]
    for key in ready.waits_for(task_id):
        used, size = ready.usage(key)
        kind, name = key.name if isinstance(key, Limit) else cast("tuple[str, object]", key)
        found.append(f"{kind} {name} ({used}/{size})")
    return found
