"""The parts of a controller, from what its caller writes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chongming_task.api.submission import limit_keys
from chongming_task.core.output import OutputMode
from chongming_task.core.policies import BucketPolicy, ConcurrencyPolicy
from chongming_task.core.ports import Clock, Executor, TaskStore
from chongming_task.errors import ConfigurationError
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.executors.thread import ThreadExecutor
from chongming_task.runtime.place import in_kernel
from chongming_task.runtime.ready_queue import ReadyQueue
from chongming_task.stores.open import open_store

__all__ = ["executor_of", "limits_of", "opened", "output_mode_of", "ready_queue_of"]


def _process(monotonic: Callable[[], float]) -> Executor:
    from chongming_task.runtime.executors.process import ProcessExecutor  # only who wants processes loads subprocess

    return ProcessExecutor(monotonic)


_EXECUTORS: Mapping[str, Callable[[Callable[[], float]], Executor]] = {
    "thread": ThreadExecutor,
    "process": _process,
    "inline": InlineExecutor,
}


def kept_of(value: Any) -> int:
    """How many ended records are to stay.

    Raises:
        ConfigurationError: When it is no whole number, or negative.
    """
    if type(value) is not int or value < 0:
        raise ConfigurationError(f"keep_terminal must be a whole number, 0 or more, got {value!r:.100}")
    return value


def limits_of(
    concurrency: ConcurrencyPolicy | None, max_parallel: int | None, per_bucket: int | None
) -> ConcurrencyPolicy:
    """The limits, from either way of writing them.

    Raises:
        ConfigurationError: For both at once, or something else.
    """
    if concurrency is not None and max_parallel is not None:
        raise ConfigurationError("give either max_parallel= or concurrency=, not both")
    base = ConcurrencyPolicy() if concurrency is None else concurrency
    if not isinstance(base, ConcurrencyPolicy):
        raise ConfigurationError(f"concurrency takes a ConcurrencyPolicy, got {concurrency!r}")
    return ConcurrencyPolicy(
        base.max_parallel if max_parallel is None else max_parallel,
        base.limits,
        base.priority,
        base.max_parallel_per_bucket if per_bucket is None else per_bucket,
    )


@contextmanager
def opened(where: str | os.PathLike[str] | TaskStore | None) -> Iterator[TaskStore]:
    """The store that a caller names or has made; one that was opened here is closed again when the block fails.

    Raises:
        ConfigurationError: For anything else.
        StoreError: When it cannot be opened.
    """
    store = open_store(where)
    try:
        yield store
    except BaseException:
        if store is not where:
            store.close()
        raise


def output_mode_of(capture: bool, echo: bool | None, executor: Executor) -> OutputMode:
    """What becomes of what tasks write."""
    if not capture:
        return OutputMode.PLAIN
    if echo is None:
        # An inline task runs where its caller waits: there its output is looked for, and a debugger's prompt as well.
        echo = isinstance(executor, InlineExecutor) or not in_kernel()
    return OutputMode.ECHO if echo else OutputMode.OWN


def executor_of(executor: str | Executor, clock: Clock) -> Executor:
    """The executor a caller names or has made.

    Raises:
        ConfigurationError: For anything else.
    """
    if not isinstance(executor, str):
        if isinstance(executor, type) or not callable(getattr(executor, "launch", None)):
            raise ConfigurationError(
                f"executor must be a name ({', '.join(_EXECUTORS)}) or an executor that was made, as in "
                f"executor=ThreadExecutor(), got {executor!r}"
            )
        return executor
    if executor not in _EXECUTORS:
        close = difflib.get_close_matches(executor, _EXECUTORS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigurationError(
            f"executor must be one of {', '.join(_EXECUTORS)} or an object, got {executor!r:.100}{hint}"
        )
    return _EXECUTORS[executor](clock.monotonic)


def ready_queue_of(limits: ConcurrencyPolicy, buckets: BucketPolicy) -> ReadyQueue:
    """The queue of a controller, with its limits set."""
    ready = ReadyQueue(limits.max_parallel)
    for key, size in limit_keys(limits, buckets).items():
        ready.set_limit(key, size)
    return ready
