"""One task, without a controller of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chongming_task.api.controller import Controller
from chongming_task.api.handle import TaskHandle
from chongming_task.core.policies import RetryPolicy, Timeout
from chongming_task.core.ports import Executor

__all__ = ["run_task"]


def run_task(
    target: Callable[..., Any],
    *args: Any,
    retry: RetryPolicy | None = None,
    timeout: Timeout | None = None,
    executor: str | Executor = "thread",
    **kwargs: Any,
) -> TaskHandle[Any]:
    """Run one task under supervision, and wait for its end. What it prints is shown, too.

    Args:
        target: A ``@task`` function or any callable.
        *args: Its arguments, without the context.
        retry: Instead of the task's policy.
        timeout: Instead of the task's limits.
        executor: Who runs it.
        **kwargs: Its keyword arguments.

    Returns:
        The handle of the ended record: ``result()`` gives the value or raises, ``snapshot`` and ``attempts`` tell the
        rest.

    Raises:
        ConfigurationError: For arguments or options that cannot work.

    Example:
        >>> run_task(max, 3, 5).result()
        5
    """
    with Controller(executor=executor, echo=True) as controller:  # its caller waits here, and looks for output here
        handle = controller.submit(target, args=args, kwargs=kwargs, retry=retry, timeout=timeout)
        handle.wait()
    return handle
