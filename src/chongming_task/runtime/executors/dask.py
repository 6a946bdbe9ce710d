"""The executor that runs attempts on a Dask cluster, where one machine is not enough."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.errors import ConfigurationError, ControllerClosed
from chongming_task.extras import require
from chongming_task.runtime.executors.dask_execution import DaskExecution
from chongming_task.runtime.executors.pickling import refuse

__all__ = ["DaskExecutor"]


class DaskExecutor:
    """Runs every attempt on a worker of a Dask cluster; see ``docs/dask.md``.

    Dask chooses the worker and carries values between workers; everything else, such as whether a lost attempt is tried
    again, stays with the record. A running attempt takes one thread of its worker, also while it is paused. Workers and
    scheduler need the same ``chongming-task`` as this process, and whatever the tasks import.

    A result that is no JSON stays on the cluster as long as the controller is open and remembers the record, which
    holds a pointer; nodes of a pipeline are handed it there. ``handle.result()`` fetches it.

    Args:
        client_or_address: The scheduler's address, such as ``"tcp://10.0.0.1:8786"``; a cluster object; or a client,
            whose scheduler is used, by a connection of the executor's own.
        resources: For tags, how much of the worker resource of that name a task with that tag takes:
            ``{"gpu": 1}``. It waits for a worker that was started with such a resource.
        timeout: Seconds to wait for the scheduler.
        monotonic: The engine's monotonic clock.

    Raises:
        ConfigurationError: When the ``dask`` extra is not installed, the scheduler does not answer or will not do, or
            for arguments that cannot work.

    Example:
        >>> from chongming_task import Controller, DaskExecutor
        >>> from distributed import LocalCluster
        >>> with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        ...     with Controller(executor=DaskExecutor(cluster)) as controller:
        ...         controller.submit(pow, 2, 10).result(timeout=60)
        1024
    """

    name = "dask"
    shares_memory = False  # what a task keeps in memory is in another process

    def __init__(
        self,
        client_or_address: Any,
        *,
        resources: Mapping[str, float] | None = None,
        timeout: float = 10.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        require("distributed", "The Dask executor", "dask")
        from chongming_task.runtime.executors.dask_line import Line

        address, security = _scheduler_of(client_or_address)
        self._resources = _checked_resources(resources)
        if not timeout > 0:
            raise ConfigurationError(f"timeout must be more than 0 seconds, got {timeout!r}")
        self._monotonic = monotonic
        self._serials = itertools.count(1)
        self._closed = False
        try:
            self._line = Line(address, security, timeout)
        except ConfigurationError:
            raise
        except OSError as silent:
            raise ConfigurationError(
                f"the Dask scheduler at {address} does not answer within {timeout:g} s: is it running, and can this "
                f"machine reach it? ({silent})"
            ) from silent
        except ValueError as wrong:
            raise ConfigurationError(f"the Dask scheduler cannot be reached at {address!r}: {wrong}") from wrong

    @property
    def obstacle(self) -> str | None:
        """Why nothing can be launched now; see :class:`~chongming_task.core.ports.Obstructed`."""
        return self._line.obstacle

    def when_clear(self, tell: Callable[[], None]) -> None:
        """See :class:`~chongming_task.core.ports.Obstructed`."""
        self._line.tell_clear = tell

    def check(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse what cannot go to a worker; see :class:`~chongming_task.core.ports.Executor`."""
        refuse(target, args, kwargs)

    def launch(self, request: AttemptRequest, deliver: Deliver) -> DaskExecution:
        """See :class:`~chongming_task.core.ports.Executor`."""
        if self._closed:
            raise ControllerClosed("the executor is closed")
        needs = tuple((tag, amount) for tag, amount in self._resources if tag in request.tags)
        serial = next(self._serials)
        execution = DaskExecution(request, deliver, serial, self._monotonic, wire=self._line, needs=needs)
        self._line.send(execution)
        return execution

    def close(self) -> None:
        """Let the cluster go; tasks that run there go on to their end."""
        self._closed = True
        self._line.close()


def _scheduler_of(target: Any) -> tuple[str, Any]:
    """The address of a scheduler, and the security that goes with it.

    Raises:
        ConfigurationError: For what names none.
    """
    if isinstance(target, str) and target:
        return target, None
    security = getattr(target, "security", None)
    address = getattr(target, "scheduler_address", None) or getattr(getattr(target, "scheduler", None), "address", None)
    if isinstance(target, type) or not isinstance(address, str) or not address:
        raise ConfigurationError(
            'DaskExecutor takes the address of a scheduler, such as "tcp://10.0.0.1:8786", a Client or a cluster that '
            f"is running, got {target!r:.200}"
        )
    return address, security


def _checked_resources(resources: Any) -> tuple[tuple[str, float], ...]:
    """Tags and amounts.

    Raises:
        ConfigurationError: For anything else.
    """
    if resources is None:
        return ()
    good = isinstance(resources, Mapping) and all(
        isinstance(tag, str) and isinstance(amount, (int, float)) and amount > 0 for tag, amount in resources.items()
    )
    if not good:
        raise ConfigurationError(f'resources must look like {{"gpu": 1}}, tags and amounts, got {resources!r:.200}')
    return tuple(resources.items())
