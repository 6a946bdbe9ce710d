"""What runs in Dask's scheduler: a fence that lets no attempt run twice, and tells what became of those that went.

Dask runs a task again when its worker dies, and when the only copy of its result goes with one. For an attempt that is
not Dask's to decide: whether it is tried again is up to its record. So the moment such a task is released, what it
would run is replaced by a refusal, and its controller is told.

Imported by the scheduler, which unpickles it by name.
"""

from __future__ import annotations

from typing import Any

from dask._task_spec import Task
from distributed.diagnostics.plugin import SchedulerPlugin

from chongming_task.runtime.executors.dask_worker import refuse_to_run_again

__all__ = ["Fence"]


class Fence(SchedulerPlugin):  # type: ignore[misc]  # half typed, so not looked at
    """Watches the tasks of one connection of an executor.

    Args:
        topic: What their keys begin with, and where news of them is told.
        client: Whose they are: when that has gone, so does the fence.
    """

    def __init__(self, topic: str, client: str) -> None:
        self.name = topic
        self._client = client
        self._prefix = f"{topic}-"
        self._where: dict[str, str] = {}  # the worker that each was sent to
        self._scheduler: Any = None

    def start(self, scheduler: Any) -> None:
        """Called by the scheduler."""
        self._scheduler = scheduler

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Called by the scheduler at every step of every task, between it and the next one."""
        if not isinstance(key, str) or not key.startswith(self._prefix):
            return
        task = self._scheduler.tasks[key]
        if finish == "processing":
            self._where[key] = task.processing_on.address
            return
        worker = self._where.pop(key, None)
        if finish == "released":
            task.run_spec = Task(key, refuse_to_run_again)
        if start != "memory" and finish in ("released", "erred", "forgotten"):
            said = {"key": key, "became": finish, "worker": worker}
            self._scheduler.log_event(self.name, said | {"why": task.exception_text or ""})

    def log_event(self, topic: str, msg: Any) -> None:
        """Called by the scheduler when something was told, of which it would remember the last hundred thousand."""
        if topic == self.name:
            self._scheduler._broker.truncate(topic)  # if that changes in Dask it is logged there, and costs memory only

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Called by the scheduler when a worker has come."""
        scheduler.log_event(self.name, {"came": worker})

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Called by the scheduler when a client has gone."""
        if client == self._client:
            scheduler.remove_plugin(self.name)
