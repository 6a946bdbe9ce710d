"""Runs user code in a worker and turns whatever comes out into one ``Ended``. Never raises."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from chongming_task.core.failures import Failure, FailureKind, describe_exception
from chongming_task.core.ports import AttemptRequest, Deliver
from chongming_task.core.results import ResultInvalid, to_json
from chongming_task.core.triggers import Ended, Started
from chongming_task.errors import TaskCancelled
from chongming_task.runtime.context import TaskContext, _current
from chongming_task.runtime.token import CancellationToken

__all__ = ["invoke"]


def invoke(
    request: AttemptRequest,
    token: CancellationToken,
    deliver: Deliver,
    *,
    keep: Callable[[BaseException], None],
    pid: int | None = None,
) -> Ended:
    """Run one attempt to its end in this thread. The caller delivers what it returns.

    Args:
        request: What to run.
        token: The attempt's line to the engine.
        deliver: Takes the reports on the way.
        keep: Takes the exception object that ended the attempt, for callers in the same process.
        pid: The worker's process, when it is not the controller's.
    """
    number = request.attempt
    if token.stop_reason is not None:  # stopped before it began: user code does not run
        return Ended(number, failure=_obeyed(token, "stopped before it began"))
    deliver(Started(number, pid))
    limit = request.limit_seconds
    deadline = None if limit is None else datetime.now(UTC) + timedelta(seconds=limit)
    context = TaskContext(request, token, deliver, deadline)
    mark = _current.set(context)
    try:
        value = _call(request, context)
        return Ended(number, outcome=to_json(value))
    except TaskCancelled as signal:
        keep(signal)
        return Ended(number, failure=_cancelled(token, signal))
    except ResultInvalid as wrong:
        keep(wrong)
        return Ended(number, failure=Failure(FailureKind.RESULT_INVALID, str(wrong)))
    except BaseException as error:  # SystemExit and its like end the attempt, never the worker
        keep(error)
        return Ended(number, failure=describe_exception(error, retryable=request.retry.answers(error)))
    finally:
        _current.reset(mark)


def _call(request: AttemptRequest, context: TaskContext) -> Any:
    args = (context, *request.args) if request.takes_context else request.args
    value = request.target(*args, **request.kwargs)
    if inspect.iscoroutine(value):
        import asyncio  # costs 50 ms: only tasks that need a loop pay for it

        with asyncio.Runner() as runner:
            return runner.run(value)
    return value


def _cancelled(token: CancellationToken, signal: TaskCancelled) -> Failure:
    if token.stop_reason is None:
        return Failure(
            FailureKind.CANCELLED, f"the task raised TaskCancelled though nobody had asked it to stop: {signal}"
        )
    return _obeyed(token, "stopped at a checkpoint")


def _obeyed(token: CancellationToken, how: str) -> Failure:
    """The worker did as told: a timeout counts as one, anything else as a stop."""
    reason = token.stop_reason
    assert reason is not None
    try:
        kind = FailureKind(reason.value)
    except ValueError:
        return Failure(FailureKind.CANCELLED, how)
    return Failure(kind, f"its time was up ({kind.value.partition('_')[2]} limit); {how}", retryable=True)
