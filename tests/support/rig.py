"""A controller that moves only when the test says so: fake clock, manual executor, hand-driven engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chongming_task import Controller, MemoryTaskStore, TaskHandle
from chongming_task.core.ports import TaskStore
from chongming_task.runtime.engine import Engine
from chongming_task.testing import FakeClock, ManualDriver, ManualExecution, ManualExecutor, check_audit


def job(*args: Any) -> None:
    """What every record of a rig is made of; the manual executor never calls it."""
    raise AssertionError("a manual executor runs nothing")


class Rig:
    """One controller and everything around it, all by hand.

    Args:
        store: Where records go; default: a memory store.
        executor: Default: a ManualExecutor.
        killable: Whether workers can be ended by force, as processes can.
        options: For the controller.
    """

    def __init__(
        self,
        store: TaskStore | None = None,
        executor: ManualExecutor | None = None,
        *,
        killable: bool = False,
        **options: Any,
    ) -> None:
        self.clock = FakeClock()
        self.executor = executor or ManualExecutor(self.clock.monotonic, killable=killable)
        self.driver = ManualDriver()
        self.store = store or MemoryTaskStore()
        options.setdefault("capture", False)  # rigs are never closed, and their workers print nothing
        self.controller = Controller(
            self.store, executor=self.executor, clock=self.clock, driver=self.driver, **options
        )

    @property
    def engine(self) -> Engine:
        """The engine inside."""
        return self.controller._link.engine

    def settle(self) -> None:
        """Do everything that can be done now."""
        self.driver.settle()

    def advance(self, seconds: float) -> None:
        """Let time pass, and let the engine notice."""
        self.clock.advance(seconds)
        self.driver.settle()

    def submit(self, target: Callable[..., Any] | str = job, **options: Any) -> TaskHandle[Any]:
        """Submit a record and let it come as far as it can."""
        handle = self.controller.submit(target, **options)
        self.settle()
        return handle

    def running(self, **options: Any) -> tuple[TaskHandle[Any], ManualExecution]:
        """A record that runs, and its worker."""
        handle = self.submit(**options)
        worker = self.worker(handle)
        worker.begin()
        self.settle()
        assert handle.status == "running"
        return handle, worker

    def worker(self, handle: TaskHandle[Any]) -> ManualExecution:
        """The newest attempt of a record."""
        return self.executor.of(handle.id)

    def trail(self, handle: TaskHandle[Any]) -> list[str]:
        """The statuses it went through, by its audit trail."""
        return [str(edge.to_status) for edge in self.store.transitions(handle.id)]

    def triggers(self, handle: TaskHandle[Any]) -> list[str]:
        """What caused each of them."""
        return [edge.trigger for edge in self.store.transitions(handle.id)]

    def check(self) -> None:
        """The oracle: the store holds a history that can have happened, and no ended record holds a slot."""
        self.settle()
        check_audit(self.store)
        live = {task_id for task_id, each in self.engine.tasks.items() if each.snapshot.live}
        assert set(self.engine.ready.holding) == live

    def end(self) -> None:
        """Check everything, and close the controller, which takes its hands off the process's streams."""
        self.check()
        self.controller.close(timeout=0)
